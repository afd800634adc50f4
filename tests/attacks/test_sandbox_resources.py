"""An agent that eats the machine ends itself, not its neighbours."""

from __future__ import annotations

from dataclasses import replace

import pytest
from sandbox_stage import SMALL, Stage, bubblewrap_only, each_sandbox  # noqa: F401


def test_a_fork_bomb() -> None:
    """The agent forks without end; the sandbox stays at its limit and can still be stopped."""
    with Stage() as stage:
        done = stage.sh("f() { f | f & }; f; sleep 600", timeout_s=2)
        assert done.timed_out or done.exit_code is not None
        assert stage.sh("echo alive").stdout.text == "alive\n"


def test_processes_beyond_the_limit_are_refused() -> None:
    """The agent starts five hundred sleepers where forty-eight are allowed."""
    code = """
import os, time
made = 0
try:
    while made < 500:
        if os.fork() == 0: time.sleep(600); os._exit(0)
        made += 1
except BlockingIOError: pass
print(made)
"""
    with Stage() as stage:
        assert int(stage.python(code).stdout.text) < SMALL.processes
        if stage.facts.limits["processes"] == "cgroup":
            assert stage.stop().processes_refused > 0


def test_a_process_that_takes_all_memory() -> None:
    """The agent allocates without end; it is killed and the sandbox says why."""
    with Stage() as stage:
        done = stage.python("x = []\nwhile True: x.append(b'x' * 10_000_000)", timeout_s=100)
        assert done.exit_code != 0
        assert stage.sh("echo alive").stdout.text == "alive\n"
        if stage.facts.limits["memory"] == "cgroup":
            assert stage.stop().oom_kills > 0


def test_memory_split_over_many_processes() -> None:
    """The agent stays below every per-process limit and takes the memory with twenty processes."""
    code = """
import os, time
for _ in range(20):
    if os.fork() == 0:
        x = bytearray(30_000_000); time.sleep(600); os._exit(0)
while os.wait()[1] == 0: pass  # until one of them is killed
"""
    with Stage() as stage:
        stage.python(code, timeout_s=500)
        assert stage.sh("echo alive").stdout.text == "alive\n"
        assert stage.stop().oom_kills > 0


HELD_BY_NOBODY = {
    "memfd": """
import os, time
fd = os.memfd_create("x")
for _ in range(100): os.write(fd, bytes(10_000_000))
time.sleep(600)
""",
    "many memfds": """
import os, time
fds = [os.memfd_create("x") for _ in range(100)]
for fd in fds: os.write(fd, bytes(10_000_000))
time.sleep(600)
""",
    "shared mapping": """
import mmap, time
held = mmap.mmap(-1, 1_000_000_000)
for at in range(0, len(held), 4096): held[at] = 1
time.sleep(600)
""",
    "System V": """
import ctypes, time
libc = ctypes.CDLL(None)
libc.shmat.restype = ctypes.c_void_p
for _ in range(100):
    at = libc.shmat(libc.shmget(0, 10_000_000, 0o1600), None, 0)
    ctypes.memset(at, 1, 10_000_000)
    libc.shmdt(ctypes.c_void_p(at))
time.sleep(600)
""",
}


@bubblewrap_only  # in a container the limit on the size of a file stops it first
@pytest.mark.parametrize("how", HELD_BY_NOBODY)
def test_memory_that_belongs_to_no_process(how: str) -> None:
    """The agent fills shared memory, which a sum over processes does not see."""
    with Stage() as stage:
        done = stage.python(HELD_BY_NOBODY[how], timeout_s=500)
        assert not done.timed_out
        assert stage.sh("echo alive").stdout.text == "alive\n"
        assert stage.stop().oom_kills > 0


@bubblewrap_only
def test_memory_that_workers_share_counts_once() -> None:
    """Honest: ten workers on one shared array of half the limit."""
    code = """
import mmap, os, time
held = mmap.mmap(-1, 60_000_000)
for at in range(0, len(held), 4096): held[at] = 1
for _ in range(10):
    if os.fork() == 0:
        for at in range(0, len(held), 4096): held[at]
        time.sleep(1.5); os._exit(0)
codes = [os.wait()[1] for _ in range(10)]
print(codes)
"""
    with Stage() as stage:
        assert stage.python(code, timeout_s=60).stdout.text == f"{[0] * 10}\n"
        assert stage.stop().oom_kills == 0


def test_more_empty_files_than_its_disk_would_hold() -> None:
    """The agent makes files without a byte in them, which no count of bytes sees, until the machine has no inodes."""
    code = "for n in range(100_000): open(f'/workspace/{n}', 'w').close()\nimport time; time.sleep(600)"
    with Stage() as stage:
        if stage.facts.limits["disk"] == "none":
            pytest.skip("nobody counts here")
        assert stage.python(code, timeout_s=500).exit_code != 0
        assert stage.facts.limits["disk"] != "polled" or stage.stop().disk_full


def test_a_core_dump_is_not_written() -> None:
    """The agent crashes a large process to fill the disk of the host."""
    with Stage() as stage:
        assert stage.sh("ulimit -c; ulimit -Hc").stdout.text == "0\n0\n"


def test_raising_its_own_limits() -> None:
    """The agent asks for more descriptors than init left it."""
    with Stage() as stage:
        assert stage.sh("ulimit -n 1000000").exit_code != 0


def test_all_processors_for_itself() -> None:
    """The agent spins on every processor; it gets what the contract gives."""
    code = """
import os, time
begun = time.monotonic()
for _ in range(8):
    if os.fork() == 0:
        end = time.monotonic() + 2
        while time.monotonic() < end: pass
        os._exit(0)
for _ in range(8): os.wait()
print(sum(os.times()[2:4]) / (time.monotonic() - begun))
"""
    with Stage(limits=replace(SMALL, cpu=0.5)) as stage:
        if stage.facts.limits["cpu"] != "cgroup":
            pytest.skip("without a control group processors are not limited here, and the facts say so")
        assert float(stage.python(code).stdout.text) < 0.8

"""Who dies with whom: sandboxes outlive threads, and never their controller or their launcher."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from steelyard.filesystem.owner import is_stale
from steelyard.sandboxes.base import Command, Limits
from steelyard.sandboxes.bubblewrap.launcher_client import Launcher, launcher
from steelyard.sandboxes.bubblewrap.sandbox import BubblewrapSandbox
from steelyard.sandboxes.limits import cgroups
from steelyard.sandboxes.limits.watch_usage import descendants

if TYPE_CHECKING:
    from tests.sandboxes.conftest import StartBubblewrap, Tree

CONTROLLER = """
import sys, time
from pathlib import Path
from steelyard.sandboxes.base import SandboxSpec, Command, Limits
from steelyard.sandboxes.bubblewrap.backend import BubblewrapBackend
from steelyard.sandboxes.bubblewrap.launcher_client import launcher
limits = Limits(memory_mb=128, guaranteed_mb=64, disk_mb=8, tmp_mb=4, processes=32)
boxes = [BubblewrapBackend().start(SandboxSpec(layers=(Path(sys.argv[1]),), limits=limits)) for _ in range(3)]
for box in boxes:
    box.run(Command(("sh", "-c", "setsid sleep 4242 & trap '' TERM; sleep 0.1")))
print(launcher().pid, flush=True)
time.sleep(1000)
"""


def until(true: Callable[[], bool]) -> None:
    """Wait for it; a test's own timeout is the limit."""
    while not true():
        time.sleep(0.01)


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def groups_of(pid: int) -> list[Path]:
    return cgroups._groups(lambda name: f"-{pid}-" in name)


def test_sixteen_start_at_once_from_threads(start: StartBubblewrap) -> None:
    outputs: list[str] = []
    # A quarter of a CPU each: all of them are admitted on one CPU.
    limits = Limits(cpu=0.25, memory_mb=128, guaranteed_mb=64, disk_mb=8, tmp_mb=4, processes=32)

    def work(number: int) -> None:
        sandbox = start(limits=limits)
        outputs.append(sandbox.run(Command(("echo", str(number)))).stdout.text)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(int(text) for text in outputs) == list(range(16))


def test_a_sandbox_outlives_the_thread_that_started_it(start: StartBubblewrap) -> None:
    made: list[BubblewrapSandbox] = []
    thread = threading.Thread(target=lambda: made.append(start()))
    thread.start()
    thread.join()
    time.sleep(0.1)
    assert made[0].run(Command(("echo", "alive"))).stdout.text == "alive\n"


def test_killing_the_controller_leaves_no_process_and_no_cgroup(tree: Tree) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", CONTROLLER, str(tree(a="1"))]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as controller:
        assert controller.stdout is not None
        launcher_pid = int(controller.stdout.readline())
        processes = [pid for pid in descendants(controller.pid) if pid != controller.pid]
        assert len(processes) >= 3 * 3
        controller.kill()
        controller.wait()
        until(lambda: not is_alive(launcher_pid))
        assert [pid for pid in processes if is_alive(pid)] == []
        assert groups_of(controller.pid) == []


def test_a_controller_that_ends_takes_its_sandboxes_along(tree: Tree) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", CONTROLLER.replace("time.sleep(1000)", ""), str(tree(a="1"))]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    assert not is_alive(int(done.stdout))
    assert done.stderr == ""


@pytest.fixture
def doomed() -> Launcher:
    return launcher()


def test_a_killed_launcher_loses_its_sandboxes_and_the_next_start_has_a_new_one(
    start: StartBubblewrap, doomed: Launcher
) -> None:
    sandbox = start()
    os.kill(doomed.pid, signal.SIGKILL)
    done = sandbox.run(Command(("sleep", "1000")))
    assert done.lost
    sandbox.stop()
    assert start().run(Command(("echo", "again"))).stdout.text == "again\n"
    assert launcher().pid != doomed.pid


def test_a_start_right_after_the_launcher_was_killed_works(start: StartBubblewrap, doomed: Launcher) -> None:
    os.kill(doomed.pid, signal.SIGKILL)
    assert start().run(Command(("echo", "again"))).stdout.text == "again\n"


def test_a_killed_launchers_sandboxes_are_dead_at_stop(start: StartBubblewrap, doomed: Launcher) -> None:
    sandbox = start()
    sandbox.run(Command(("sh", "-c", "setsid sleep 4243 >/dev/null 2>&1 &")))
    processes = descendants(sandbox._init.pid)
    os.kill(doomed.pid, signal.SIGKILL)
    sandbox.stop()
    assert [pid for pid in processes if is_alive(pid)] == []


def test_a_killed_bubblewrap_takes_everything_along(start: StartBubblewrap) -> None:
    sandbox = start()
    sandbox.run(Command(("sh", "-c", "setsid sleep 4244 >/dev/null 2>&1 &")))
    processes = descendants(sandbox._init.pid)
    signal.pidfd_send_signal(sandbox._started.bwrap, signal.SIGKILL)
    assert sandbox.run(Command(("sleep", "1000"))).lost
    sandbox.stop()
    assert [pid for pid in processes if is_alive(pid)] == []


def test_nothing_of_a_sandbox_shows_in_the_hosts_mounts(start: StartBubblewrap, tmp_path: Path) -> None:
    before = mounts(tmp_path)
    start()
    assert mounts(tmp_path) == before


def mounts(own: Path) -> list[str]:
    """Those of the host, without those of a container engine or of another test that runs beside this one."""
    lines = Path("/proc/self/mounts").read_text().splitlines()
    return [
        line for line in lines if "docker" not in line and ("/pytest-of-" not in line or str(own) in line)
    ]


def test_a_closed_sandbox_gives_its_descriptors_back(start: StartBubblewrap) -> None:
    def added_descriptors() -> int:
        before = len(list(Path("/proc/self/fd").iterdir()))
        for _ in range(3):
            start().close()
        return len(list(Path("/proc/self/fd").iterdir())) - before

    start().close()
    # Other threads of this process may open one meanwhile; a leak adds some each time.
    assert any(added_descriptors() <= 0 for _ in range(3))


@pytest.mark.skipif(not cgroups.host().parents, reason="this user cannot make control groups")
def test_the_groups_of_a_dead_controller_are_swept() -> None:
    dead = subprocess.Popen(["true"])
    tag = f"{'0' * 8}-1-{dead.pid}-1"
    dead.wait()
    made = cgroups.make(f"{tag}-1", cgroups.host())
    cgroups.sweep(is_stale)  # so does the next backend that starts, of any process
    assert not any(folder.exists() for folder in made)


@pytest.mark.skipif(not cgroups.host().parents, reason="this user cannot make control groups")
def test_a_stopped_sandbox_leaves_no_group(start: StartBubblewrap) -> None:
    sandbox = start()
    assert all(folder.is_dir() for folder in sandbox._init.cgroups)
    sandbox.stop()
    assert not any(folder.exists() for folder in sandbox._init.cgroups)

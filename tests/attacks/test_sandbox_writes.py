"""Only the workspace, HOME, /tmp and /dev/shm can be written; each has its size."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from sandbox_stage import Stage, bubblewrap_only, each_sandbox, result  # noqa: F401


@pytest.mark.parametrize(
    "path",
    [
        "/x",
        "/usr/x",
        "/usr/bin/sh",
        "/etc/passwd",
        "/etc/x",
        "/dev/x",
        "/run/x",
        "/home/x",
        "/proc/x",
        "/usr/local/bin/x",
    ],
)
def test_writing_outside(path: str) -> None:
    """The agent plants a program or an account where the next phase would use it."""
    with Stage() as stage:
        done = stage.sh(f"echo x > {path}")
        assert done.exit_code != 0
        assert (
            "Read-only file system" in done.stderr.text
            or "nonexistent" in done.stderr.text
            or "No such" in done.stderr.text
            or "Permission denied" in done.stderr.text
        )


@bubblewrap_only
def test_the_hosts_folders_are_not_there() -> None:
    """The agent looks for home directories, mounted disks and our own run folders."""
    with Stage() as stage:
        assert stage.sh("ls /").stdout.text.split() == [
            name
            for name in sorted(
                [
                    "bin",
                    "dev",
                    "etc",
                    "home",
                    "lib",
                    "lib32",
                    "lib64",
                    "libx32",
                    "proc",
                    "run",
                    "sbin",
                    "tmp",
                    "usr",
                    "workspace",
                ]
            )
            if name not in {"lib32", "libx32", "lib64"} or Path("/", name).exists()
        ]


@bubblewrap_only
def test_no_host_path_of_the_workspace_shows() -> None:
    """The agent reads mountinfo to learn where the host keeps its runs and caches."""
    with Stage() as stage:
        text = stage.sh("cat /proc/self/mountinfo /proc/self/mounts").stdout.text
        assert stage._folder.name not in text
        assert "steelyard" not in text


@bubblewrap_only
@pytest.mark.parametrize("place", ["/workspace", "/home/agent", "/tmp", "/dev/shm"])
def test_filling_the_disk(place: str) -> None:
    """The agent writes until the host's disk or memory is full."""
    with Stage() as stage:
        stage.sh(f"head -c 200000000 /dev/zero > {place}/big; true")
        size = int(stage.sh(f"stat -c %s {place}/big").stdout.text)
        assert size <= stage.limits.disk_mb << 20
        assert stage.sh("echo alive").stdout.text == "alive\n"
        assert stage.stop().oom_kills == 0


@bubblewrap_only
def test_filling_the_disk_with_empty_files() -> None:
    """The agent makes a million inodes, which cost memory but no bytes."""
    with Stage() as stage:
        done = stage.python("[open(f'/workspace/{n}', 'w').close() for n in range(1_000_000)]", timeout_s=100)
        assert "No space left" in done.stderr.text


def test_mounting_something_over_the_tests() -> None:
    """The agent mounts a tmpfs or remounts the workspace."""
    code = """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
print(libc.mount(b"none", b"/tmp", b"tmpfs", 0, b""), libc.mount(b"", b"/", None, 32, b""), libc.umount2(b"/tmp", 2))
"""
    with Stage() as stage:
        assert stage.python(code).stdout.text == "-1 -1 -1\n"


def test_becoming_root_in_a_namespace_of_its_own() -> None:
    """The agent makes a user namespace, in which it would have every capability, to reach kernel bugs."""
    code = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
print(libc.unshare(0x10000000), libc.syscall(56, 0x10000000 | 17, 0, 0, 0, 0), libc.syscall(435, 0, 0))
"""
    with Stage() as stage:
        assert stage.python(code).stdout.text == "-1 -1 -1\n"
        assert "[0]" not in result(stage.sh("unshare -Ur true"))


def test_a_setuid_program_gives_nothing() -> None:
    """The agent runs su, mount and passwd, which are setuid root on the host."""
    with Stage() as stage:
        status = stage.sh(
            "cp /bin/sh mine; chmod 4755 mine; ./mine -c 'grep -E \"CapEff|CapPrm|NoNewPrivs|^Uid\" /proc/self/status'"
        ).stdout.text
        assert "NoNewPrivs:\t1" in status
        assert status.count("0000000000000000") == 2
        assert "Uid:\t1000\t1000\t1000\t1000" in status


def test_setting_the_clock() -> None:
    """The agent turns the clock back so that its timeout never comes."""
    code = """
import ctypes, time
libc = ctypes.CDLL(None, use_errno=True)
try: time.clock_settime(time.CLOCK_REALTIME, 0)
except PermissionError: print("refused")
print(libc.syscall(164, 0, 0), libc.adjtimex(ctypes.create_string_buffer(300)))
"""
    with Stage() as stage:
        assert stage.python(code).stdout.text == "refused\n-1 -1\n"


def test_reading_the_keyring() -> None:
    """The agent asks the kernel's keyring for keys of the user on the host."""
    code = "import ctypes; libc = ctypes.CDLL(None, use_errno=True); print([libc.syscall(n, 0, 0, 0, 0, 0) for n in (248, 249, 250)])"
    with Stage() as stage:
        assert stage.python(code).stdout.text == "[-1, -1, -1]\n"


@pytest.mark.parametrize("name", ["bpf", "perf_event_open", "userfaultfd", "io_uring_setup"])
def test_system_calls_with_known_kernel_bugs_are_blocked(name: str) -> None:
    """The agent opens one of the interfaces that kernel exploits begin with."""
    number = {"bpf": 321, "perf_event_open": 298, "userfaultfd": 323, "io_uring_setup": 425}[name]
    code = f"import ctypes; libc = ctypes.CDLL(None, use_errno=True); print(libc.syscall({number}, 0, 0, 0, 0, 0), ctypes.get_errno())"
    with Stage() as stage:
        assert stage.python(code).stdout.text == "-1 1\n"


def test_typing_into_the_operators_terminal() -> None:
    """The agent pushes a command into the terminal's input, to be run by the operator's shell."""
    code = "import fcntl, os; m, s = os.openpty(); fcntl.ioctl(s, 0x5412, b'x')"
    with Stage() as stage:
        assert "Operation not permitted" in result(stage.python(code))
        assert "[0]" not in result(stage.sh("echo x > /dev/tty"))


@bubblewrap_only
@pytest.mark.skipif(Path(sys.base_prefix).is_relative_to("/usr"), reason="this Python is under /usr")
def test_poisoning_the_toolchain() -> None:
    """The agent edits the interpreter that the bench will use."""
    with Stage(toolchains=(Path(sys.base_prefix),)) as stage:
        done = stage.sh(f"{sys.base_prefix}/bin/python3 -c 'print(1)'; touch {sys.base_prefix}/lib/evil.pth")
        assert done.stdout.text == "1\n"
        assert "Read-only file system" in done.stderr.text


def test_the_sandboxs_files_belong_to_no_user_of_the_host() -> None:
    """Root on the host must not mean root behind the user namespace: a file made inside is not root's."""
    with Stage() as stage:
        stage.sh("touch made")
        stage.stop()
        owner = os.stat("made", dir_fd=stage.sandbox.captured_tree().workspace).st_uid
        assert owner == stage.facts.run_uid != 0

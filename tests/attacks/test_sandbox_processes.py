"""A sandbox sees only its own processes, and cannot touch the one that watches it."""

from __future__ import annotations

import os
import subprocess

import pytest
from sandbox_stage import Stage, each_sandbox, is_running, result  # noqa: F401

from steelyard.sandboxes.limits.watch_usage import descendants


def test_looking_for_secrets_in_host_processes() -> None:
    """The agent reads /proc for command lines of the host, where a key was passed."""
    with subprocess.Popen(["sleep", "7654.321"]) as host, Stage() as stage:
        done = stage.sh("cat /proc/[0-9]*/cmdline | tr '\\0' ' '")
        host.kill()
    assert "7654.321" not in done.stdout.text


def test_reading_the_environment_of_process_1() -> None:
    """The agent reads /proc/1/environ, where a supervisor's secrets would be."""
    with Stage() as stage:
        assert "Permission denied" in result(stage.sh("cat /proc/1/environ"))


@pytest.mark.parametrize("what", ["fd", "fdinfo", "map_files", "cwd", "root", "exe"])
def test_reaching_through_process_1(what: str) -> None:
    """The agent opens init's descriptors to speak on its control channel."""
    with Stage() as stage:
        assert "Permission denied" in result(
            stage.sh(f"ls /proc/1/{what}/ || readlink /proc/1/{what} || exit 1")
        )


@pytest.mark.parametrize("file", ["mem", "maps", "stack", "auxv"])
def test_reading_the_memory_of_process_1(file: str) -> None:
    """The agent reads init's memory."""
    with Stage() as stage:
        assert stage.sh(f"cat /proc/1/{file}").exit_code != 0


def test_killing_everything_including_the_watcher() -> None:
    """The agent sends SIGKILL to every process, hoping that init dies and the timeout with it."""
    with Stage() as stage:
        stage.sh("kill -9 -1")
        stage.sh("kill -9 1; kill -TERM 1; kill -STOP 1; kill -SEGV 1; true")
        assert stage.sh("echo alive").stdout.text == "alive\n"


def test_tracing_process_1() -> None:
    """The agent attaches to init as a debugger would."""
    code = "import ctypes; libc = ctypes.CDLL(None, use_errno=True); print(libc.ptrace(16, 1, 0, 0), ctypes.get_errno())"
    with Stage() as stage:
        assert stage.python(code).stdout.text == "-1 1\n"


def test_writing_into_the_memory_of_another_process() -> None:
    """The agent uses process_vm_writev on a sibling."""
    code = "import ctypes; libc = ctypes.CDLL(None, use_errno=True); print(libc.process_vm_writev(1, 0, 0, 0, 0, 0), ctypes.get_errno())"
    with Stage() as stage:
        assert stage.python(code).stdout.text == "-1 1\n"


def test_forging_frames_on_an_inherited_descriptor() -> None:
    """The agent writes to every descriptor it was born with, hoping that one is init's channel."""
    with Stage() as stage:
        assert stage.python("import os; print(sorted(os.listdir('/proc/self/fd')))").stdout.text == (
            "['0', '1', '2', '3']\n"  # 3 is the listing itself
        )


def test_a_daemon_waits_for_the_next_phase() -> None:
    """The agent leaves a process in its own session that would write after the capture."""
    with Stage() as stage:
        stage.sh("setsid sh -c 'while :; do date > late; sleep 0.01; done' >/dev/null 2>&1 &")
        inside = descendants(stage.process_1)
        assert len(inside) > 1
        stage.stop()
        assert not any(is_running(pid) for pid in inside)


def test_seeing_another_sandbox() -> None:
    """The agent of one trial looks for the files and processes of another."""
    with Stage() as first, Stage() as second:
        first.sh("echo secret > /tmp/note; echo secret > ~/note; echo secret > /dev/shm/note; sleep 600 &")
        done = second.sh("ls -A /tmp /dev/shm ~; pgrep sleep")
        assert "note" not in done.stdout.text
        assert done.exit_code == 1


def test_the_hosts_secrets_are_not_in_the_environment() -> None:
    """The agent prints its environment; the operator's keys are not there."""
    os.environ["ANTHROPIC_API_KEY"] = "sk-very-secret"
    try:
        with Stage() as stage:
            assert "sk-very-secret" not in result(stage.sh("env; cat /proc/*/environ"))
    finally:
        del os.environ["ANTHROPIC_API_KEY"]


@pytest.mark.parametrize("name", ["kcore", "kmem", "kallsyms", "sysrq-trigger", "sys/kernel/core_pattern"])
def test_using_the_kernels_files_in_proc(name: str) -> None:
    """The agent reads kernel memory or sets a core handler that runs as root on the host."""
    with Stage() as stage:
        done = stage.python(f"open('/proc/{name}', 'r+b').write(b'x')")
        assert done.exit_code == 1


def test_reading_the_kernels_log() -> None:
    """The agent reads dmesg for what the host's other tenants do."""
    code = "import ctypes; libc = ctypes.CDLL(None, use_errno=True); print(libc.klogctl(3, ctypes.create_string_buffer(99), 99))"
    with Stage() as stage:
        assert stage.python(code).stdout.text == "-1\n"

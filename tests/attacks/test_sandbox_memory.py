"""The tested program writes code into the process that waits for it, and that process then exits with 0.

Both run as the same user, so the kernel lets one open /proc/PID/mem of the other. In a sandbox /proc is read-only: opening that file
for writing fails. ptrace and process_vm_writev are refused by the system call filter.
"""

from __future__ import annotations

import shlex

import pytest
from containers import container_engine, in_image
from sandbox_stage import SMALL, Stage, each_sandbox, result  # noqa: F401

from steelyard.sandboxes.base import Command, SandboxSpec
from steelyard.sandboxes.catalogue import backend

# mov eax, 231 (exit_group); xor edi, edi; syscall
WRITE_EXIT_0 = """
import os, sys
def parent(pid):
    return int(open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[1])
victim = os.getpid()
for _ in range(int(sys.argv[1])):
    victim = parent(victim)
state = "running"
while state == "running":  # it has not begun to wait yet
    state = open(f"/proc/{victim}/syscall").read().split()[-1]
at = int(state, 16)
target = sys.argv[2].format(pid=victim)
with open(target, "r+b", buffering=0) as memory:
    memory.seek(at)
    memory.write(bytes.fromhex("b8e700000031ff0f05"))
"""
CHECKER = "import subprocess, sys; subprocess.run([sys.executable, *sys.argv[1:]]); sys.exit(3)"
WAYS = [
    "/proc/{pid}/mem",
    "/proc/{pid}/task/{pid}/mem",
    "/proc/self/root/proc/{pid}/mem",
    "/proc/self/../{pid}/mem",
]
REOPEN = (
    "import os; os.open(f'/proc/self/fd/{os.open(f\"/proc/{os.getppid()}/mem\", os.O_PATH)}', os.O_WRONLY)"
)
HONEST = [
    "echo a > /dev/stderr",
    "echo a > /dev/stdout",
    "echo a > /dev/fd/1",
    "echo a > /proc/self/fd/1",
    "echo a | cat /dev/stdin",
    "exec 3> kept; echo a > /proc/self/fd/3; cat kept",
    "bash -c 'cat <(echo a)'",
    "bash -c 'cat <<< a'",
    "cat <<END\na\nEND",
    "trap 'echo a' EXIT; true",
    "ls /proc/$$/fd > list; readlink /proc/$$/exe > list; echo a",
    "tr '\\0' ' ' < /proc/self/cmdline > list; echo a",
]


def test_a_program_cannot_write_to_the_memory_of_the_shell_that_waits_for_it() -> None:
    attacks = [shlex.join(["python3", "-c", WRITE_EXIT_0, "1", way]) for way in WAYS]
    with Stage() as stage:
        ends = [stage.sh(f"{attack}; exit 3") for attack in attacks]
    for done in ends:
        assert done.exit_code == 3
        assert "Read-only file system" in result(done)


def test_a_program_cannot_write_to_the_memory_of_the_python_process_that_tests_it() -> None:
    command = shlex.join(["python3", "-c", CHECKER, "-c", WRITE_EXIT_0, "1", "/proc/{pid}/mem"])
    with Stage() as stage:
        done = stage.sh(f"exec {command}")
    assert done.exit_code == 3
    assert "Read-only file system" in result(done)


@pytest.mark.parametrize("each_sandbox", ["docker"], indirect=True)
def test_root_of_a_whole_system_cannot_write_to_the_memory_of_the_shell_that_waits_for_it() -> None:
    container_engine()
    attack = shlex.join(["python3", "-c", WRITE_EXIT_0, "1", "/proc/{pid}/mem"])
    with backend("docker").start(in_image(SandboxSpec(layers=(), scope="system", limits=SMALL))) as sandbox:
        done = sandbox.run(Command(("/bin/sh", "-c", f"id -u; {attack}; mount -o remount,rw /proc; exit 3")))
    assert done.exit_code == 3
    assert done.stdout.text == "0\n"
    assert "Read-only file system" in result(done)


def test_a_descriptor_of_proc_cannot_be_opened_again_for_writing() -> None:
    """The program opens the file with O_PATH, and opens that descriptor through /proc/self/fd."""
    with Stage() as stage:
        done = stage.sh(f"{shlex.join(['python3', '-c', REOPEN])}; exit 3")
    assert done.exit_code == 3
    assert "Read-only file system" in result(done)


def test_a_shell_uses_its_own_descriptors_as_elsewhere() -> None:
    with Stage() as stage:
        assert [(line, result(stage.sh(line))) for line in HONEST] == [(line, "a\n[0]") for line in HONEST]

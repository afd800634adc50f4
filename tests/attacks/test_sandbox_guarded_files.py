"""A process that the tested code leaves behind wants to write the last word into a file of the command that tests it.

The command guards the file: what does not descend from it is killed before it opens the file for writing, and everything is killed before it ends.
"""

from __future__ import annotations

import errno
import time
from typing import Literal

import pytest
from sandbox_stage import Stage, each_sandbox  # noqa: F401

from steelyard.sandboxes.base import Command, CommandResult
from steelyard.sandboxes.init.watch_calls import why_not_watched
from steelyard.sandboxes.seccomp import table_here

pytestmark = pytest.mark.skipif(
    bool(why_not_watched()), reason="this machine gives no listener for system calls"
)
REWARD = "/tmp/logs/reward"
SHELL, PYTHON = ("/bin/sh", "-c"), ("/usr/bin/python3", "-I", "-c")
# Its parent is gone when the next line runs.
LEFT_BEHIND = "(({work}) </dev/null >/dev/null 2>&1 &); "


def guard(stage: Stage, code: str, start: tuple[str, ...] = SHELL, *, slow_s: float = 0) -> CommandResult:
    stage.sh("mkdir -p /tmp/logs; : > /tmp/logs/reward")
    command = Command((*start, code), ends_all=True, guarded=(REWARD,), timeout_s=60)
    waited: list[str] = []

    def wait_once(stream: Literal["stdout", "stderr"], data: bytes) -> None:  # noqa: ARG001
        if not waited:
            waited.append(stream)
            time.sleep(slow_s)

    return stage.sandbox.run(command, wait_once if slow_s else None)


def reward(stage: Stage) -> str:
    return stage.sh(f"cat {REWARD}").stdout.text


@pytest.mark.parametrize(
    "write",
    [
        f"echo mine > {REWARD}",
        "cd /tmp/logs; echo mine > reward",
        f"echo mine > /tmp/own; mv /tmp/own {REWARD}",
        'ln -s /tmp/logs /tmp/way; python3 -c \'open("/tmp/way/reward", "w").write("mine\\n")\'',
    ],
    ids=["shell", "relative", "moved", "python"],
)
def test_a_process_left_behind_that_writes_all_the_time_does_not_write_after_the_command(write: str) -> None:
    forger = LEFT_BEHIND.format(work=f"while :; do echo forged > {REWARD}; done")
    with Stage(is_agents=False) as stage:
        done = guard(stage, f"{forger} sleep 0.3; {write}; sleep 0.3; exit 7")
        assert (done.exit_code, reward(stage)) == (7, "mine\n")


def test_a_descriptor_that_was_opened_before_is_of_no_use() -> None:
    """The process left behind opened the file while the command waited for it, and writes to it without another open."""
    forger = LEFT_BEHIND.format(work=f"exec 3<>{REWARD}; while :; do echo forged >&3; done")
    with Stage(is_agents=False) as stage:
        guard(stage, f"{forger} sleep 0.3; echo mine > {REWARD}; sleep 0.3")
        assert reward(stage) == "mine\n"


def test_a_process_that_never_stays_the_same_is_found() -> None:
    """It forks and ends, again and again: a walk through the list of processes could miss it."""
    forger = f"while True:\n    open('{REWARD}', 'w').write('forged')\n    if os.fork(): os._exit(0)\n"
    code = (
        "import os, time\n"
        f"if os.fork() == 0:\n    if os.fork(): os._exit(0)\n    os.setsid()\n    {forger.replace(chr(10), chr(10) + '    ')}\n"
        f"os.wait(); time.sleep(0.3)\nopen('{REWARD}', 'w').write('mine'); time.sleep(0.3)\n"
    )
    with Stage(is_agents=False) as stage:
        assert guard(stage, code, PYTHON).exit_code == 0
        assert reward(stage) == "mine"


def test_nothing_writes_after_the_end_though_init_is_busy() -> None:
    """Init cannot pass on what is printed, and would hear of the end late. A child of the command waits for that moment."""
    forger = f"(while grep -q . /proc/$$/cmdline; do :; done; echo forged > {REWARD}) </dev/null >/dev/null 2>&1 & "
    flood = "cat /dev/zero & "
    with Stage(is_agents=False) as stage:
        done = guard(stage, f"{flood}{forger} sleep 0.5; echo mine > {REWARD}; exit 3", slow_s=4)
        assert (done.exit_code, reward(stage)) == (3, "mine\n")


def test_a_child_that_descends_from_the_command_by_a_trick_cannot_be_made() -> None:
    """With CLONE_PARENT, tested code could leave a child of the command itself."""
    code = (
        "import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\n"
        f"print(libc.syscall({table_here().clone}, 0x8000 | 17, 0, 0, 0, 0), ctypes.get_errno())"
    )
    with Stage(is_agents=False) as stage:
        assert guard(stage, code, PYTHON).stdout.text == f"-1 {errno.EPERM}\n"


def test_what_the_command_itself_runs_goes_on_after_the_write() -> None:
    """A service that is a child of the command, and one that was left behind before anything was written."""
    service = LEFT_BEHIND.format(work="sh -c 'echo $$ > /tmp/pid; exec sleep 600'")
    script = (
        f"{service} while ! [ -s /tmp/pid ]; do sleep 0.05; done; echo x > /tmp/other; kill -0 $(cat /tmp/pid) && echo before; "
        f"sleep 600 & echo mine > {REWARD}; kill -0 $! && echo after; while kill -0 $(cat /tmp/pid); do sleep 0.05; done; echo gone"
    )
    with Stage(is_agents=False) as stage:
        assert guard(stage, script).stdout.text.split() == ["before", "after", "gone"]


@pytest.mark.parametrize(
    ("code", "start", "ended"),
    [
        ("exit 5", SHELL, (5, None)),
        ("kill -9 $$", SHELL, (None, 9)),
        ("kill -15 $$", SHELL, (None, 15)),
        ("import os, threading; threading.Thread(target=os._exit, args=(6,)).start()", PYTHON, (6, None)),
        ("exec /bin/sh -c 'exit 4'", SHELL, (4, None)),
    ],
    ids=["exit", "killed", "terminated", "thread", "exec"],
)
def test_the_end_of_the_command_is_its_own(
    code: str, start: tuple[str, ...], ended: tuple[int | None, int | None]
) -> None:
    with Stage(is_agents=False) as stage:
        done = guard(stage, code, start)
    assert (done.exit_code, done.signal) == ended


def test_what_was_printed_before_the_end_is_whole() -> None:
    with Stage(is_agents=False) as stage:
        done = guard(stage, "head -c 3000000 /dev/zero; echo end")
    assert (done.stdout.size, done.stdout.tail[-4:]) == (3_000_004, b"end\n")

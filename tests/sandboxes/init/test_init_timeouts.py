"""A timeout ends everything that the command started, wherever it went; and nothing of anybody else."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

import pytest

from steelyard.sandboxes.base import Command, CommandResult, Sandbox

if TYPE_CHECKING:
    from tests.sandboxes.conftest import Shell

KINDS = ["bubblewrap", "docker"]

ESCAPES = {
    "plain": "sleep 1000",
    "background": "sleep 1000 & sleep 1000",
    "new_session": "setsid sleep 1000 & sleep 1000",
    "orphaned_daemon": "(setsid sh -c 'sleep 1000 & sleep 1000' &) ; sleep 1000",
    "ignores_sigterm": "trap '' TERM INT HUP; while :; do sleep 1; done",
    "stopped": "sleep 1000 & kill -STOP $!; kill -STOP $$",
    "fork_chain": "f() { sleep 0.01; (f &) ; }; f; sleep 1000",
}


@pytest.mark.parametrize("line", ESCAPES.values(), ids=ESCAPES.keys())
def test_nothing_survives_a_timeout(shell: Shell, line: str) -> None:
    done = shell(line, timeout_s=0.3)
    assert done.timed_out
    assert (done.exit_code, done.signal) == (None, None)
    assert len(shell("echo /proc/[0-9]*").stdout.text.split()) == 2  # init and this shell


def test_what_was_said_before_a_timeout_is_kept(shell: Shell) -> None:
    assert shell("echo before; sleep 1000", timeout_s=3).stdout.text == "before\n"


def test_a_flood_does_not_stop_a_timeout(shell: Shell) -> None:
    done = shell("yes", timeout_s=0.3, keep_bytes=10)
    assert done.timed_out


def test_a_command_that_never_reads_can_time_out(shell: Shell) -> None:
    assert shell("sleep 1000", stdin=b"x" * 1_000_000, timeout_s=0.3).timed_out


def test_a_timeout_spares_a_command_that_runs_beside_it(sandbox: Sandbox) -> None:
    results: list[CommandResult] = []
    beside = Command(("sh", "-c", "sleep 1 & wait; setsid sh -c 'sleep 0.1; exit 5'"))
    thread = threading.Thread(target=lambda: results.append(sandbox.run(beside)))
    thread.start()
    ended = sandbox.run(Command(("sh", "-c", "setsid sleep 1000 & sleep 1000"), timeout_s=0.3))
    thread.join()
    assert ended.timed_out
    assert results[0].exit_code == 5
    assert sandbox.run(Command(("pgrep", "-f", "sleep 1000"))).exit_code == 1


def test_stop_from_another_thread_ends_a_running_command(sandbox: Sandbox) -> None:
    results: list[CommandResult] = []
    running = threading.Event()
    command = Command(("sh", "-c", "echo up; sleep 1000"))
    thread = threading.Thread(target=lambda: results.append(sandbox.run(command, lambda *_: running.set())))
    thread.start()
    running.wait()
    sandbox.stop()
    thread.join()
    assert results[0].signal == 9 or results[0].lost


def test_a_command_after_stop_is_lost(sandbox: Sandbox) -> None:
    sandbox.stop()
    assert sandbox.run(Command(("true",))).lost


TICKS = "while :; do date +%s%N >> ticks; sleep 0.02; done"


@pytest.mark.parametrize("line", [f"echo up; {TICKS}", f"yes & {TICKS}"], ids=["quiet", "flood"])
def test_a_controller_that_stalls_gives_no_more_time(sandbox: Sandbox, line: str) -> None:
    """The reader of the command's output sleeps for six seconds; init ends the command meanwhile."""
    stalled = threading.Event()

    def stall(*_: object) -> None:
        if not stalled.is_set():
            stalled.set()
            time.sleep(6)

    done = sandbox.run(Command(("sh", "-c", line), timeout_s=1, keep_bytes=10), stall)
    assert done.timed_out
    # From the first tick on: a busy machine may take long to start a command.
    ticks = [int(one) for one in sandbox.run(Command(("cat", "ticks"))).stdout.text.split()]
    assert max(ticks, default=0) - min(ticks, default=0) < 5e9
    assert len(sandbox.run(Command(("sh", "-c", "echo /proc/[0-9]*"))).stdout.text.split()) == 2


def test_nothing_outlives_a_command_that_ends_all(sandbox: Sandbox) -> None:
    line = "setsid sh -c 'while :; do date +%N > ticks; done' & sleep 0.2"
    done = sandbox.run(Command(("sh", "-c", line), timeout_s=30, ends_all=True))
    assert done.exit_code == 0
    last, later = (
        sandbox.run(Command(("sh", "-c", f"sleep {pause}; cat ticks"))).stdout.text for pause in (0, 0.3)
    )
    assert last == later


def test_what_a_command_leaves_running_runs_on_otherwise(sandbox: Sandbox) -> None:
    sandbox.run(Command(("sh", "-c", "setsid sleep 1000 & true"), timeout_s=300))
    # What was left may not have started its program yet.
    assert (
        sandbox.run(Command(("sh", "-c", "until pgrep -x sleep; do :; done"), timeout_s=300)).exit_code == 0
    )

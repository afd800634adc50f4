"""An agent that does not want to be paused: it wakes its processes as fast as it can, forks all the time, and ignores signals.

A pause stops every process but the sandbox's own process 1, so that nothing is left that could wake another.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from steelyard.sandboxes.base import Command, Sandbox, SandboxSpec
from steelyard.sandboxes.bubblewrap.backend import BubblewrapBackend
from steelyard.sandboxes.process_tree import ProcessTree

RESISTING = {
    "wakes everything": "trap '' CONT TSTP; while :; do kill -CONT -1; done & while :; do kill -CONT -1; done",
    "forks all the time": "f() { while :; do (exec true) & done; }; f & f",
    "leaves its parent": "(setsid sh -c 'while :; do :; done' &) ; while :; do (setsid true &); done",
}

# The first thread of a process ends and another works on: /proc calls such a process a zombie.
WITHOUT_FIRST_THREAD = """import ctypes, threading, time

def work():
    print("working", flush=True)
    while True:
        pass

threading.Timer(0.1, work).start()
ctypes.CDLL(None).syscall(60, 0)
"""


@pytest.fixture
def sandbox(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Sandbox]:
    monkeypatch.setenv("STEELYARD_CACHE", str(cache))
    (tmp_path / "tree").mkdir()
    with BubblewrapBackend().start(SandboxSpec((tmp_path / "tree",))) as started:
        yield started


def worked(tree: ProcessTree) -> dict[str, list[str]]:
    """Processor time of each process. Process 1 is not stopped: it goes on to reap, and counts what it reaped as its own."""
    stats = {one.key: Path(f"/proc/{one.pid}/stat").read_text() for one in tree.processes()}
    return {key: stat.rpartition(")")[2].split()[11:13] for key, stat in stats.items()}


@pytest.mark.parametrize("script", RESISTING.values(), ids=RESISTING)
def test_an_agent_cannot_go_on_while_it_is_paused(sandbox: Sandbox, script: str) -> None:
    thread = threading.Thread(target=lambda: sandbox.run(Command(("/bin/sh", "-c", script))))
    thread.start()
    tree = sandbox.process_tree()
    assert tree is not None
    try:
        while not tree.usage().cpu_s:
            time.sleep(0.01)
        assert tree.freeze()
        used = worked(tree)
        time.sleep(0.3)
        assert worked(tree) == used != {}
    finally:
        sandbox.kill_processes()
        thread.join()


def test_a_process_whose_first_thread_ended_is_paused_and_seen(sandbox: Sandbox) -> None:
    command, working = Command(("/usr/bin/python3", "-c", WITHOUT_FIRST_THREAD)), threading.Event()
    thread = threading.Thread(target=lambda: sandbox.run(command, on_output=lambda *_: working.set()))
    thread.start()
    tree = sandbox.process_tree()
    assert tree is not None
    try:
        assert working.wait(300)
        assert tree.usage().processes == 1
        assert len(tree.processes()) == 1
        assert tree.freeze()
        used = worked(tree)
        time.sleep(0.3)
        assert worked(tree) == used != {}
    finally:
        sandbox.kill_processes()
        thread.join()


def test_a_process_whose_first_thread_ended_ends_at_its_timeout(sandbox: Sandbox) -> None:
    """Beside another command, so that init ends one tree and not everything."""
    beside = threading.Thread(target=lambda: sandbox.run(Command(("/bin/sleep", "60"))))
    beside.start()
    try:
        done = sandbox.run(Command(("/usr/bin/python3", "-c", WITHOUT_FIRST_THREAD), timeout_s=1))
        assert done.timed_out
        assert not done.lost
    finally:
        sandbox.kill_processes()
        beside.join()


# A daemon that stops every process but itself and process 1, as fast as it can.
STOPPING = """import os, signal
if os.fork(): os._exit(0)
os.setsid()
while True:
    try: os.kill(-1, signal.SIGSTOP)
    except OSError: pass  # there is no other process
"""


def test_a_daemon_that_stops_every_new_process_does_not_stop_init(sandbox: Sandbox) -> None:
    """The daemon stops a command before it executes, too. Init goes on: the command ends at its own deadline."""
    sandbox.run(Command(("/usr/bin/python3", "-c", STOPPING), timeout_s=0.5))
    done = [sandbox.run(Command(("/bin/true",), timeout_s=0.5)) for _ in range(2)]
    assert not any(one.lost for one in done)
    assert all(one.timed_out or one.exit_code == 0 for one in done)


def test_a_command_that_cannot_start_beside_a_daemon_says_why(sandbox: Sandbox) -> None:
    sandbox.run(Command(("/bin/sh", "-c", "sleep 60 >/dev/null 2>&1 &")))
    assert "No such file" in sandbox.run(Command(("/no/such/program",))).not_started
    assert "No such file" in sandbox.run(Command(("true",), cwd="/no/such/folder")).not_started

"""What this machine sees of a sandbox: its processes, what they use; and that a frozen one does nothing."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from steelyard.sandboxes.base import Command, Sandbox, SandboxSpec
from steelyard.sandboxes.bubblewrap.backend import BubblewrapBackend
from steelyard.sandboxes.process_tree import Process, ProcessTree


def until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 600
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def named(tree: ProcessTree) -> list[Process]:
    """A process that is just starting its program has no words."""
    return [one for one in tree.processes() if one.argv]


def worked(tree: ProcessTree) -> dict[str, list[str]]:
    """Processor time of each process. Process 1 is not stopped: it goes on to reap, and counts what it reaped as its own."""
    stats = {}
    for one in tree.processes():
        with suppress(FileNotFoundError, ProcessLookupError):  # it ended since it was listed
            stats[one.key] = Path(f"/proc/{one.pid}/stat").read_text()
    return {key: stat.rpartition(")")[2].split()[11:13] for key, stat in stats.items()}


def last_words(tree: ProcessTree) -> set[str]:
    return {one.argv[-1] for one in named(tree)}


@contextmanager
def running(sandbox: Sandbox, script: str) -> Iterator[ProcessTree]:
    thread = threading.Thread(target=lambda: sandbox.run(Command(("/bin/sh", "-c", script))))
    thread.start()
    tree = sandbox.process_tree()
    assert tree is not None
    try:
        yield tree
    finally:
        sandbox.kill_processes()
        thread.join()


@pytest.fixture
def sandbox(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Sandbox]:
    monkeypatch.setenv("STEELYARD_CACHE", str(cache))
    (tmp_path / "tree").mkdir()
    with BubblewrapBackend().start(SandboxSpec((tmp_path / "tree",))) as started:
        yield started


def test_a_process_is_seen_with_its_words_and_its_parent(sandbox: Sandbox) -> None:
    with running(sandbox, "sleep 3000; :") as tree:
        until(lambda: any(one.argv == ("sleep", "3000") for one in tree.processes()))
        found = {one.argv[0]: one for one in named(tree)}
        assert found["sleep"].parent == found["/bin/sh"].key
        assert tree.usage().processes == 2


def test_cpu_time_of_processes_that_ended_is_counted(sandbox: Sandbox) -> None:
    sandbox.run(Command(("/bin/sh", "-c", "n=0; while [ $n -lt 300000 ]; do n=$((n+1)); done")))
    tree = sandbox.process_tree()
    assert tree is not None
    used = tree.usage()
    assert used.cpu_s is not None
    assert used.cpu_s > 0
    assert used.processes == 0


def test_what_is_written_to_the_workspace_is_on_its_disk(sandbox: Sandbox) -> None:
    tree = sandbox.process_tree()
    assert tree is not None
    before = tree.usage().disk_bytes
    sandbox.run(Command(("/bin/sh", "-c", "head -c 3000000 /dev/zero > big")))
    after = tree.usage().disk_bytes
    assert before is not None
    assert after is not None
    assert after - before >= 3_000_000


def test_a_frozen_sandbox_does_nothing_until_it_is_thawed(sandbox: Sandbox) -> None:
    with running(sandbox, "n=0; while :; do n=$((n+1)); echo $n > /tmp/n; (exec sleep 0.01); done") as tree:
        until(lambda: len(tree.processes()) > 0)
        assert tree.freeze()
        used = worked(tree)
        time.sleep(0.3)
        assert worked(tree) == used != {}
        tree.thaw()
        until(lambda: worked(tree) != used)


class LateChild(ProcessTree):
    """Its first look misses a process: the parent forked it after the list was read, and was stopped then."""

    looks = 0

    def _running(self) -> Iterator[int]:
        self.looks += 1
        return iter(()) if self.looks == 1 else super()._running()


def test_a_child_that_is_forked_while_its_parent_is_stopped_is_stopped_too(sandbox: Sandbox) -> None:
    with running(sandbox, "sleep 3000; :") as tree:
        until(lambda: last_words(tree) == {"sleep 3000; :", "3000"})
        assert LateChild(tree.pid).freeze()
        states = [Path(f"/proc/{one.pid}/stat").read_text().rpartition(")")[2] for one in tree.processes()]
        assert [state.split()[0] for state in states] == ["T", "T"]


def test_a_frozen_sandbox_is_killed_as_any_other(sandbox: Sandbox) -> None:
    with running(sandbox, "sleep 3000; :") as tree:
        until(lambda: len(tree.processes()) == 2)
        assert tree.freeze()
        sandbox.kill_processes()
        assert tree.usage().processes == 0


def test_a_process_is_killed_with_everything_below_it_and_nothing_else(sandbox: Sandbox) -> None:
    with running(sandbox, "sleep 2998 & sh -c 'sleep 2999 & sleep 3000; :'; sleep 3001; :") as tree:
        # A process that a shell has just forked is called as the shell until it starts its program.
        until(lambda: last_words(tree) >= {"2998", "2999", "3000"})
        (chosen,) = [one for one in named(tree) if one.argv[0] == "sh"]
        assert 1 <= tree.kill([chosen.key]) <= 3  # as many as have ended within its time
        until(lambda: last_words(tree) >= {"2998", "3001"} and not {"2999", "3000"} & last_words(tree))


def test_a_tree_that_forks_all_the_time_is_frozen_too(sandbox: Sandbox) -> None:
    with running(sandbox, "f() { while :; do (exec true) & (exec true); done; }; f & f & f") as tree:
        until(lambda: len(tree.processes()) > 3)
        assert tree.freeze()
        assert all(one.argv for one in tree.processes())

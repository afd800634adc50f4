"""A sandbox that settles: everything in it is dead and what is there can be read, and then it goes on."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from containers import container_engine

from steelyard.errors import InfraFault
from steelyard.evidence.change.importer import import_workspace
from steelyard.sandboxes.base import Command, Sandbox
from steelyard.sandboxes.docker import backend as docker_backend

if TYPE_CHECKING:
    from tests.sandboxes.conftest import Start, Tree

KINDS = ["bubblewrap", "docker", "local"]


def sh(sandbox: Sandbox, line: str) -> str:
    done = sandbox.run(Command(("sh", "-c", line), timeout_s=300))
    return done.stdout.text + done.stderr.text


def changed(sandbox: Sandbox) -> list[str]:
    return [
        one.path for one in import_workspace(sandbox.captured_tree(), baseline_root="", blobs=None).entries
    ]


def test_what_is_there_is_read_and_read_anew_after_more_work(start: Start, tree: Tree) -> None:
    sandbox = start(layers=(tree(kept="1", gone="2"),))
    sandbox.kill_processes()
    assert changed(sandbox) == []
    assert sh(sandbox, "rm gone; echo 3 > made; echo 4 > ~/memory") == ""
    sandbox.kill_processes()
    assert changed(sandbox) == ["gone", "made"]
    assert sh(sandbox, "cat ~/memory made; rm made; mkdir new; touch new/x") == "4\n3\n"
    sandbox.stop()
    assert changed(sandbox) == ["gone", "new/x"]


def test_nothing_that_was_left_running_is_alive(start: Start) -> None:
    sandbox, long = start(), f"300.{os.getpid()}"  # a local sandbox sees everybody's processes
    sh(
        sandbox,
        f"for i in 1 2 3; do setsid sh -c 'trap \"\" TERM HUP; sleep {long}' >/dev/null 2>&1 & done; sleep {long} &",
    )
    # Three shells, and four that sleep: a process that is just starting its program has no words.
    sh(sandbox, f"until [ $(ps ax | grep -c '[s]leep {long}') = 7 ]; do sleep 0.05; done")
    sandbox.kill_processes()
    assert sh(sandbox, f"ps ax | grep -c '[s]leep {long}'") == "0\n"


def test_while_it_works_nothing_can_be_read(start: Start) -> None:
    sandbox = start()
    sandbox.kill_processes()
    sh(sandbox, "true")
    with pytest.raises(RuntimeError):
        sandbox.captured_tree()


def test_one_that_is_dead_does_not_settle(start: Start) -> None:
    sandbox = start()
    sandbox.stop()
    with pytest.raises(InfraFault):
        sandbox.kill_processes()


def test_no_descriptor_is_left_over(start: Start) -> None:
    sandbox = start()
    sandbox.kill_processes()
    sandbox.captured_tree()

    def added_descriptors() -> int:
        before = len(list(Path("/proc/self/fd").iterdir()))
        for _ in range(3):
            sh(sandbox, "date > made")
            sandbox.kill_processes()
            os.fstat(sandbox.captured_tree().workspace)
        return len(list(Path("/proc/self/fd").iterdir())) - before

    # Other threads of this process may open one meanwhile; a leak adds some each time.
    assert any(added_descriptors() <= 0 for _ in range(5))


@pytest.mark.parametrize("kind", ["docker"], indirect=True)
def test_a_container_out_of_reach_is_fetched_anew(
    start: Start, tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(docker_backend, "_out_of_reach", {container_engine().path})
    test_what_is_there_is_read_and_read_anew_after_more_work(start, tree)

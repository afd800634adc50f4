"""The workspace is made read-only and writable again while commands of the sandbox run."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

import pytest

from steelyard.errors import InfraFault
from steelyard.sandboxes.base import Command, Sandbox

if TYPE_CHECKING:
    from tests.sandboxes.conftest import Start, Tree

KINDS = ["bubblewrap", "docker"]


def sh(sandbox: Sandbox, line: str) -> str:
    done = sandbox.run(Command(("sh", "-c", line), timeout_s=60))
    return done.stdout.text + done.stderr.text


def test_a_write_fails_while_the_workspace_is_read_only(start: Start, tree: Tree) -> None:
    sandbox = start(layers=(tree(kept="1"),), write_switch=True)
    assert sandbox.facts.write_switch
    assert sandbox.set_workspace_writable(writable=False)
    assert "Read-only file system" in sh(sandbox, "echo 2 > kept")
    assert sh(sandbox, "cat kept; echo note > ~/note && cat ~/note") == "1note\n"
    assert sandbox.set_workspace_writable(writable=True)
    assert sh(sandbox, "echo 2 > kept; cat kept") == "2\n"


def test_a_running_process_meets_the_switch(start: Start, tree: Tree) -> None:
    """It keeps its working directory, so a mount over the workspace would not do."""
    sandbox = start(layers=(tree(kept="1"),), write_switch=True)
    line = "touch ~/up; until [ -e ~/go ]; do sleep 0.02; done; echo 2 > kept || echo refused"
    result: list[str] = []
    working = threading.Thread(target=lambda: result.append(sh(sandbox, line)))
    working.start()
    while "up" not in sh(sandbox, "ls ~"):
        time.sleep(0.02)
    assert sandbox.set_workspace_writable(writable=False)
    sh(sandbox, "touch ~/go")
    working.join()
    assert "refused" in result[0]


def test_an_open_file_keeps_the_workspace_writable(start: Start, tree: Tree) -> None:
    sandbox = start(layers=(tree(kept="1"),), write_switch=True)
    holding = threading.Thread(
        target=lambda: sh(sandbox, "exec 3>>kept; touch ~/up; until [ -e ~/go ]; do sleep 0.02; done")
    )
    holding.start()
    while "up" not in sh(sandbox, "ls ~"):
        time.sleep(0.02)
    assert not sandbox.set_workspace_writable(writable=False)
    sh(sandbox, "touch ~/go")
    holding.join()
    assert sandbox.set_workspace_writable(writable=False)


def test_a_dead_sandbox_cannot_be_switched(start: Start, tree: Tree) -> None:
    sandbox = start(layers=(tree(kept="1"),), write_switch=True)
    sandbox.stop()
    with pytest.raises(InfraFault, match="died"):
        sandbox.set_workspace_writable(writable=False)

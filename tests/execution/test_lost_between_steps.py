"""A sandbox that dies between two steps: no agent ran in it, so it is not the agent's failure, unless the agent used up its memory."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from steelyard.bench.live import LiveTree
from steelyard.contract.model import Ready
from steelyard.errors import AgentFault, InfraFault
from steelyard.execution.ready import unready
from steelyard.sandboxes.base import ExitStats, FileOverlay
from steelyard.sandboxes.fake import Answer, FakeSandbox


@pytest.fixture
def dead() -> Iterator[FakeSandbox]:
    with FakeSandbox(lambda _: Answer()) as sandbox:
        sandbox.init.die()
        yield sandbox


def test_files_that_a_dead_sandbox_does_not_take(dead: FakeSandbox) -> None:
    with pytest.raises(InfraFault, match="died"):
        LiveTree(dead).write((FileOverlay("given", "dir"),), ())


def test_a_dead_sandbox_that_is_never_ready(dead: FakeSandbox) -> None:
    with pytest.raises(InfraFault, match="died"):
        unready(dead, Ready(cmd="true"))


def test_a_sandbox_that_the_agent_left_no_memory_in_is_its_failure() -> None:
    with FakeSandbox(lambda _: Answer(), ExitStats(oom_kills=1)) as full:
        full.init.die()
        assert "never ready" in unready(full, Ready(cmd="true"))
        with pytest.raises(AgentFault):
            LiveTree(full).write((FileOverlay("given", "dir"),), ())

"""The rule that ends hopeless runs."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import pytest
from fake_study import FakeStudy
from small_study import MakeContract

from steelyard.evidence.folder.folder import RunFolder
from steelyard.execution.live_run import LiveRun
from steelyard.execution.stop import StopRequest
from steelyard.plan.trial import Trial
from steelyard.study.protocol.dominance import DominanceWatch, is_unchanged

BRIEF = b'{"type":"brief"}\n'
WATCH = b'{"payload":{"mode":"upper"},"type":"workspace.watch"}\n'
UNWATCHED = b'{"payload":{"mode":"none"},"type":"workspace.watch"}\n'
CHANGE = b'{"type":"workspace.change"}\n'


@dataclass
class WorkingRun:
    trial: Trial
    folder: RunFolder
    requests: list[StopRequest] = field(default_factory=list)

    def request_stop(self, request: StopRequest) -> bool:
        self.requests.append(request)
        return True


@pytest.mark.parametrize(
    ("log", "is_so"),
    [
        (BRIEF + WATCH, True),
        (BRIEF + WATCH + CHANGE, False),
        (BRIEF + UNWATCHED, False),
        (BRIEF, False),
        (
            BRIEF + WATCH + b'{"payload":{"text":"\\"type\\":\\"workspace.change\\""},"type":"tool.call"}\n',
            True,
        ),
    ],
)
def test_a_workspace_without_a_change_is_seen_in_the_log(log: bytes, is_so: bool) -> None:  # noqa: FBT001  # a case
    assert is_unchanged(log) is is_so


@pytest.mark.parametrize(
    ("log", "after_s", "stopped"), [(WATCH, 25, 1), (WATCH, 23, 0), (WATCH + CHANGE, 25, 0)]
)
def test_a_run_is_stopped_when_its_share_of_time_is_spent_without_a_change(  # noqa: PLR0913, PLR0917  # cases
    fake_study: FakeStudy, contract: MakeContract, tmp_path: Path, log: bytes, after_s: float, stopped: int
) -> None:
    """The agent has 30 seconds, and the rule stops at eight tenths of them."""
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "events.jsonl").write_bytes(BRIEF + log)
    run = WorkingRun(Trial(contract(), "command:true"), RunFolder(folder))
    now = [100.0]
    watch = DominanceWatch(fake_study.engine(), 0.8, lambda: now[0])
    watch.look(cast("LiveRun", run))
    now[0] += after_s
    watch.look(cast("LiveRun", run))
    assert [one.code for one in run.requests] == ["dominance"] * stopped


def test_nothing_is_kept_of_runs_that_have_ended(
    fake_study: FakeStudy, contract: MakeContract, tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "events.jsonl").write_bytes(BRIEF + WATCH)
    run = cast("LiveRun", WorkingRun(Trial(contract(), "command:true"), RunFolder(folder)))
    watch = DominanceWatch(fake_study.engine(), 0.8)
    watch.look_at([run])
    assert list(watch._begun) == ["run"]
    watch.look_at([])
    assert watch._begun == {}

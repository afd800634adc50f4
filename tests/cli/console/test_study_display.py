"""What is printed while a study runs."""

from __future__ import annotations

import sys
from typing import NamedTuple, cast

import pytest

from steelyard.cli.console import study_display
from steelyard.cli.console.study_display import StudyDisplay
from steelyard.contract.contract import Contract
from steelyard.plan.study_plan import Envelopes, PlannedAgent, PlannedContract, StudyPlan
from steelyard.plan.trial import Trial
from steelyard.study.observer import TrialResult
from steelyard.study.protocol.charges import Charges
from steelyard.study.protocol.envelopes import EnvelopeGate
from steelyard.study.protocol.progress import Progress
from steelyard.study.protocol.run_study import Notice


class FakeContract(NamedTuple):
    """A contract as far as a display looks at it."""

    id: str
    digest: str


def test_what_a_library_prints_is_not_among_the_results_of_a_study(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Ray prints to stdout that a node died."""
    with StudyDisplay(as_json=True) as display:
        sys.stdout.write("(raylet) a node died\n")
        display.close()
        sys.stdout.write("{}\n")
    assert capsys.readouterr() == ("{}\n", "(raylet) a node died\n")


@pytest.mark.parametrize(("quiet_s", "lines"), [(0.0, 3), (3600.0, 0)])
def test_a_pipe_gets_a_line_at_the_end_of_a_trial_and_no_more_often_than_it_is_due(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, quiet_s: float, lines: int
) -> None:
    monkeypatch.setattr(study_display, "QUIET_S", quiet_s)
    digest = "d" * 64
    trial = Trial(cast("Contract", FakeContract("sum", digest)), "noop")
    agent = PlannedAgent(agent="noop", name="noop", role="baseline", identity=digest)
    contract = PlannedContract(id="sum", digest=digest, stratum="all", path="sum")
    plan = StudyPlan(name="night", agents=(agent,), contracts=(contract,))
    progress, gate = Progress(plan, [trial], Charges()), EnvelopeGate(Envelopes(), Charges())
    with StudyDisplay(as_json=False) as display:
        for _ in range(3):
            display.notice(Notice("trial", "", TrialResult(trial)), progress, gate)
    assert capsys.readouterr().out == "0 of 1 finished, 0 running, 0 invalid, 0.00 USD (noop 0/1)\n" * lines

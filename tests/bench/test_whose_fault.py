"""Who is to blame for a check that reached no decision: the same check on a trusted tree tells."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from steelyard.bench.outcome import Outcome, Stream
from steelyard.bench.whose_fault import blame_change
from steelyard.errors import InfraFault

NOTHING = Stream("", 0)


def ended(outcome: str, *, timed_out: bool = False) -> Outcome:
    made = Outcome("c", "acceptance", "error", "why", (), 1, True, 60.0, 0.5, NOTHING, NOTHING)
    return replace(made, outcome=outcome, timed_out=timed_out)  # type: ignore[arg-type]  # a word


class Here:
    """An environment without a reference, and what the check does on the trusted tree and once more on the change."""

    def __init__(self, folder: Path, there: str, again: str = "error") -> None:
        self.folder, self.there, self.then = folder, there, again
        self.time_shares: list[float] = []
        self.again = 0
        contract = SimpleNamespace(spec=SimpleNamespace(answer_path=None), reference=None)
        self.environment: Any = SimpleNamespace(contract=contract, cache=self)

    @contextmanager
    def temporary(self) -> Iterator[Path]:
        yield self.folder

    def blame(self, outcome: Outcome) -> Outcome:
        return blame_change(self.environment, outcome, self._on_trusted, self._again)

    def _on_trusted(self, overlays: Any, time_share: float) -> Outcome:
        assert overlays == ()
        self.time_shares.append(time_share)
        if self.there == "lost":
            raise InfraFault("no sandbox")
        return ended(self.there)

    def _again(self) -> Outcome:
        self.again += 1
        return ended(self.then)


@pytest.mark.parametrize("outcome", ["pass", "fail"])
def test_a_decision_is_left_alone(outcome: str, tmp_path: Path) -> None:
    here = Here(tmp_path, "pass")
    assert here.blame(ended(outcome)).outcome == outcome
    assert here.time_shares == []


@pytest.mark.parametrize(
    ("there", "again", "outcome"),
    [
        ("pass", "error", "fail"),
        ("fail", "error", "fail"),
        ("fail", "fail", "fail"),
        ("fail", "pass", "error"),
        ("error", "error", "error"),
        ("lost", "error", "error"),
    ],
)
def test_the_trusted_tree_and_a_second_run_decide_whose_fault_an_error_is(
    there: str, again: str, outcome: str, tmp_path: Path
) -> None:
    assert Here(tmp_path, there, again).blame(ended("error")).outcome == outcome


def test_a_timeout_is_the_changes_if_the_trusted_tree_needs_less_than_half_of_the_time(
    tmp_path: Path,
) -> None:
    here = Here(tmp_path, "fail", "pass")
    made = here.blame(ended("error", timed_out=True))
    assert (made.outcome, made.score, here.time_shares, here.again) == ("fail", 0.0, [0.5], 0)
    assert made.why == "why; with the unchanged snapshot the check decides after 0.5 s"


def test_a_timeout_that_the_trusted_tree_has_too_is_an_error(tmp_path: Path) -> None:
    assert Here(tmp_path, "error").blame(ended("error", timed_out=True)).outcome == "error"

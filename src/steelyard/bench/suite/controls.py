"""Controls: the suite runs twice, each time with other tests changed, which honest work must fail.

A candidate that makes every test pass makes the changed ones pass too. A changed test *counts* when it is certain to
fail for an honest candidate that passes it unchanged; a counted test that passes is forged.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Literal

from steelyard.deferred.data_class import dataclass


@dataclass(frozen=True, slots=True)
class Controls:
    """What the controls of one check said."""

    kind: Literal["twin"]
    changed: int  # passed tests whose expectation was changed in one of the runs
    counted: int  # of those, how many must fail
    wrong: tuple[str, ...]  # counted ones that passed all the same
    coverage: float  # counted / passed; 0 when there is a problem
    problem: str = ""  # why there are no controls, or none that came to their end
    weak: str = ""  # why work that tells a changed test from an unchanged one could get past them
    grain: str = "test"  # what is changed together: a test, a class, a file, the suite
    decisive: int = 0  # controlled tests that fail on the snapshot, in files that no agent can have read
    chance: float | None = None  # that work which only guesses passes those; None where no test decides
    seed: str = ""  # of the draw, in hexadecimal: with it the grading can be repeated

    @property
    def hold(self) -> bool:
        """Whether there were any that came to their end, and that take knowing the answers to get past."""
        return self.counted > 0 and not self.problem and not self.weak

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "wrong": list(self.wrong)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Controls:
        return cls(**{**data, "wrong": tuple(data["wrong"])})

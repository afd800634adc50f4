"""How the checks of one step came out -> what the step earned: 0..1, or None where that is not known.

With `reward: verifier` it is the word of the step's verifier. Else it is the weighted mean of its checks, 0 when one
that is required was not passed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from steelyard.contract.catalogue import GraderEntry


class Result(NamedTuple):
    outcome: str  # pass | fail | error
    score: float | None  # where there is a part of the credit

    @property
    def share(self) -> float:
        return float(self.outcome == "pass") if self.score is None else self.score


def step_reward(rule: str, checks: Sequence[GraderEntry], results: Mapping[str, Result]) -> float | None:
    verifier = next((entry for entry in checks if entry.type == "verifier"), None)
    if rule == "verifier" and verifier is not None:
        result = results[verifier.name]
        return None if result.outcome == "error" else result.share
    of_required = [results[entry.name].outcome for entry in checks if entry.required]
    if "error" in of_required:
        return None
    if "fail" in of_required:
        return 0.0
    weights = sum(entry.weight for entry in checks)
    if weights <= 0:
        return 1.0  # gates only, and all of them passed
    return min(1.0, sum(entry.weight * results[entry.name].share for entry in checks) / weights)

"""How the checks of one step came out -> what the step earned: 0..1, or None where that is not known.

With `reward: verifier` it is the word of the step's verifier. Else it is the weighted mean of its checks, 0 when one
that is required failed, unknown when one of those reached no decision; a weighted one that did not leaves the mean.
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
    if "fail" in of_required:
        return 0.0  # whatever else could not be decided
    if "error" in of_required:
        return None
    weighed = [entry for entry in checks if entry.weight > 0]
    if not weighed:
        return 1.0  # gates only, and all of them passed
    known = [entry for entry in weighed if results[entry.name].outcome != "error"]
    total = sum(entry.weight for entry in known)
    if total <= 0:
        return None
    return min(1.0, sum(entry.weight * results[entry.name].share for entry in known) / total)

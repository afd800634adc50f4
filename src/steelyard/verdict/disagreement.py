"""Results of checks and judge -> how they disagree, and what that usually means.

A disagreement changes no verdict; it marks a run that a person should look at.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from steelyard.graders.grade import WeightedGrade
from steelyard.judge import judgement

Disagreement = Literal["none", "judge_pass_checks_fail", "checks_pass_judge_fail", "advisory_warning"]


def disagreement(
    judge: judgement.Judgement | None, grades: Sequence[WeightedGrade], *, checks: bool | None
) -> Disagreement:
    """`checks`: did everything pass that must? None where nothing had to, and then there is nothing to compare."""
    if judge is None or judge.verdict not in ("PASS", "FAIL") or checks is None:
        return "none"
    if judge.verdict == "PASS" and not checks:
        return "judge_pass_checks_fail"
    if judge.verdict == "FAIL" and checks:
        return "checks_pass_judge_fail"
    return "advisory_warning" if checks and any(map(_is_warning, grades)) else "none"


def _is_warning(one: WeightedGrade) -> bool:
    """A failure that decides nothing: one that carries credit lowers the score, and may fail the run."""
    return one.applies and one.grade.outcome == "fail" and not one.gates and not one.entry.weight

"""How cheaply it was done."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from steelyard.graders.base import Case, Grader
from steelyard.graders.conduct.trace import NO_TRACE, Count, Dollars
from steelyard.graders.grade import Grade


@dataclass(frozen=True)
class Efficiency(Grader):
    """The mean of min(1, target / actual) over the targets that are given and whose actual value is known.

    Passes at 0.8 by default (`pass_threshold`). A target of 0 is met only by 0. Values that are not recorded are left
    out; if nothing is left, or there is no trace, the grade is not applicable.

    Why: among agents that all solve the task, the cheaper one is better.
    Example: `{type: efficiency, target_cost_usd: 0.30, target_tokens: 20000, weight: 2}`
    Fooled by: work that is not metered.
    """

    TYPE = "efficiency"
    UNDER = "acceptance"
    REQUIRED = False
    WEIGHT = 1.0
    PASS_THRESHOLD: ClassVar[float] = 0.8

    target_cost_usd: Dollars | None = None
    target_tokens: Count | None = None
    target_tool_calls: Count | None = None

    def __post_init__(self) -> None:
        if self.target_cost_usd is None and self.target_tokens is None and self.target_tool_calls is None:
            raise ValueError("checks nothing: set target_cost_usd, target_tokens or target_tool_calls")

    def grade(self, case: Case) -> Grade:
        trace = case.trace
        if not trace.traced:
            return Grade.not_applicable(NO_TRACE)
        asked = (
            ("dollars", self.target_cost_usd, trace.cost_usd),
            ("tokens", self.target_tokens, trace.tokens),
            ("tool calls", self.target_tool_calls, trace.kinds.total() if trace.knows_tools else None),
        )
        known = [
            (name, target, used) for name, target, used in asked if target is not None and used is not None
        ]
        unknown = [f"{name} unknown" for name, target, used in asked if target is not None and used is None]
        if not known:
            return Grade.not_applicable("; ".join(unknown))
        parts = [f"{used:g} {name}, target {target:g}" for name, target, used in known]
        return Grade.share(
            sum(target_score(target, used) for _, target, used in known) / len(known),
            "; ".join([*parts, *unknown]),
        )


def target_score(target: float, used: float) -> float:
    """1 at or under the target, then target / used: twice as much is worth half."""
    return 1.0 if used <= target else target / used

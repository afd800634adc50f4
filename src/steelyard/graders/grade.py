"""What a grader concludes about one run.

`pass` and `fail` are decisions about the work; `error` means that no decision was reached, and
`not_applicable` that there was nothing to decide: neither is a zero.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

from steelyard.contract.catalogue import GraderEntry
from steelyard.evidence.finding import Finding

GradeOutcome = Literal["pass", "fail", "error", "not_applicable"]
TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True)
class Grade:
    """An outcome, a score where one makes sense, and the reason in words."""

    outcome: GradeOutcome
    score: float | None
    why: str
    pointers: tuple[str, ...] = ()  # where in the run folder the reason can be read
    findings: tuple[Finding, ...] = ()
    output_tail: str = ""

    def __post_init__(self) -> None:
        if self.score is not None and not (math.isfinite(self.score) and 0 <= self.score <= 1):
            raise ValueError(f"a score is finite and within 0..1, not {self.score}")

    @classmethod
    def of(cls, passed: bool, why: str, **rest: Any) -> Grade:  # noqa: FBT001  # reads as Grade.of(not strays, ...)
        return cls("pass" if passed else "fail", 1.0 if passed else 0.0, why, **rest)

    @classmethod
    def error(cls, why: str, **rest: Any) -> Grade:
        return cls("error", None, why, **rest)

    @classmethod
    def not_applicable(cls, why: str) -> Grade:
        return cls("not_applicable", None, why)


@dataclass(frozen=True, slots=True)
class Graded:
    """A grade together with what it counts for."""

    entry: GraderEntry
    grade: Grade

    @property
    def applies(self) -> bool:
        return self.grade.outcome != "not_applicable"

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.entry.name,
            "type": self.entry.type,
            "outcome": self.grade.outcome,
            "score": self.grade.score,
            "required": self.entry.required,
            "weight": self.entry.weight,
            "gate": self.entry.gate,
            "under": self.entry.under,
            "check": self.entry.is_check,
            "why": self.grade.why,
            "pointers": list(self.grade.pointers),
            "output_tail": self.grade.output_tail,
        }

"""What a grader concludes about one run.

`pass` and `fail` are decisions about the work; `error` means that no decision was reached, and
`not_applicable` that there was nothing to decide: neither is a zero.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import field, replace
from typing import Any, Literal

from steelyard.contract.catalogue import GraderEntry
from steelyard.contract.threshold import is_enough
from steelyard.deferred.data_class import dataclass
from steelyard.evidence.finding import Finding

GradeOutcome = Literal["pass", "fail", "error", "not_applicable"]


@dataclass(frozen=True, slots=True)
class VerifierEvaluation:
    """What a verifier said and how far it may be believed; it becomes the run's evaluation."""

    reward: float
    output_parseable: bool
    schema_valid: bool
    verifier_completed: bool
    errors: tuple[str, ...] = ()
    breakdown: Mapping[str, Any] | None = None
    tags: tuple[tuple[str, str | None], ...] = ()


@dataclass(frozen=True, slots=True)
class Grade:
    """An outcome, a score where one makes sense, and the reason in words."""

    outcome: GradeOutcome
    score: float | None
    why: str
    pointers: tuple[str, ...] = ()  # where in the run folder the reason can be read
    findings: tuple[Finding, ...] = ()
    output_tail: str = ""
    evaluated: VerifierEvaluation | None = None
    disqualifies: bool = False  # weighted as its entry is, it fails the run like a gate
    # What a program may want to read, of the type's own
    data: Mapping[str, Any] = field(default_factory=dict)

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

    @classmethod
    def share(cls, score: float, why: str, **rest: Any) -> Grade:
        """A part of the credit; its entry's threshold says whether the part is enough."""
        return cls("pass" if score >= 1 else "fail", score, why, **rest)

    def at(self, pass_threshold: float) -> Grade:
        """The same grade where less than everything, or nothing less, is enough; nothing at all never is."""
        if self.outcome not in ("pass", "fail") or self.score is None:
            return self
        passed = self.score > 0 and is_enough(self.score, pass_threshold)
        return replace(self, outcome="pass" if passed else "fail")


@dataclass(frozen=True, slots=True)
class WeightedGrade:
    """A grade together with what it counts for."""

    entry: GraderEntry
    grade: Grade
    executed: Mapping[str, Any] | None = None  # how it ended on the bench, if it ran there
    hidden: bool = False  # its output may show a hidden file

    @property
    def applies(self) -> bool:
        return self.grade.outcome != "not_applicable"

    @property
    def gates(self) -> bool:
        """Must it pass for the run to pass?"""
        return self.applies and (self.entry.required or self.grade.disqualifies)

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.entry.name,
            "type": self.entry.type,
            "outcome": self.grade.outcome,
            "score": self.grade.score,
            "required": self.entry.required,
            "weight": self.entry.weight,
            "gate": self.entry.gate,
            "disqualifies": self.grade.disqualifies,
            "under": self.entry.under,
            "check": self.entry.is_check,
            "why": self.grade.why,
            "pointers": list(self.grade.pointers),
            "output_tail": self.grade.output_tail,
            "hidden": self.hidden,
            "data": dict(self.grade.data),
        }

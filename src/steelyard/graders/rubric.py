"""Grades of others, or dimensions of a verifier's details -> one score."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from steelyard import rubric
from steelyard.contract.model import NonEmpty
from steelyard.deferred.model import ConfigDict, Field
from steelyard.graders.base import Case, Grader
from steelyard.graders.grade import Grade

Weight = Annotated[float, Field(ge=0, le=1e6)]


@dataclass(frozen=True)
class RubricDimension:
    """`of` names a check or grader; `key` one entry of the details that a verifier wrote."""

    __pydantic_config__ = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

    of: NonEmpty
    key: NonEmpty | None = None
    weight: Weight = 1.0


@dataclass(frozen=True)
class Rubric(Grader):
    """The dimensions together reach `pass_threshold` (1.0 by default).

    A dimension is the score of another check or grader (`of`), or with `key` one entry of the details.json of the
    verifier `of`, as score / max_score within 0..1. `weighted_mean` is sum(score x weight) / sum(weight); with `min` the
    worst dimension counts. A weight of 0 leaves both. An entry that the details do not have counts 0; a grader that is
    not applicable leaves the rubric; one that reached no decision leaves the rubric without a decision. The score has
    four decimals.

    Why: some work has several aspects, and one wrong field may have to fail all of it.
    Example: `{type: rubric, strategy: min, dimensions: {drop: {of: electrical, key: voltage_drop_v}, style: {of: lint}}}`
    Fooled by: whatever fools the graders that it names; give those `weight: 0`, or they count twice.
    """

    TYPE = "rubric"
    UNDER = "acceptance"
    REQUIRED = False
    WEIGHT = 1.0

    dimensions: Annotated[dict[NonEmpty, RubricDimension], Field(min_length=1, max_length=100)]
    strategy: rubric.Strategy = "weighted_mean"

    def __post_init__(self) -> None:
        if not any(one.weight > 0 for one in self.dimensions.values()):
            raise ValueError("checks nothing: no dimension has a weight")

    def graders_named(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(one.of for one in self.dimensions.values()))

    def grade(self, case: Case) -> Grade:
        scores: dict[str, rubric.Dimension] = {}
        pointers: list[str] = []
        for name, one in self.dimensions.items():
            if one.weight <= 0:
                continue
            of = case.grades.get(one.of)
            if of is None or of.outcome == "error":
                why = "it was not graded" if of is None else of.why
                return Grade.error(f"{name}: {one.of} reached no decision: {why}")
            if of.outcome == "not_applicable":
                continue
            try:
                scores[name] = _dimension(of, one)
                rubric.score({name: scores[name]})
            except ValueError as problem:
                return Grade.error(f"{one.of}: {problem}")
            pointers += of.pointers
        if not scores:
            return Grade.not_applicable("no dimension applies")
        scored = rubric.score(scores, self.strategy)
        parts = ", ".join(f"{name} {row['normalised']:.4g}" for name, row in scored.details.items())
        return Grade.share(
            scored.reward,
            f"{self.strategy} of {parts}",
            pointers=tuple(dict.fromkeys(pointers)),
            data={"strategy": self.strategy, "dimensions": scored.details},
        )


def _dimension(of: Grade, one: RubricDimension) -> rubric.Dimension:
    if one.key is None:
        return rubric.Dimension(of.score or 0.0, weight=one.weight, evidence=of.why)
    breakdown: Any = of.evaluated.breakdown if of.evaluated is not None else None
    row = breakdown.get(one.key) if isinstance(breakdown, dict) else None
    if row is None:
        return rubric.Dimension(0.0, weight=one.weight, evidence=f"missing: {one.key}")
    if not isinstance(row, dict) or "score" not in row:
        raise ValueError(f"{one.key}: a dimension is an object with a `score`")
    evidence = str(row.get("evidence", ""))[:1000]
    return rubric.Dimension(row["score"], row.get("max_score", 1.0), one.weight, evidence)

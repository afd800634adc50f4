"""A run's reward and what stands around it, as one public record: `evaluation` in `gradings/NNNN.json`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Annotated, Any, Literal, Self

import orjson

from steelyard.deferred.model import BaseModel, ConfigDict, Field, model_validator
from steelyard.graders.grade import VerifierEvaluation, WeightedGrade
from steelyard.judge import judgement
from steelyard.verdict.verdict import Verdict, evaluated_by

Reward = Annotated[float, Field(ge=0, le=1)]
ErrorSource = Literal["mechanical", "human", "judge"]
Judgment = Literal["pass", "fail", "defer"]


class StrictModel(BaseModel):
    """Frozen, no unknown keys, no silent conversion: "0.9" and true are not numbers."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)

    @classmethod
    def from_json(cls, data: Any) -> Self:
        """From parsed JSON, where a time is a text."""
        return cls.model_validate_json(orjson.dumps(data))


class ValidityCheck(StrictModel):
    """Whether the output was fit for scoring. Only `output_parseable` binds the reward; the rest is diagnosis."""

    output_parseable: bool
    schema_valid: bool
    verifier_completed: bool
    errors: list[str] = Field(default_factory=list)


class ErrorTag(StrictModel):
    """One classified failure; categories are the task's own or ids of `failure_modes.jsonl`."""

    category: str
    description: str | None = None
    source: ErrorSource


class ConfidenceMetadata(StrictModel):
    """How far raters of the run agree."""

    annotator_count: Annotated[int, Field(ge=0)] | None = None
    inter_rater_agreement: Annotated[float, Field(ge=-1, le=1)] | None = None
    confidence_interval: tuple[float, float] | None = None
    confidence_method: str | None = None


class Annotation(StrictModel):
    """A person's judgement. It stands beside the reward and never replaces it."""

    reviewer_id: str
    reviewer_discipline: str | None = None
    timestamp: datetime
    judgment: Judgment
    categories: list[str] = Field(default_factory=list)
    notes: str | None = None


class EvaluationResult(StrictModel):
    """The validated reward of a trial, and what is known about it."""

    reward: Reward
    validity: ValidityCheck
    breakdown: dict[str, Any] | None = None
    error_taxonomy: list[ErrorTag] | None = None
    confidence: ConfidenceMetadata | None = None
    annotations: list[Annotation] | None = None

    @model_validator(mode="after")
    def _nothing_for_what_cannot_be_read(self) -> EvaluationResult:
        if not self.validity.output_parseable and self.reward > 0:
            raise ValueError("an output that cannot be parsed must have reward 0")
        return self


def evaluate(verdict: Verdict, grades: Sequence[WeightedGrade]) -> EvaluationResult | None:
    """The public record of a run that was graded; None for one that was not: unknown is not a zero."""
    if verdict.verdict in ("invalid", "ungraded"):
        return None
    evaluation = _evaluate_steps(verdict, grades) if verdict.steps else evaluated_by(grades)
    if evaluation is None:
        evaluation = _without_a_verifier(verdict)
    # The budget ended the run: the endpoint is failed, whatever the output is worth
    if verdict.patch_verdict is not None:
        evaluation = replace(evaluation, reward=0.0, errors=(*evaluation.errors, verdict.reason))
    taxonomy = [
        ErrorTag(category=tag.id, description=tag.why or None, source="mechanical")
        for tag in verdict.failure_modes
    ]
    taxonomy += [
        ErrorTag(category=category, description=text, source="mechanical")
        for category, text in evaluation.tags
    ]
    taxonomy += _blamed_by(verdict.judge)
    return EvaluationResult(
        reward=evaluation.reward,
        validity=ValidityCheck(
            output_parseable=evaluation.output_parseable,
            schema_valid=evaluation.schema_valid,
            verifier_completed=evaluation.verifier_completed,
            errors=list(evaluation.errors),
        ),
        breakdown=None if evaluation.breakdown is None else dict(evaluation.breakdown),
        error_taxonomy=taxonomy or None,
        confidence=_agreed(verdict.judge),
    )


def _blamed_by(judge: judgement.Judgement | None) -> list[ErrorTag]:
    """What a judge holds to be wrong, marked as its opinion: the reward does not know of it."""
    if judge is None or judge.verdict != "FAIL" or judge.failure_mode is None:
        return []
    return [ErrorTag(category=judge.failure_mode, description=judge.why, source="judge")]


def _agreed(judge: judgement.Judgement | None) -> ConfidenceMetadata | None:
    """How far the models that could be read agree; None for a single model."""
    read = 0 if judge is None else sum(one.readable for one in judge.opinions)
    if judge is None or not read:
        return None
    return ConfidenceMetadata(
        annotator_count=read,
        inter_rater_agreement=judge.agreement if read > 1 else None,
        confidence_method="share of the models that say what the majority says" if read > 1 else "one model",
    )


def _evaluate_steps(verdict: Verdict, grades: Sequence[WeightedGrade]) -> VerifierEvaluation:
    """The result of all steps. A step that was not taken was not verified, and that is no gap in the record."""
    taken = {step.name for step in verdict.steps if step.outcome != "not_run"}
    steps = [
        one.grade.evaluated for one in grades if one.grade.evaluated is not None and one.entry.step in taken
    ]
    parseable = all(one.output_parseable for one in steps)
    return VerifierEvaluation(
        reward=(verdict.reward or 0.0) if parseable else 0.0,
        output_parseable=parseable,
        schema_valid=all(one.schema_valid for one in steps),
        verifier_completed=all(step.outcome != "error" for step in verdict.steps),
        errors=tuple(error for one in steps for error in one.errors),
        breakdown={step.name: step.to_json() for step in verdict.steps},
        tags=tuple(tag for one in steps for tag in one.tags),
    )


def _without_a_verifier(verdict: Verdict) -> VerifierEvaluation:
    """The graders are the verifier, and the patch is the output."""
    gates = verdict.gates or {}
    parseable = "patch" not in gates or gates["patch"].outcome == "pass"
    undecided = tuple(f"{name}: {gate.why}" for name, gate in gates.items() if gate.outcome == "error")
    return VerifierEvaluation(
        reward=(verdict.reward or 0.0) if parseable else 0.0,
        output_parseable=parseable,
        schema_valid=parseable,
        verifier_completed=not undecided,
        errors=undecided,
    )

"""Results and other caps, weights or a threshold -> what the results would have been: labelled, and never mixed with results.

What sealed evidence can say:

a tighter cap      a run that used more than the cap would have been stopped: it fails
a looser cap       a run that the old cap stopped might have gone on: nothing is known, so it is undecided
other weights      the score of the same grades; required grades and gates decide as before
other threshold    the same score against another limit

Nothing is written to a run folder. Gates, checks and graders are not run again (`steelyard regrade` does that).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from steelyard.errors import OperatorFault
from steelyard.evidence.folder.gradings import blocks
from steelyard.report.study_summary.model import to_json
from steelyard.report.study_summary.quality import mean_quality, quality_under
from steelyard.report.study_summary.read_results import Line, ResultSet
from steelyard.report.study_summary.run_context import RunContext
from steelyard.report.study_summary.trial_record import CATEGORY, TrialRecord, by_agent, rate_of, trials_of
from steelyard.stats.estimate import Estimate

SCHEMA = "steelyard.counterfactual/1"
LABEL = (
    "COUNTERFACTUAL: these numbers are of rules that were not enforced; they are provisional and no result"
)
CAPS = ("wall_s", "cost_usd", "tokens", "tool_calls")
MEASURED = {  # what of a run is held against a cap
    "wall_s": "the seconds in which the agent worked, without preparation, checks and grading",
    "cost_usd": "the cost of the run in dollars",
    "tokens": "the tokens of all model requests, in and out",
    "tool_calls": "the tool calls of the agent",
}
_STOPPED_BY = {
    "wall_s": "wall_time",
    "cost_usd": "cost_cap",
    "tokens": "token_cap",
    "tool_calls": "tool_call_cap",
}
_EPSILON = 1e-9


@dataclass(frozen=True, slots=True)
class Rescoring:
    """Other rules. An empty one changes nothing."""

    caps: Mapping[str, float] = field(default_factory=dict)
    weights: Mapping[str, float] = field(default_factory=dict)  # grader -> weight
    threshold: float | None = None
    quality_weights: Mapping[str, float] = field(default_factory=dict)  # dimension of quality -> weight

    def __post_init__(self) -> None:
        for name, value in self.caps.items():
            if name not in CAPS:
                raise OperatorFault(f"there is no cap {name}; there are {', '.join(CAPS)}")
            if not (math.isfinite(value) and value > 0):
                raise OperatorFault(f"cap {name}={value:g}: it is above 0")
        for name, value in (*self.weights.items(), *self.quality_weights.items()):
            if not (math.isfinite(value) and value >= 0):
                raise OperatorFault(f"weight {name}={value:g}: it is not negative")
        if self.threshold is not None and not 0 <= self.threshold <= 1:
            raise OperatorFault(f"a threshold is between 0 and 1, not {self.threshold:g}")
        if not (self.caps or self.weights or self.quality_weights or self.threshold is not None):
            raise OperatorFault(
                "name what would be other: --cap wall_s=60, --weight GRADER=2, --quality-weight DIMENSION=0.5 or --threshold 0.8"
            )


@dataclass(frozen=True, slots=True)
class ChangedVerdict:
    run: str
    contract: str
    agent: str
    before: str
    after: str
    why: str


@dataclass(frozen=True, slots=True)
class RescoredAgent:
    agent: str
    primary: Estimate
    counterfactual: Estimate
    undecided: int  # trials of which evidence cannot say what would have been
    trials: int
    quality: Estimate | None = None  # as published; None where no other weights of quality are asked for
    counterfactual_quality: Estimate | None = None


@dataclass(frozen=True, slots=True)
class Counterfactual:
    source: str
    rules: Rescoring
    agents: tuple[RescoredAgent, ...]
    changed: tuple[ChangedVerdict, ...]
    label: str = LABEL
    schema: str = SCHEMA

    def to_json(self) -> dict[str, Any]:
        data: dict[str, Any] = to_json(self)
        return {"schema": data.pop("schema"), "label": data.pop("label"), **data}


def rescore(results: ResultSet, rules: Rescoring) -> Counterfactual:
    if not results.lines:
        raise OperatorFault(f"{results.source} has no result to rescore")
    unknown_graders = set(rules.weights) - {
        str(grade.get("name")) for line in results.lines for grade in _grades(line)
    }
    if unknown_graders:
        raise OperatorFault(f"no result has a grader {', '.join(sorted(unknown_graders))}")
    pairs = [
        (line, *_rescore(line, context, rules))
        for line, context in zip(results.lines, results.contexts, strict=True)
    ]
    after = replace(results, lines=tuple({**line, "verdict": verdict} for line, verdict, _ in pairs))
    trials = trials_of(results)
    before, counterfactual = (by_agent(one.records) for one in (trials, trials_of(after)))
    if not before:
        kind = "contracts that were taken out of the study" if trials.removed else "honeypots"
        raise OperatorFault(f"{results.source} has trials of {kind} alone: there is no rate to rescore")
    counted = {
        one.run for each in before.values() for one in each
    }  # no honeypots, and no attempts that were repeated
    changed = tuple(
        ChangedVerdict(str(line.get("run")), str(line["contract"].get("id")), str(line.get("agent")), line["verdict"], verdict, why)
        for line, verdict, why in pairs
        if verdict != line["verdict"] and line.get("run") in counted
    )  # fmt: skip
    _check_dimensions(rules, [one for each in before.values() for one in each])
    agents = tuple(_agent(name, before[name], counterfactual[name], rules) for name in before)
    return Counterfactual(results.source, rules, agents, changed)


def _check_dimensions(rules: Rescoring, records: Sequence[TrialRecord]) -> None:
    recorded = sorted({name for one in records for name in one.quality_dimensions})
    for name in rules.quality_weights:
        if name not in recorded:
            listed = ", ".join(recorded) or "none"
            raise OperatorFault(f"no result has a dimension of quality {name}; recorded: {listed}")


def _agent(
    name: str, before: Sequence[TrialRecord], after: Sequence[TrialRecord], rules: Rescoring
) -> RescoredAgent:
    primary, counterfactual = (
        rate_of([one for one in side if one.is_decided], lambda one: one.succeeded)
        for side in (before, after)
    )
    undecided = sum(not one.is_decided for one in after)
    found = RescoredAgent(name, primary, counterfactual, undecided, len(after))
    if not rules.quality_weights:
        return found
    other = mean_quality(after, lambda one: quality_under(one, rules.quality_weights))
    return replace(found, quality=mean_quality(before), counterfactual_quality=other)


def _rescore(line: Line, context: RunContext | None, rules: Rescoring) -> tuple[str, str]:
    """The verdict under other rules, and why it differs."""
    verdict = str(line["verdict"])
    if CATEGORY[verdict] not in {"success", "failure"}:
        return verdict, ""
    found = [each for name, cap in rules.caps.items() if (each := _under_cap(line, context, name, cap))]
    if found:  # one cap that stops a run is enough, whatever is not known of the others
        return next((each for each in found if each[0] == "fail"), found[0])
    if rules.weights or rules.threshold is not None:
        return _rescored_by_score(line, context, rules)
    return verdict, ""


def _under_cap(line: Line, context: RunContext | None, name: str, cap: float) -> tuple[str, str] | None:
    """The verdict that one other cap would have led to, and why; None where it changes nothing."""
    stopped = line.get("termination") == _STOPPED_BY[name]
    used = _used(line, context, name)
    if stopped and (used is None or cap > _old_cap(context, name, used)):
        return "error", f"{name}: the run was stopped by the old cap, and {cap:g} would have let it go on"
    if used is None:
        return "error", f"{name} is not known"
    return ("fail", f"{name} {used:g} is above {cap:g}") if used > cap else None


def _old_cap(context: RunContext | None, name: str, used: float) -> float:
    """What was enforced; where that is not known, what the run used."""
    cap = context.caps.get(name) if context else None
    return float(cap) if isinstance(cap, int | float) else used


def _used(line: Line, context: RunContext | None, name: str) -> float | None:
    if name == "wall_s":
        durations = line.get("durations")
        found = durations if isinstance(durations, dict) else {}
        return (
            _number(found.get("working_s"))
            if found.get("working_s") is not None
            else _number(found.get("wall_s"))
        )
    if name == "cost_usd":
        cost = line.get("cost")
        return _number(cost.get("usd")) if isinstance(cost, dict) else None
    if context is None:
        return None
    if name == "tokens":
        known = context.tokens_in is not None and context.tokens_out is not None
        return float((context.tokens_in or 0) + (context.tokens_out or 0)) if known else None
    return None if context.tool_calls is None else float(context.tool_calls)


def _rescored_by_score(line: Line, context: RunContext | None, rules: Rescoring) -> tuple[str, str]:
    verdict = str(line["verdict"])
    if line.get("patch_verdict") is not None:
        return verdict, ""  # a cap stopped it, whatever its score
    failed = [grade for grade in _grades(line) if blocks(grade)]
    gates = line.get("gates")
    others = (
        [name for name, outcome in gates.items() if name != "acceptance" and outcome != "pass"]
        if isinstance(gates, dict)
        else []
    )
    if failed or others:
        return verdict, ""
    recorded = context.pass_threshold if context else None
    threshold = rules.threshold if rules.threshold is not None else recorded
    score = _score(line, rules.weights)
    if threshold is None:
        raise OperatorFault("these results do not say their threshold; write one with --threshold")
    if score is None:
        return "ungraded", "no grader with a weight applied"
    after = "pass" if score >= threshold - _EPSILON else "fail"
    return after, f"score {score:.4g} against {threshold:g}"


def _score(line: Line, weights: Mapping[str, float]) -> float | None:
    """The weighted mean of grades that applied and were decided."""
    total = weight_sum = 0.0
    for grade in _grades(line):
        weight = weights.get(str(grade.get("name")), _number(grade.get("weight")) or 0.0)
        score = _number(grade.get("score"))
        is_weighed = not grade.get("gate") and grade.get("outcome") in {"pass", "fail"}
        if weight and score is not None and is_weighed:
            total += weight * score
            weight_sum += weight
    return total / weight_sum if weight_sum else None


def _grades(line: Line) -> list[Mapping[str, Any]]:
    grades = line.get("grades")
    return [one for one in grades if isinstance(one, dict)] if isinstance(grades, list) else []


def _number(value: Any) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return float(value) if is_number else None

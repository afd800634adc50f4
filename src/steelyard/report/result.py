"""Evidence and a grading -> the result line that `run` and `grade` print: stable keys, one JSON object a line.

{"schema": "steelyard.result/1", "run": "...", "contract": {"id", "digest"}, "agent": "noop",
 "status": "scorable", "acceptance": "failure", "termination": "completed", "verdict": "fail", ...}
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from steelyard.deferred.named_tuple import NamedTuple
from steelyard.errors import OperatorFault
from steelyard.evidence.cost import UNKNOWN_JUDGE, cost_items
from steelyard.evidence.evidence import Evidence
from steelyard.evidence.folder.annotations import reviewed_minutes
from steelyard.evidence.folder.folder import ANNOTATIONS_HEAD
from steelyard.evidence.trace.summary import Summary
from steelyard.evidence.trace.termination import CODES
from steelyard.judge import judgement
from steelyard.report import judge_card
from steelyard.review import record as review_record
from steelyard.review import status

SCHEMA = "steelyard.result/1"
VERDICTS = ("pass", "fail", "error", "ungraded", "invalid")
MOST_LISTED = 50  # alerts, and interventions
_OF_ALERT = ("event", "code", "stage", "severity", "action", "monitor", "rule", "format", "why")
_OF_INTERVENTION = ("event", "action", "code", "alert", "by", "delay_s")
_TEXT = {"type": "string"}
USAGE = (
    "tokens_in",
    "tokens_out",
    "cache_read",
    "cache_write",
    "model_calls",
    "tool_calls",
    "test_cycles",
)
_FRACTION = {"type": ["number", "null"], "minimum": 0, "maximum": 1}


def result_line(evidence: Evidence, grading: Mapping[str, Any], gradings: int = 0) -> dict[str, Any]:
    """The result of one run, from its sealed evidence and one of its gradings; there are at least so many of them."""
    verdict, number = grading["verdict"], grading["number"]
    manifest = evidence.manifest
    gates = verdict["gates"]
    review, by_people = _reviewed(evidence)
    return {
        "schema": SCHEMA,
        "run": evidence.folder.run_id,
        "trial": manifest.get("trial", {}).get("id"),
        "attempt": manifest.get("trial", {}).get("attempt"),
        "study": manifest.get("study"),
        "contract": {"id": grading["contract"]["id"], "digest": grading["contract"]["digest"]},
        "grading": {"number": number, "of": max(number, gradings), "regrade": number > 1},
        "agent": manifest.get("agent", {}).get("name"),
        "repeat": manifest.get("seeds", {}).get("repeat"),
        "fault": None,
        "status": verdict["status"],
        "reason": verdict["reason"],
        "acceptance": verdict["acceptance"],
        "termination": evidence.termination,
        "rationale": evidence.rationale,
        "stopped_by": evidence.summary.stopped_by,
        "verdict": verdict["verdict"],
        "checks": verdict["checks"],
        "badge": verdict["badge"],
        "gates": None if gates is None else {name: gate["outcome"] for name, gate in gates.items()},
        "why": None if gates is None else {name: gate["why"] for name, gate in gates.items()},
        "score": verdict["score"],
        "mean_score": verdict["mean_score"],
        "reward": verdict["reward"],
        "patch_verdict": verdict.get("patch_verdict"),
        "patch_reward": verdict.get("patch_reward"),
        "quality": verdict.get("quality"),
        "contract_score": verdict.get("contract_score"),
        "subscores": verdict.get("subscores"),
        "penalty": verdict.get("penalty") or None,
        "validity": (grading.get("evaluation") or {}).get("validity"),
        "judge": verdict["judge"],
        "disagreement": verdict.get("disagreement", "none"),
        "breakdown": _breakdown(grading),
        "tags": verdict["tags"],
        "failure_modes": verdict.get("failure_modes", []),
        "error_taxonomy": [*((grading.get("evaluation") or {}).get("error_taxonomy") or ()), *by_people],
        "review": review,
        "workspace": manifest.get("workspace", "code"),
        "turns": evidence.summary.turns,
        "steps": verdict.get("steps", []),
        "grades": [_public(grade) for grade in grading["grades"]],
        "findings": verdict["findings"],
        "assurance": grading["assurance"],
        "refused": None,
        "cost": {
            "usd": evidence.cost_usd,
            "units": evidence.summary.models.units,
            "method": evidence.summary.cost_method,
            "items": cost_items(evidence, reviewed_minutes(evidence.folder), judge_cost_of(grading)),
        },
        "usage": _usage(evidence),
        **_listed(evidence.summary),
        "durations": evidence.durations,
        "folder": str(evidence.folder.path),
    }


def judge_cost_of(grading: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """As it was recorded; of an older grading that a model judged it is not known."""
    if "judge_cost" not in grading and grading["verdict"]["judge"] is not None:
        return UNKNOWN_JUDGE
    return grading.get("judge_cost")


class _ReviewStatus(NamedTuple):
    status: dict[str, Any] | None  # None: no person has annotated the run
    errors: list[dict[str, Any]]  # what people say went wrong


def _reviewed(evidence: Evidence) -> _ReviewStatus:
    """What people decided, beside the verdict."""
    if not evidence.folder.file(ANNOTATIONS_HEAD).exists():
        return _ReviewStatus(None, [])
    try:
        entries = review_record.list_annotations(evidence.folder)
    except OperatorFault as fault:
        return _ReviewStatus({**status.review_status(()).to_json(), "broken": str(fault)}, [])
    errors = [tag.model_dump(mode="json") for tag in review_record.errors_by_people(entries)]
    return _ReviewStatus({**status.review_status(entries).to_json(), "broken": None}, errors)


def _listed(summary: Summary) -> dict[str, Any]:
    """Alerts and interventions in short, and how many are left out; `report.json` has each in full.

    Every alert that one of the interventions names is among them, however many others came before.
    """
    interventions = summary.interventions[:MOST_LISTED]
    shown = {one["event"] for one in summary.alerts[:MOST_LISTED]}
    shown |= {summary.alert, *(one.get("alert") for one in interventions)}
    alerts = [one for one in summary.alerts if one["event"] in shown]
    more = summary.left_out
    return {
        "alerts": _short(alerts, _OF_ALERT),
        "interventions": _short(interventions, _OF_INTERVENTION),
        "left_out": {
            "alerts": len(summary.alerts) - len(alerts) + more["monitor.alert"],
            "interventions": len(summary.interventions) - len(interventions) + more["intervention"],
        },
    }


def _short(listed: Sequence[Mapping[str, Any]], names: tuple[str, ...]) -> list[dict[str, Any]]:
    return [{name: one.get(name) for name in names} for one in listed]


def _usage(evidence: Evidence) -> dict[str, int | None]:
    """Tokens and model calls, as the gateway metered them; tool calls and test runs, as the agent reported them. Null: unknown."""
    models, counts = evidence.summary.models, evidence.counts
    calls = counts["tool_calls"]
    tokens_in, tokens_out = models.usage or (None, None)
    return {
        "tokens_in": tokens_in,
        "tokens_out": tokens_out,
        "cache_read": None if models.usage is None else models.parts["cache_read"],
        "cache_write": None if models.usage is None else models.parts["cache_write"],
        "model_calls": None if models.usage is None and not models.calls else models.calls,
        "tool_calls": None if calls is None else sum(calls.values()),
        "test_cycles": counts["test_cycles"],
    }


def _public(grade: Mapping[str, Any]) -> dict[str, Any]:
    """The grade without output that may show a hidden file: a result line may reach an agent."""
    return {**grade, "output_tail": ""} if grade.get("hidden") is not False else dict(grade)


def _breakdown(grading: Mapping[str, Any]) -> Any:
    """A verifier's details; those of steps stand in `steps` already."""
    evaluation = grading.get("evaluation") or {}
    return None if grading["verdict"].get("steps") else evaluation.get("breakdown")


def result_schema() -> dict[str, Any]:
    """The JSON Schema of a result line; keys may be added to it, never taken away."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Steelyard result line",
        **_object({**_run_schema(), **_decision_schema(), **_record_schema()}),
    }


def _run_schema() -> dict[str, Any]:
    """Which run and grading this is, and how the run ended."""
    return {
        "schema": {"const": SCHEMA},
        "run": {
            "type": ["string", "null"]
        },  # this, `folder` and others are null in the line of a trial without a run
        "trial": {"type": ["string", "null"]},
        "attempt": {"type": ["integer", "null"], "minimum": 1},
        "study": _or_null(_object(dict.fromkeys(("digest", "name", "stage", "stratum"), _TEXT))),
        "contract": _object({"id": _TEXT, "digest": {"type": "string", "pattern": "^[0-9a-f]{64}$"}}),
        "grading": _or_null(
            _object(
                {
                    "number": {"type": "integer", "minimum": 1},
                    "of": {"type": "integer", "minimum": 1},
                    "regrade": {"type": "boolean"},
                }
            )
        ),
        "agent": {"type": ["string", "null"]},
        "repeat": {"type": ["integer", "null"]},
        "fault": {"enum": ["contract", "operator", "infrastructure", None]},
        "status": {"enum": ["scorable", "invalid"]},
        "reason": _TEXT,
        "acceptance": {"enum": ["success", "failure", "acceptance_error", None]},
        "termination": {"enum": [*CODES, None]},
        "stopped_by": {"type": ["string", "null"]},
        "rationale": _TEXT,
    }


def _decision_schema() -> dict[str, Any]:
    """The verdict, and what it follows from."""
    gate = {"enum": ["pass", "fail", "error"]}
    gates = ("patch", "build", "acceptance", "safety")
    return {
        "verdict": {"enum": list(VERDICTS)},
        "checks": {"enum": ["PASS", "FAIL", "UNGRADED"]},
        "badge": {"enum": ["PASS", "FAIL", "INVALID"]},
        "gates": _or_null(_object(dict.fromkeys(gates, gate))),
        "why": _or_null(_object(dict.fromkeys(gates, _TEXT))),
        "score": _FRACTION,
        "mean_score": _FRACTION,
        "reward": _FRACTION,
        "patch_verdict": {"enum": [*VERDICTS, None]},
        "patch_reward": _FRACTION,
        "quality": _or_null(
            _object({"score": _FRACTION, "weights": {"type": "object"}, "dimensions": {"type": "object"}})
        ),
        "contract_score": _or_null(_object({"score": _FRACTION, "validity": _FRACTION, "violation": _TEXT})),
        "subscores": _or_null(
            _object(dict.fromkeys(("functional", "patch_validity", "safety", "efficiency"), _FRACTION))
        ),
        "penalty": {"type": ["string", "null"]},
        "validity": _or_null(_validity_schema()),
        "judge": _or_null(_judge_schema()),
        "disagreement": {"enum": list(judge_card.MEANING)},
        "breakdown": {"type": ["object", "null"]},
        "tags": {"type": "array", "items": _TEXT},
        "failure_modes": {"type": "array", "items": _failure_mode_schema()},
        "error_taxonomy": {"type": "array", "items": _error_schema()},
        "review": _or_null(_review_schema()),
    }


def _record_schema() -> dict[str, Any]:
    """What the run did and cost, and how far its result can be trusted."""
    return {
        "workspace": {"enum": ["code", "none"]},
        "turns": {"type": "integer", "minimum": 0},
        "steps": {"type": "array", "items": _step_schema()},
        "grades": {"type": "array", "items": _grade_schema()},
        "findings": {"type": "array", "items": _finding_schema()},
        "assurance": _or_null(_assurance_schema()),
        "refused": {"type": ["string", "null"]},
        "cost": _object(
            {
                "usd": {"type": ["number", "null"], "minimum": 0},
                "units": {"type": ["number", "null"], "minimum": 0},
                "method": {"type": ["string", "null"]},
                "items": {"type": ["object", "null"]},
            }
        ),
        "usage": _object({name: {"type": ["integer", "null"], "minimum": 0} for name in USAGE}),
        "alerts": {"type": "array", "items": {"type": "object"}},
        "interventions": {"type": "array", "items": {"type": "object"}},
        "left_out": _object({key: {"type": "integer", "minimum": 0} for key in ("alerts", "interventions")}),
        "durations": {"type": "object"},
        "folder": {"type": ["string", "null"]},
    }


def _validity_schema() -> dict[str, Any]:
    flags = ("output_parseable", "schema_valid", "verifier_completed")
    errors = {"type": "array", "items": _TEXT}
    return _object({**{flag: {"type": "boolean"} for flag in flags}, "errors": errors})


def _failure_mode_schema() -> dict[str, Any]:
    evidence = {"type": "array", "items": _TEXT, "minItems": 1}
    return _object({"id": _TEXT, "evidence": evidence, "why": _TEXT, "attributes": {"type": "object"}})


def _error_schema() -> dict[str, Any]:
    source = {"enum": ["mechanical", "human", "judge"]}
    return _object({"category": _TEXT, "description": {"type": ["string", "null"]}, "source": source})


def _review_schema() -> dict[str, Any]:
    count = {"type": "integer", "minimum": 0}
    return _object(
        {
            "decision": {"enum": ["none", "pass", "fail", "defer", "disputed"]},
            "by": {"enum": ["none", "reviewers", "adjudication"]},
            "reviewers": count,
            "annotations": count,
            "agreement": _FRACTION,
            "minutes": {"type": ["number", "null"], "minimum": 0},
            "unmeasured": count,
            "broken": {"type": ["string", "null"]},
        }
    )


def _or_null(schema: dict[str, Any]) -> dict[str, Any]:
    return {"oneOf": [{"type": "null"}, schema]}


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties)}


def _grade_schema() -> dict[str, Any]:
    return _object(
        {
            "name": _TEXT,
            "type": _TEXT,
            "outcome": {"enum": ["pass", "fail", "error", "not_applicable"]},
            "score": _FRACTION,
            "required": {"type": "boolean"},
            "disqualifies": {"type": "boolean"},
            "why": _TEXT,
            "output_tail": _TEXT,  # "" where `hidden`
            "hidden": {"type": "boolean"},
        }
    )


def _judge_schema() -> dict[str, Any]:
    """Null where no model was asked."""
    return _object(
        {
            "verdict": {"enum": ["PASS", "FAIL", "UNPARSEABLE", "N/A"]},
            "why": _TEXT,
            "failure_mode": {"type": ["string", "null"]},
            "scores": {"type": "object", "properties": _scores("number")},
            "split": {"type": "boolean"},
            "steered": {"type": "boolean"},
            "agreement": _FRACTION,
            "opinions": {"type": "array", "items": _opinion_schema()},
        }
    )


def _opinion_schema() -> dict[str, Any]:
    count = {"type": ["integer", "null"], "minimum": 0}
    fact = _object({"claim": _TEXT, "supported": {"type": "boolean"}, "evidence": _TEXT})
    return _object(
        {
            "model": _TEXT,
            "verdict": {"enum": ["PASS", "FAIL", "UNPARSEABLE"]},
            "scores": {"type": "object", "properties": _scores("integer")},
            "failure_mode": {"type": ["string", "null"]},
            "reasoning": _TEXT,
            "facts": {"type": "array", "items": fact},
            "steered": {"type": "boolean"},
            "reused": {"type": "boolean"},
            "error": _TEXT,
            "question": _TEXT,
            "at": _TEXT,
            "tokens_in": count,
            "tokens_out": count,
        }
    )


def _scores(kind: str) -> dict[str, Any]:
    """All three of an opinion that could be read, none of another."""
    return {name: {"type": kind, "minimum": 1, "maximum": 5} for name in judgement.RUBRIC}


def _step_schema() -> dict[str, Any]:
    return _object(
        {
            "name": _TEXT,
            "outcome": {"enum": ["pass", "fail", "error", "not_run"]},
            "reward": _FRACTION,
            "why": _TEXT,
            "ended": {"enum": [*CODES, None]},
        }
    )


def _finding_schema() -> dict[str, Any]:
    return _object(
        {
            "id": _TEXT,
            "severity": {"enum": ["info", "warning", "violation"]},
            "where": _TEXT,
            "why": _TEXT,
        }
    )


def _assurance_schema() -> dict[str, Any]:
    schema = _object(
        {
            "isolation": {"enum": ["none", "bubblewrap", "container", "vm"]},
            "tree": {"enum": ["live", "fresh"]},
            "oracle": {"enum": ["in_process", "twin", "split"]},
            "control_coverage": {"type": "number", "minimum": 0, "maximum": 1},
            "chance": {"type": ["number", "null"], "minimum": 0, "maximum": 1},
            "runner": {"enum": ["judge", "candidate", "exit_code", "verifier", "report_file", "reporter"]},
            "network": _TEXT,
            "limits": {"type": "object", "additionalProperties": _TEXT},
            "findings": {"type": "integer", "minimum": 0},
        }
    )
    named = {"type": "array", "items": _TEXT}
    schema["properties"]["allowed_hosts"] = {  # only where there are some
        "type": "object",
        "properties": {"agent": named, "checks": named},
    }
    return schema

"""Evidence and a grading -> the result line that `run` and `grade` print: stable keys, one JSON object a line.

{"schema": "steelyard.result/1", "run": "...", "contract": {"id", "digest"}, "agent": "noop",
 "status": "scorable", "acceptance": "failure", "termination": "completed", "verdict": "fail", ...}
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from steelyard.evidence.evidence import Evidence
from steelyard.evidence.trace.termination import CODES
from steelyard.judge.judgement import RUBRIC
from steelyard.report.disagreement import MEANING

SCHEMA = "steelyard.result/1"
VERDICTS = ("pass", "fail", "error", "ungraded", "invalid")


def result_line(evidence: Evidence, grading: Mapping[str, Any], gradings: int = 0) -> dict[str, Any]:
    """The result of one run, from its sealed evidence and one of its gradings; there are at least so many of them."""
    verdict, number = grading["verdict"], grading["number"]
    manifest = evidence.manifest
    gates = verdict["gates"]
    return {
        "schema": SCHEMA,
        "run": evidence.folder.run_id,
        "contract": {"id": grading["contract"]["id"], "digest": grading["contract"]["digest"]},
        "grading": {"number": number, "of": max(number, gradings), "regrade": number > 1},
        "agent": manifest.get("agent", {}).get("name"),
        "repeat": manifest.get("seeds", {}).get("repeat"),
        "status": verdict["status"],
        "reason": verdict["reason"],
        "acceptance": verdict["acceptance"],
        "termination": evidence.termination,
        "rationale": evidence.rationale,
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
        "validity": (grading.get("evaluation") or {}).get("validity"),
        "judge": verdict["judge"],
        "disagreement": verdict.get("disagreement", "none"),
        "breakdown": _breakdown(grading),
        "tags": verdict["tags"],
        "workspace": manifest.get("workspace", "code"),
        "turns": evidence.summary.turns,
        "steps": verdict.get("steps", []),
        "grades": [_public(grade) for grade in grading["grades"]],
        "findings": verdict["findings"],
        "assurance": grading["assurance"],
        "refused": None,
        "cost": {"usd": evidence.cost_usd},
        "durations": evidence.durations,
        "folder": str(evidence.folder.path),
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
    fraction = {"type": ["number", "null"], "minimum": 0, "maximum": 1}
    text = {"type": "string"}
    gate = {"enum": ["pass", "fail", "error"]}
    gates = ("patch", "build", "acceptance", "safety")
    properties: dict[str, Any] = {
        "schema": {"const": SCHEMA},
        "run": {"type": "string"},
        "contract": _object(
            {"id": {"type": "string"}, "digest": {"type": "string", "pattern": "^[0-9a-f]{64}$"}}
        ),
        "grading": _object(
            {
                "number": {"type": "integer", "minimum": 1},
                "of": {"type": "integer", "minimum": 1},
                "regrade": {"type": "boolean"},
            }
        ),
        "agent": {"type": ["string", "null"]},
        "repeat": {"type": ["integer", "null"]},
        "status": {"enum": ["scorable", "invalid"]},
        "reason": {"type": "string"},
        "acceptance": {"enum": ["success", "failure", "acceptance_error", None]},
        "termination": {"enum": list(CODES)},
        "rationale": {"type": "string"},
        "verdict": {"enum": list(VERDICTS)},
        "checks": {"enum": ["PASS", "FAIL", "UNGRADED"]},
        "badge": {"enum": ["PASS", "FAIL", "INVALID"]},
        "gates": {"oneOf": [{"type": "null"}, _object(dict.fromkeys(gates, gate))]},
        "why": {"oneOf": [{"type": "null"}, _object(dict.fromkeys(gates, text))]},
        "score": fraction,
        "mean_score": fraction,
        "reward": fraction,
        "patch_verdict": {"enum": [*VERDICTS, None]},
        "patch_reward": fraction,
        "validity": {"oneOf": [{"type": "null"}, _validity_schema()]},
        "judge": {"oneOf": [{"type": "null"}, _judge_schema(fraction)]},
        "disagreement": {"enum": list(MEANING)},
        "breakdown": {"type": ["object", "null"]},
        "tags": {"type": "array", "items": {"type": "string"}},
        "workspace": {"enum": ["code", "none"]},
        "turns": {"type": "integer", "minimum": 0},
        "steps": {"type": "array", "items": _step_schema(fraction)},
        "grades": {"type": "array", "items": _grade_schema(fraction)},
        "findings": {"type": "array", "items": _finding_schema()},
        "assurance": _assurance_schema(),
        "refused": {"type": ["string", "null"]},
        "cost": _object({"usd": {"type": ["number", "null"], "minimum": 0}}),
        "durations": {"type": "object"},
        "folder": {"type": "string"},
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Steelyard result line",
        **_object(properties),
    }


def _validity_schema() -> dict[str, Any]:
    flags = ("output_parseable", "schema_valid", "verifier_completed")
    errors = {"type": "array", "items": {"type": "string"}}
    return _object({**{flag: {"type": "boolean"} for flag in flags}, "errors": errors})


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties)}


def _grade_schema(fraction: dict[str, Any]) -> dict[str, Any]:
    return _object(
        {
            "name": {"type": "string"},
            "type": {"type": "string"},
            "outcome": {"enum": ["pass", "fail", "error", "not_applicable"]},
            "score": fraction,
            "required": {"type": "boolean"},
            "why": {"type": "string"},
            "output_tail": {"type": "string"},  # "" where `hidden`
            "hidden": {"type": "boolean"},
        }
    )


def _judge_schema(fraction: dict[str, Any]) -> dict[str, Any]:
    """Null where nobody was asked."""
    return _object(
        {
            "verdict": {"enum": ["PASS", "FAIL", "UNPARSEABLE", "N/A"]},
            "why": {"type": "string"},
            "failure_mode": {"type": ["string", "null"]},
            "scores": {"type": "object", "properties": _scores("number")},
            "split": {"type": "boolean"},
            "steered": {"type": "boolean"},
            "agreement": fraction,
            "opinions": {"type": "array", "items": _opinion_schema()},
        }
    )


def _opinion_schema() -> dict[str, Any]:
    text, count = {"type": "string"}, {"type": ["integer", "null"], "minimum": 0}
    fact = _object({"claim": text, "supported": {"type": "boolean"}, "evidence": text})
    return _object(
        {
            "model": text,
            "verdict": {"enum": ["PASS", "FAIL", "UNPARSEABLE"]},
            "scores": {"type": "object", "properties": _scores("integer")},
            "failure_mode": {"type": ["string", "null"]},
            "reasoning": text,
            "facts": {"type": "array", "items": fact},
            "steered": {"type": "boolean"},
            "reused": {"type": "boolean"},
            "error": text,
            "question": text,
            "at": text,
            "tokens_in": count,
            "tokens_out": count,
        }
    )


def _scores(kind: str) -> dict[str, Any]:
    """All three of an opinion that could be read, none of another."""
    return {name: {"type": kind, "minimum": 1, "maximum": 5} for name in RUBRIC}


def _step_schema(fraction: dict[str, Any]) -> dict[str, Any]:
    return _object(
        {
            "name": {"type": "string"},
            "outcome": {"enum": ["pass", "fail", "error", "not_run"]},
            "reward": fraction,
            "why": {"type": "string"},
            "ended": {"enum": [*CODES, None]},
        }
    )


def _finding_schema() -> dict[str, Any]:
    return _object(
        {
            "id": {"type": "string"},
            "severity": {"enum": ["info", "warning", "violation"]},
            "where": {"type": "string"},
            "why": {"type": "string"},
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
            "network": {"type": "string"},
            "limits": {"type": "object", "additionalProperties": {"type": "string"}},
            "findings": {"type": "integer", "minimum": 0},
        }
    )
    named = {"type": "array", "items": {"type": "string"}}
    schema["properties"]["allowed_hosts"] = {  # only where there are some
        "type": "object",
        "properties": {"agent": named, "checks": named},
    }
    return schema

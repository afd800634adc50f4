"""The JSON Schema of what `steelyard show RUN --why --json` prints: gates, their outcomes, and evidence pointers."""

from __future__ import annotations

from typing import Any

from steelyard.report.explanation.explain import GATES, SCHEMA

_TEXT = {"type": "string"}
POINTER = (
    "a file of the run folder; after `#` an event's seq (events.jsonl#12), a test id, a path of the change, "
    "or the name of a grade (gradings#lint)"
)


def explanation_schema() -> dict[str, Any]:
    gates = [f"gate {number} {name}" for name, (number, _) in GATES.items()]
    node = {
        "type": "object",
        "additionalProperties": False,
        "required": ["what", "value", "why", "evidence", "quote", "parts"],
        "properties": {
            "what": _TEXT,
            "value": {"type": ["number", "string", "boolean", "null"]},
            "why": _TEXT,
            "evidence": {
                "type": "array",
                "items": {"type": "string", "minLength": 1, "description": POINTER},
            },
            "quote": {**_TEXT, "description": "a line of the transcript"},
            "parts": {"type": "array", "items": {"$ref": "#/$defs/node"}},
        },
        "allOf": [
            {
                "if": {"properties": {"what": {"enum": gates}}},
                "then": {"properties": {"value": {"enum": ["pass", "fail", "error"]}}},
            },
            {
                "if": {"properties": {"what": {"const": "reward"}}},
                "then": {"properties": {"value": {"type": ["number", "null"], "minimum": 0, "maximum": 1}}},
            },
        ],
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Steelyard explanation of a verdict",
        "type": "object",
        "additionalProperties": False,
        "required": ["schema", "run", "grading", "consistent", "tree", "beside"],
        "properties": {
            "schema": {"const": SCHEMA},
            "run": _TEXT,
            "grading": {"type": "integer", "minimum": 1},
            "consistent": {"type": "boolean"},
            "tree": {"$ref": "#/$defs/node"},
            "beside": {"type": "array", "items": {"$ref": "#/$defs/node"}},
        },
        "$defs": {"node": node},
    }

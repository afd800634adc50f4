"""The models and the grader catalogue -> JSON Schema of contract.yaml, for editors.

# yaml-language-server: $schema=contract.schema.json
"""

from __future__ import annotations

from typing import Any

from pydantic import TypeAdapter

from steelyard.contract.catalogue import Catalogue, GraderType
from steelyard.contract.model import ContractSpec
from steelyard.contract.parse.entries import CheckKeys, GraderKeys

_NONE = {"required": ["workspace"], "properties": {"workspace": {"const": "none"}}}
_STEPS = {"required": ["steps"], "properties": {"steps": {"minItems": 1}}}
_CHECKED = {
    "required": ["oracle"],
    "properties": {"oracle": {"required": ["checks"], "properties": {"checks": {"minItems": 1}}}},
}
# What each kind of contract needs, and what it cannot have.
_SHAPES: list[dict[str, Any]] = [
    {
        "if": _NONE,
        "then": {"properties": dict.fromkeys(("repository", "build"), False)},
        "else": {"required": ["repository"], "properties": {"answer": False}},
    },
    {"anyOf": [_NONE, _STEPS, _CHECKED]},
]
DIALECT = "https://json-schema.org/draft/2020-12/schema"


def contract_schema(catalogue: Catalogue) -> dict[str, Any]:
    """Everything that the loader accepts by shape; what needs the repository it cannot know."""
    schema = ContractSpec.model_json_schema(by_alias=True)
    definitions = schema["$defs"]
    checks = [kind for _, kind in sorted(catalogue.types.items()) if kind.EXECUTES]
    graders = [kind for _, kind in sorted(catalogue.types.items())]
    any_check = {"anyOf": [_entry(kind, CheckKeys, definitions) for kind in checks]}
    definitions["Oracle"]["properties"]["checks"]["items"] = any_check
    definitions["Step"]["properties"]["checks"]["items"] = any_check
    schema["properties"]["graders"]["items"] = {
        "anyOf": [_entry(kind, GraderKeys, definitions) for kind in graders]
    }
    definitions["EnvironmentSpec"]["properties"]["env"]["additionalProperties"] = (
        False  # the pattern is all there is
    )
    schema["oneOf"] = [
        {"required": ["brief"]},
        {"required": ["brief_file"]},
        {"required": ["steps"], "properties": {"steps": {"minItems": 1}}},
    ]
    schema["allOf"] = _SHAPES
    definitions["Step"]["oneOf"] = [{"required": ["brief"]}, {"required": ["brief_file"]}]
    return {
        "$schema": DIALECT,
        "title": "Steelyard contract",
        **{k: v for k, v in schema.items() if k != "title"},
    }


def _entry(
    kind: type[GraderType], keys: type[CheckKeys | GraderKeys], definitions: dict[str, Any]
) -> dict[str, Any]:
    """One grader type as an entry: the common keys and its options side by side."""
    common = keys.model_json_schema()
    options = TypeAdapter(kind).json_schema(ref_template="#/$defs/{model}")
    definitions.update(options.pop("$defs", {}))
    required = list(options.get("required", []))
    properties = {**common["properties"], "type": {"const": kind.TYPE}, **options["properties"]}
    entry: dict[str, Any] = {
        "type": "object",
        "title": kind.TYPE,
        "description": (kind.__doc__ or "").strip().partition("\n")[0],
        "additionalProperties": False,
        "properties": properties,
    }
    if "cmd" in options["properties"]:
        properties["command"] = properties["cmd"]
        if "cmd" in required:
            required.remove("cmd")
            entry["oneOf"] = [{"required": ["cmd"]}, {"required": ["command"]}]
        else:
            entry["not"] = {"required": ["cmd", "command"]}
    if not (keys is CheckKeys and kind.TYPE == "command"):
        required.append("type")
    return {**entry, "required": required}

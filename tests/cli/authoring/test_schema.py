"""`steelyard schema`: what editors and readers of results need."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import jsonschema


def test_the_schema_of_a_contract_names_every_grader_type(steelyard: Callable[..., Any]) -> None:
    result = steelyard("schema")
    schema = json.loads(result.out)
    jsonschema.Draft202012Validator.check_schema(schema)
    assert result.code == 0
    assert "allowed_paths" in {kind["title"] for kind in schema["properties"]["graders"]["items"]["anyOf"]}
    assert steelyard("schema", "contract", "--json").line == schema


def test_the_schema_of_a_result_is_printed_too(steelyard: Callable[..., Any]) -> None:
    schema = json.loads(steelyard("schema", "result").out)
    assert schema["properties"]["schema"] == {"const": "steelyard.result/1"}

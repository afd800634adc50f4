"""The schema for editors accepts what the loader accepts, and refuses misspelt keys as it does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from small_catalogue import SMALL
from test_contract_digest import FULL
from test_load_contract import MISTAKES

from steelyard.contract.schema import contract_schema
from steelyard.graders.catalogue import CATALOGUE

SCHEMA = contract_schema(SMALL)
# What only the loader can know: names, files, and how keys agree with each other.
BEYOND: tuple[str, ...] = (
    *(
        "two checks have",
        "two entries have",
        "every weight",
        "set exactly one of git",
        "git needs",
        "below guaranteed",
        "`history",
        "always",
    ),
    *("a gate has no weight", "not supported yet", "no check is", "`build: none`", "at 1.0 only"),
)


def valid(data: Any) -> bool:
    return jsonschema.Draft202012Validator(SCHEMA).is_valid(data)


def base(**keys: Any) -> dict[str, Any]:
    data = {
        "id": "a",
        "brief": "x",
        "repository": {"tree": "r"},
        "oracle": {"checks": [{"cmd": "x"}]},
        **keys,
    }
    return {key: value for key, value in data.items() if value is not ...}


def test_the_published_schema_is_a_valid_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    jsonschema.Draft202012Validator.check_schema(contract_schema(CATALOGUE))


@pytest.mark.parametrize(
    "data", [base(), base(**FULL), base(oracle={"checks": [{"command": "x"}]})], ids=["a", "b", "c"]
)
def test_a_contract_that_loads_is_valid(data: dict[str, Any]) -> None:
    assert valid(data)


def test_the_examples_are_valid() -> None:
    validator = jsonschema.Draft202012Validator(contract_schema(CATALOGUE))
    files = list((Path(__file__).parents[2] / "examples").glob("*/contract.yaml"))
    assert files
    for file in files:
        validator.validate(yaml.safe_load(file.read_text()))


@pytest.mark.parametrize(
    "keys", [keys for keys, _, message in MISTAKES if not any(words in message for words in BEYOND)], ids=str
)
def test_a_mistake_that_can_be_seen_in_the_file_is_invalid(keys: dict[str, Any]) -> None:
    assert not valid(base(**keys))

"""Failing work breaks what reads it, because an error leaves the success rate and a failure does not.

A verifier's contract may say what the output file is: JSON, YAML, a schema. Outputs that the reader could not cope with (a tag of YAML that
does not fit its value, a key with half of a character, nesting deeper than the schema's recursion) ended as errors or invalid runs. So
did an output that does not parse where the verifier gives partial credit, and an exception of JavaScript with half of a character.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from typing import Any

import pytest

from authoring import Author, Steelyard

PARTIAL = 'echo "{\\"reward\\": 0.4}" > /logs/verifier/reward.json\n'
NOTHING = 'echo "{\\"reward\\": 0.0}" > /logs/verifier/reward.json\n'
NESTED = (
    '{"$ref": "#/$defs/n", "$defs": {"n": {"type": ["object", "array"], '
    '"additionalProperties": {"$ref": "#/$defs/n"}, "items": {"$ref": "#/$defs/n"}}}}'
)
Tried = Callable[..., Any]


@pytest.fixture
def tried(author: Author, steelyard: Steelyard, script: Callable[[str], str]) -> Tried:
    def run(agent: str, verifier: str, kind: str, schema: str | None = None) -> Any:
        output = {"format": kind, **({"schema": "answer.schema.json"} if schema else {})}
        check = {
            "id": "verify",
            "type": "verifier",
            "script": "tests/test.sh",
            "timeout_s": 60,
            "expected_output_path": f"/workspace/out.{kind}",
            "output": output,
        }
        files = {"tests/test.sh": verifier, **({"answer.schema.json": schema} if schema else {})}
        folder = author.write(files, reward="verifier", oracle={"checks": [check]})
        line = steelyard("run", folder, "--agent", script(agent), "--json").line
        return line["status"], line["verdict"], line["reward"]

    return run


def test_an_output_that_does_not_parse_is_a_failure_although_the_verifier_gives_a_part(tried: Tried) -> None:
    """Partial credit would be a failure that counts; a file that does not parse made it an error that does not."""
    assert tried("echo '{' > out.json", PARTIAL, "json") == ("scorable", "fail", 0.0)


@pytest.mark.parametrize("text", ["!!timestamp foo", "!!bool x", '!!int ""'], ids=["time", "bool", "int"])
def test_a_tag_that_does_not_fit_its_value(text: str, tried: Tried) -> None:
    assert tried(f"echo '{text}' > out.yaml", NOTHING, "yaml") == ("scorable", "fail", 0.0)


def test_nesting_that_is_too_deep_for_a_recursive_schema(tried: Tried) -> None:
    deep = """/usr/bin/python3 -c 'print("[" * 300 + "]" * 300)' > out.json"""
    assert tried(deep, NOTHING, "json", NESTED) == ("scorable", "fail", 0.0)


def test_a_key_with_half_of_a_character(tried: Tried) -> None:
    agent = """printf '{"\\\\ud800": 3}' > out.json"""
    assert tried(agent, NOTHING, "json", NESTED) == ("scorable", "fail", 0.0)


@pytest.mark.skipif(shutil.which("node") is None, reason="no node")
def test_an_exception_of_javascript_with_half_of_a_character(
    author: Author, steelyard: Steelyard, script: Callable[[str], str]
) -> None:
    """Every test fails with a message that no record could hold."""
    suite = (
        "const test = require('node:test');\nconst assert = require('node:assert');\n"
        "const { add } = require('../calc.js');\n\ntest('adds', () => { assert.strictEqual(add(2, 3), 5); });\n"
    )
    check = {
        "id": "tests",
        "type": "tests",
        "cmd": "node --test test/",
        "timeout_s": 60,
        "inject": [{"src": "hidden/calc.test.js", "dest": "test/calc.test.js"}],
    }
    files = {"repo/calc.js": "exports.add = (a, b) => a - b;\n", "hidden/calc.test.js": suite}
    environment = {
        "toolchains": {"node": "20"},
        "memory_mb": {"guaranteed": 64, "limit": 1024},
        "disk_mb": 64,
    }
    folder = author.write(files, oracle={"checks": [check]}, environment=environment)
    agent = "echo \"exports.add = () => { throw new Error('\\\\ud800') };\" > calc.js; cat calc.js"
    line = steelyard("run", folder, "--agent", script(agent), "--json").line
    assert (line["status"], line["verdict"], line["reward"]) == ("scorable", "fail", 0.0)

"""Whether an output file parses as declared and has the shape that was asked for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.graders.checks.output_format import Format, Output, format_of_name, look

SCHEMA = b'{"type": "object", "required": ["drop"], "properties": {"drop": {"type": "number"}}}'


@pytest.mark.parametrize(
    ("kind", "text"),
    [("json", '{"a": 1}'), ("csv", "a,b\n1,2\n"), ("yaml", "a: 1\n"), ("text", "anything")],
)
def test_what_parses_as_declared_is_parseable(kind: Format, text: str) -> None:
    assert look(text.encode(), Output(kind), None) == (True, True, ())


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        *(("json", b"{"), ("json", b""), ("csv", b'a,b\n"1,2\n'), ("csv", b"a,b\n1\n"), ("csv", b"")),
        *(
            ("yaml", b"a: [1"),
            ("yaml", b"a: &x [1]\nb: *x\n"),
            ("text", b"\xff\xfe"),
            ("json", b"[" * 100_000),
        ),
    ],
)
def test_what_does_not_parse_is_not_and_says_why(kind: Format, data: bytes) -> None:
    looked = look(data, Output(kind), None)
    assert (looked.parseable, looked.schema_valid) == (False, False)
    assert looked.errors[0].startswith("not ")


def test_a_file_that_is_not_there_is_not_parseable() -> None:
    assert look(None, Output("text"), None).errors == ("the output file is missing",)


def test_a_schema_is_held_against_the_value() -> None:
    assert look(b'{"drop": 2.5}', Output("json", schema="s.json"), SCHEMA).schema_valid
    looked = look(b'{"drop": "2.5"}', Output("json", schema="s.json"), SCHEMA)
    assert (looked.parseable, looked.schema_valid) == (True, False)
    assert looked.errors[0].startswith("$.drop: ")


def test_a_pattern_is_searched_in_the_text() -> None:
    assert look(b"answer: 42\n", Output("text", pattern=r"answer: \d+"), None).schema_valid
    assert not look(b"no idea\n", Output("text", pattern=r"answer: \d+"), None).schema_valid


@given(st.sampled_from(["json", "csv", "yaml", "text"]), st.binary(max_size=300))
def test_no_bytes_raise(kind: Format, data: bytes) -> None:
    looked = look(data, Output(kind, schema="s.json"), SCHEMA)
    assert looked.parseable or not looked.schema_valid


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("out.json", "json"),
        ("A.CSV", "csv"),
        ("x.yml", "yaml"),
        ("x.yaml", "yaml"),
        ("x.md", None),
        ("json", None),
    ],
)
def test_the_suffix_of_a_file_names_its_format(path: str, kind: str | None) -> None:
    assert format_of_name(path) == kind

"""What a process reported is read strictly: a line that is not ours makes all of it worthless."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.bench.runners.node_story import (
    find_tampering,
    parse_story,
    results,
    unfinished_test,
    unreported_tests,
)
from steelyard.bench.suite.reported import NEVER_RAN, Result

NONCE = "ab" * 16
BEGIN = ["B", "v20.0.0", 1, 1, 0, 1, 0, ""]


def encode_records(*records: list[Any]) -> bytes:
    return b"".join(f"{NONCE} {n} {json.dumps(one)}\n".encode() for n, one in enumerate(records))


def passing(n: int, name: str) -> list[list[Any]]:
    return [
        ["P", n, name, "", name, 0],
        ["W", n, "ok"],
        ["S", 0, name],
        ["E", "pass", 0, name, "", "", "", "", ""],
    ]


def test_a_whole_story_is_believed() -> None:
    story = parse_story(NONCE, encode_records(BEGIN, *passing(1, "adds"), ["Z", 1, 0]))
    assert [one.id for one in results(story, "a.js")] == ["a.js::adds"]
    assert not story.problem
    assert not list(find_tampering(story))
    assert not unfinished_test(story)


def test_a_line_without_the_nonce_is_a_problem() -> None:
    assert parse_story(NONCE, encode_records(BEGIN) + b'0 1 ["H"]\n').problem


def test_a_line_left_out_is_a_problem() -> None:
    lines = encode_records(BEGIN, *passing(1, "adds"), ["Z", 1, 0]).splitlines(keepends=True)
    assert parse_story(NONCE, b"".join(lines[:2] + lines[3:])).problem


def test_words_after_the_last_word_are_a_problem() -> None:
    assert parse_story(NONCE, encode_records(BEGIN, ["Z", 1, 0], *passing(1, "adds"))).problem


def test_a_test_that_was_registered_and_not_reported_is_named() -> None:
    story = parse_story(
        NONCE, encode_records(BEGIN, *passing(1, "adds"), ["P", 2, "adds", "", "adds", 0], ["Z", 1, 0])
    )
    assert unfinished_test(story) == "adds"


def test_a_test_that_was_not_heard_of_is_an_error_of_its_own() -> None:
    story = parse_story(NONCE, encode_records(BEGIN, ["P", 1, "adds", "", "sums > adds", 0]))
    assert unreported_tests(story, "a.js") == [Result("a.js::sums > adds", "error", NEVER_RAN, "a.js")]


def test_a_pass_whose_body_threw_is_tampering() -> None:
    records = passing(1, "adds")
    records[1] = ["W", 1, "threw"]
    assert list(find_tampering(parse_story(NONCE, encode_records(BEGIN, *records))))


@pytest.mark.parametrize(
    ("declared", "outcome"), [([1], "skipped"), ([0], "failed"), ([1, 0], "failed"), ([0, 1], "failed")]
)
def test_a_failure_is_todo_only_for_a_test_that_was_registered_so(declared: list[int], outcome: str) -> None:
    registered = [["P", n, "adds", "", "adds", one] for n, one in enumerate(declared)]
    failed = ["E", "fail", 0, "adds", "todo", "", "", "no", "testCodeFailure"]
    story = parse_story(NONCE, encode_records(BEGIN, *registered, ["S", 0, "adds"], failed))
    assert [one.outcome for one in results(story, "a.js")] == [outcome]


def test_a_hook_that_failed_must_show() -> None:
    assert list(find_tampering(parse_story(NONCE, encode_records(BEGIN, *passing(1, "adds"), ["H"]))))


@given(st.binary(max_size=200), st.lists(st.binary(max_size=40), max_size=5))
def test_any_bytes_are_read_without_a_crash(raw: bytes, payloads: list[bytes]) -> None:
    parse_story(NONCE, raw)
    parse_story(NONCE, b"".join(f"{NONCE} {n} ".encode() + one + b"\n" for n, one in enumerate(payloads)))


shapes = st.recursive(
    st.none() | st.integers() | st.text(max_size=5) | st.sampled_from("BPMWHSEUTZ"),
    lambda inner: st.lists(inner, max_size=10),
    max_leaves=12,
)


@given(st.lists(shapes, max_size=6))
def test_any_json_is_read_without_a_crash(records: list[Any]) -> None:
    story = parse_story(NONCE, encode_records(*records))
    results(story, "a.js")
    list(find_tampering(story))
    unfinished_test(story)

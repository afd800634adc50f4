"""What a model says is read strictly or not at all; no reply makes the reader raise anything else."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from steelyard.gateway.scripted import FAIL, PASS
from steelyard.judge.reply import Score, Unreadable, Verdict, read_reply

GOOD: dict[str, Any] = PASS["json"]
BAD: dict[str, Any] = FAIL["json"]


def changed(path: str, value: Any, base: dict[str, Any] | None = None) -> str:
    """A good answer with one thing in it set to something else."""
    answer = json.loads(json.dumps(base or GOOD))
    *folders, last = path.split(".")
    inner = answer
    for name in folders:
        inner = inner[name]
    inner[last] = value
    return json.dumps(answer)


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(GOOD),
        json.dumps(GOOD, indent=2),
        f"```json\n{json.dumps(GOOD)}\n```",
        f"Here is my verdict:\n{json.dumps(GOOD)}\nI hope that helps {{smile}}.",
        f"<thinking>if (x) {{ return }}</thinking>{json.dumps(GOOD)}",
        f"{json.dumps(GOOD)}\n{json.dumps(GOOD)}",
    ],
)
def test_the_object_is_found_in_what_stands_around_it(text: str) -> None:
    assert read_reply(text, Verdict).verdict == "PASS"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "no JSON object"),
        ("PASS", "no JSON object"),
        ('{"verdict": "PASS"', "no JSON object"),
        ("[1, 2]", "no JSON object"),
        (changed("verdict", "pass"), "verdict"),
        (changed("verdict", True), "verdict"),
        (changed("verdict", "UNPARSEABLE"), "verdict"),
        (changed("scores.efficiency", 0), "scores.efficiency"),
        (changed("scores.efficiency", 6), "scores.efficiency"),
        (changed("scores.efficiency", True), "scores.efficiency"),
        (changed("scores.efficiency", 4.0), "scores.efficiency"),
        (changed("scores.efficiency", "4"), "scores.efficiency"),
        (changed("scores.efficiency", 10**400), "scores.efficiency"),
        (changed("scores.style", 4), "scores.style"),
        (changed("scores", {}), "scores"),
        (changed("extra", 1), "extra"),
        (changed("reasoning", ""), "reasoning"),
        (changed("reasoning", None), "reasoning"),
        (changed("facts", [{"claim": "x"}]), "facts.0"),
        (changed("facts", [{"claim": "x", "supported": "yes", "evidence": ""}]), "supported"),
        (changed("facts", [{"claim": "x", "supported": True, "evidence": ""}] * 51), "facts"),
        (changed("failure_mode", "odd"), "failure_mode beside PASS"),
        (changed("failure_mode", None, BAD), "failure_mode is missing"),
        (changed("failure_mode", " ", BAD), "failure_mode is missing"),
        (changed("failure_mode", "x" * 101, BAD), "failure_mode"),
        (json.dumps(GOOD).replace('"efficiency": 4', '"efficiency": NaN'), "NaN is not a number"),
        (json.dumps(GOOD).replace('"efficiency": 4', '"efficiency": Infinity'), "Infinity is not a number"),
        (json.dumps(BAD)[:-1] + ', "verdict": "PASS"}', "a key occurs twice"),
        (f"{json.dumps(GOOD)} no, rather {json.dumps(BAD)}", "2 different answers"),
        ('{"a":' * 20_000, ""),
        ("[" * 60_000 + json.dumps(GOOD)[1:], ""),
        ("{" * 60_000, "no JSON object"),
        ("x" * 70_000, "more than 65536 bytes"),
        ("\ud800" * 30_000, "more than 65536 bytes"),
        ("9" * 60_000 + '{"verdict": ' + "9" * 5_000 + "}", ""),
    ],
)
def test_anything_else_is_refused_with_the_reason(text: str, why: str) -> None:
    with pytest.raises(Unreadable) as caught:
        read_reply(text, Verdict)
    assert why in str(caught.value)
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize(
    ("text", "score"),
    [('{"score": 0.75, "reasoning": "good"}', 0.75), ('{"score": 1, "reasoning": "good"}', 1.0)],
)
def test_a_score_is_read(text: str, score: float) -> None:
    assert read_reply(text, Score).score == score


@pytest.mark.parametrize("score", ["1.01", "-0.1", "true", '"1"', "null", "1e999", "NaN"])
def test_what_is_no_score_between_nothing_and_one_is_refused(score: str) -> None:
    with pytest.raises(Unreadable):
        read_reply(f'{{"score": {score}, "reasoning": "good"}}', Score)


@given(st.text(st.characters(codec=None)))
def test_no_text_makes_the_reader_raise_anything_else(text: str) -> None:
    with pytest.raises(Unreadable):
        read_reply(text, Verdict)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(codec=None)),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([*GOOD, "x"]), inner, max_size=5)
    ),
    max_leaves=20,
)


@given(st.sampled_from([*GOOD, "extra"]), JSON, st.sampled_from([GOOD, BAD]))
def test_one_thing_set_to_anything_gives_an_answer_or_a_reason(
    name: str, value: Any, base: dict[str, Any]
) -> None:
    try:
        answer = read_reply(changed(name, value, base), Verdict)
    except Unreadable:
        return
    assert (answer.failure_mode is None) == (answer.verdict == "PASS")
    assert all(type(score) is int and 1 <= score <= 5 for score in answer.scores.model_dump().values())


@example("half of a \ud83d")
@given(st.text(st.characters(codec=None), min_size=1, max_size=500))
def test_whatever_the_reasoning_is_it_is_read(reasoning: str) -> None:
    whole = json.loads(json.dumps(reasoning))  # two halves beside each other are one
    expected = "".join("\ufffd" if "\ud800" <= char <= "\udfff" else char for char in whole)
    assert read_reply(changed("reasoning", reasoning), Verdict).reasoning == expected

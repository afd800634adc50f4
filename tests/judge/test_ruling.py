"""What the opinions of a jury come to."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.judge.judgement import RUBRIC, Judgement, Opinion, rule

YES = Opinion("m", "PASS", dict.fromkeys(RUBRIC, 5), reasoning="it\nis  done")
NO = Opinion("m", "FAIL", dict.fromkeys(RUBRIC, 1), "incomplete", "it is not")
LOST = Opinion("m", "UNPARSEABLE", error="HTTP 500")
STEERED = replace(YES, steered=True)
JURIES = st.lists(st.sampled_from([YES, NO, LOST, STEERED]), max_size=9)


@pytest.mark.parametrize(
    ("jury", "verdict"),
    [
        ([], "N/A"),
        ([YES], "PASS"),
        ([NO], "FAIL"),
        ([LOST], "UNPARSEABLE"),
        ([STEERED], "UNPARSEABLE"),
        ([YES, NO], "FAIL split"),
        ([YES, YES, NO], "PASS"),
        ([YES, LOST], "PASS"),
        ([YES, LOST, LOST], "N/A"),
        ([NO, STEERED, STEERED], "N/A"),
        ([NO, NO, STEERED], "FAIL"),
    ],
)
def test_a_jury_rules(jury: list[Opinion], verdict: str) -> None:
    found = rule(jury)
    assert found.verdict + " split" * found.split == verdict


@given(JURIES.flatmap(lambda jury: st.tuples(st.just(jury), st.permutations(jury))))
def test_it_does_not_matter_who_speaks_first(juries: tuple[list[Opinion], list[Opinion]]) -> None:
    one, other = map(rule, juries)
    assert (one.verdict, one.split, one.agreement) == (other.verdict, other.split, other.agreement)
    assert dict(one.scores) == pytest.approx(dict(other.scores))


@given(JURIES)
def test_a_manipulated_judge_does_not_make_a_run_pass(jury: list[Opinion]) -> None:
    if rule(jury).verdict != "PASS":
        assert rule([*jury, STEERED]).verdict != "PASS"


@given(JURIES)
def test_a_ruling_has_a_reason_in_one_line_and_can_be_read_back(jury: list[Opinion]) -> None:
    found = rule(jury)
    assert found.why
    assert "\n" not in found.why
    assert Judgement.from_json(found.to_json()) == found
    assert (found.to_json()["failure_mode"] is not None) == (found.verdict == "FAIL")


def test_a_long_reason_is_cut() -> None:
    assert len(rule([replace(YES, reasoning="x" * 20_000)]).why) == 400

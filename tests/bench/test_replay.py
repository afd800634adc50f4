"""The contract's replay rule, row by row."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.bench.outcome import CheckOutcome
from steelyard.bench.replay import decide, replay
from steelyard.contract.model import Reruns

OUTCOMES = st.lists(st.sampled_from(["pass", "fail", "error"]), min_size=9, max_size=9)
RULES = st.builds(
    Reruns, max=st.integers(1, 9), rule=st.sampled_from(["any_failure_fails", "majority", "all_fail_fails"])
)


@pytest.mark.parametrize(
    ("rule", "outcomes", "executed", "decided"),
    [
        ("any_failure_fails", ["pass", "pass", "pass"], 3, "pass"),
        ("any_failure_fails", ["pass", "fail", "pass"], 2, "fail"),
        ("any_failure_fails", ["error", "pass", "pass"], 3, "error"),
        ("any_failure_fails", ["error", "fail", "pass"], 2, "fail"),
        ("majority", ["pass", "pass", "fail"], 2, "pass"),
        ("majority", ["pass", "fail", "fail"], 3, "fail"),
        ("majority", ["pass", "error", "fail"], 3, "fail"),
        ("all_fail_fails", ["fail", "pass", "fail"], 2, "pass"),
        ("all_fail_fails", ["fail", "fail", "fail"], 3, "fail"),
        ("all_fail_fails", ["error", "error", "error"], 3, "error"),
    ],
)
def test_a_rule_executes_as_often_as_it_needs_and_decides(
    rule: str, outcomes: list[CheckOutcome], executed: int, decided: str
) -> None:
    waiting = iter(outcomes)
    reruns = Reruns(max=3, rule=rule)  # type: ignore[arg-type]
    seen = replay(reruns, lambda: next(waiting))
    assert len(seen) == executed
    assert decide(reruns, seen) == decided


@given(RULES, OUTCOMES)
def test_no_rule_makes_a_pass_out_of_runs_that_never_passed(
    rule: Reruns, outcomes: list[CheckOutcome]
) -> None:
    waiting = iter(outcomes)
    seen = replay(rule, lambda: next(waiting))
    assert decide(rule, seen) != "pass" or "pass" in seen


@given(RULES, OUTCOMES)
def test_no_rule_executes_more_often_than_it_may(rule: Reruns, outcomes: list[CheckOutcome]) -> None:
    waiting = iter(outcomes)
    assert 1 <= len(replay(rule, lambda: next(waiting))) <= rule.max

# mypy: disable-error-code="operator"
"""A study that stops when a difference is decided looks once for each repeat, and pays for each look."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from steelyard.plan.study_plan import Looks
from steelyard.study.protocol.stopping import _level, stop_for_efficacy

ANYTIME = Looks(rule="anytime")


def level(look: int, repeats: int, looks: Looks | None = None) -> float | None:
    progress: Any = SimpleNamespace(plan=SimpleNamespace(repeats=repeats, looks=looks))
    return _level(progress, look)


def test_an_early_look_needs_more_than_a_late_one() -> None:
    assert level(1, 5) > level(3, 5) > level(5, 5) > 0.95


def test_a_repeat_between_two_registered_looks_decides_nothing() -> None:
    pocock = Looks(rule="pocock", count=2)
    assert level(1, 4, pocock) is None
    assert level(2, 4, pocock) < level(1, 2)


def test_the_only_look_is_the_usual_interval() -> None:
    assert level(1, 1) == pytest.approx(0.95, abs=1e-6)


def test_more_trials_than_planned_repeats_are_the_last_look() -> None:
    assert level(9, 5) == level(5, 5)


def finished(
    contracts: int, repeats: int = 2, missing: int = 0, rule: Looks = ANYTIME, first: str = "fail"
) -> Any:
    """Agent `b` solves everything and `a` nothing; the last `missing` contracts lack their last repeat."""
    plan = SimpleNamespace(
        repeats=repeats,
        looks=rule,
        minimum_effect=0.1,
        stopping=SimpleNamespace(efficacy="interval_excludes_minimum_effect"),
        agents=[SimpleNamespace(agent=name, name=name, role="agent") for name in "ab"],
    )
    rows = [
        (
            SimpleNamespace(
                agent=agent,
                contract=SimpleNamespace(digest=f"c{number}"),
                place=SimpleNamespace(stratum="s"),
                repeat=repeat + 1,
            ),
            SimpleNamespace(status="scorable", state="pass" if agent == "b" else first),
        )
        for repeat in range(repeats)
        for number in range(contracts)
        for agent in "ab"
        if repeat < repeats - 1 or number < contracts - missing
    ]
    return SimpleNamespace(plan=plan, finished=rows)


def test_an_anytime_rule_stops_on_whole_contracts_only() -> None:
    assert "excludes differences up to 0.1" in stop_for_efficacy(finished(40), 2)
    assert stop_for_efficacy(finished(40, missing=37), 2) == ""  # three whole contracts are too few
    assert (
        stop_for_efficacy(finished(6), 2) == ""
    )  # and six are too few for an interval that is valid at every look


def test_a_few_contracts_that_all_differ_alike_decide_nothing_yet() -> None:
    """Their differences have no variance, which says nothing about other contracts."""
    spending = Looks(rule="obrien_fleming", count=2)
    assert stop_for_efficacy(finished(5, rule=spending), 2) == ""
    assert "excludes differences up to 0.1" in stop_for_efficacy(finished(12, rule=spending), 2)


def test_trials_after_a_look_are_no_part_of_it() -> None:
    """With several jobs, trials of the next repeat end before the last one of this repeat."""
    spending = Looks(rule="obrien_fleming", count=3)
    early = finished(30, repeats=3, missing=25, rule=spending)
    assert stop_for_efficacy(early, 2) == stop_for_efficacy(
        finished(30, repeats=3, missing=30, rule=spending), 2
    )


def test_trials_without_a_decision_do_not_stop_a_study() -> None:
    """An acceptance error is no failure of the agent, so there is no difference to decide."""
    spending = Looks(rule="obrien_fleming", count=2)
    assert stop_for_efficacy(finished(40, rule=spending, first="error"), 2) == ""
    assert stop_for_efficacy(finished(40, first="error"), 2) == ""

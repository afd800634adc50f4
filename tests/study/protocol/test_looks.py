"""A study that stops when a difference is decided looks once for each repeat, and pays for each look."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import pytest

from steelyard.plan.study_plan import Looks
from steelyard.stats.student_t import t_quantile
from steelyard.study.protocol.stopping import _quantile, stop_for_efficacy


def quantile(look: int, repeats: int, looks: Looks | None = None) -> float:
    progress: Any = SimpleNamespace(plan=SimpleNamespace(repeats=repeats, looks=looks))
    return _quantile(progress, look, 29)


def test_an_early_look_needs_more_than_a_late_one() -> None:
    assert quantile(1, 5) > quantile(3, 5) > quantile(5, 5) > t_quantile(29)


def test_a_repeat_between_two_registered_looks_decides_nothing() -> None:
    pocock = Looks(rule="pocock", count=2)
    assert quantile(1, 4, pocock) == math.inf
    assert quantile(2, 4, pocock) < quantile(1, 2)


def test_the_only_look_is_the_usual_interval() -> None:
    assert quantile(1, 1) == pytest.approx(t_quantile(29), abs=1e-6)


def test_more_trials_than_planned_repeats_are_the_last_look() -> None:
    assert quantile(9, 5) == quantile(5, 5)


def finished(contracts: int, repeats: int = 2, missing: int = 0) -> Any:
    """Agent `b` solves everything and `a` nothing; the last `missing` contracts lack their last repeat."""
    plan = SimpleNamespace(
        repeats=repeats,
        looks=Looks(rule="anytime"),
        minimum_effect=0.1,
        stopping=SimpleNamespace(efficacy="interval_excludes_minimum_effect"),
        agents=[SimpleNamespace(agent=name, role="agent") for name in "ab"],
    )
    rows = [
        (
            SimpleNamespace(
                agent=agent,
                contract=SimpleNamespace(digest=f"c{number}"),
                place=SimpleNamespace(stratum="s"),
            ),
            SimpleNamespace(status="scorable", state="pass" if agent == "b" else "fail"),
        )
        for repeat in range(repeats)
        for number in range(contracts)
        for agent in "ab"
        if repeat < repeats - 1 or number < contracts - missing
    ]
    return SimpleNamespace(plan=plan, finished=rows)


def test_an_anytime_rule_stops_on_whole_contracts_only() -> None:
    assert "excludes differences up to 0.1" in stop_for_efficacy(finished(40))
    assert stop_for_efficacy(finished(40, missing=37)) == ""  # three whole contracts are too few
    assert (
        stop_for_efficacy(finished(6)) == ""
    )  # and six are too few for an interval that is valid at every look

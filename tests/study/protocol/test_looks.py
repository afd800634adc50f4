"""A study that stops when a difference is decided looks once for each repeat, and pays for each look."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import pytest

from steelyard.plan.study_plan import Looks
from steelyard.stats.student_t import t_quantile
from steelyard.study.protocol.stopping import _quantile


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

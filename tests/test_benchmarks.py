"""The harness of the benchmarks counts right. How fast anything is, no test asserts."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks import table
from benchmarks.measure import Measured, Spread, measure, ratio

ROUNDS = [{"ours": 2.0, "floor": 1.0}, {"ours": 9.0, "floor": 3.0}, {"ours": 40.0, "floor": 10.0}]


def test_a_spread_is_the_median_between_its_quartiles() -> None:
    assert Spread.of([5, 1, 4, 2, 3]) == Spread(2, 3, 4)


def test_one_sample_is_its_own_spread() -> None:
    assert Spread.of([7.0]) == Spread(7.0, 7.0, 7.0)


def test_ratios_are_taken_inside_a_round() -> None:
    """The load of a moment falls on both: 2, 3 and 4 times, although the medians are 9 and 3."""
    assert Measured.of("row", "what", ROUNDS, ratio("ours", "floor")).value.median == 3


@pytest.mark.parametrize(("target", "met"), [(3.0, True), (2.9, False), (None, None)])
def test_a_target_is_met_by_the_median(target: float | None, met: bool | None) -> None:  # noqa: FBT001
    assert Measured.of("row", "what", ROUNDS, ratio("ours", "floor"), target=target).met is met


def test_every_variant_has_one_turn_a_round() -> None:
    turns: list[str] = []

    def variant(name: str) -> Iterator[float]:
        while True:
            turns.append(name)
            yield 1.0

    one, two = variant("one"), variant("two")
    rounds = measure({"one": lambda: next(one), "two": lambda: next(two)}, 20, warm_up=1)
    pairs = [sorted(turns[at : at + 2]) for at in range(0, len(turns), 2)]
    assert pairs == [["one", "two"]] * 21
    assert rounds == [{"one": 1.0, "two": 1.0}] * 20


def test_a_missed_target_says_by_how_much() -> None:
    row = Measured.of("row", "what", ROUNDS, ratio("ours", "floor"), target=2)
    assert "no: 1.5 times the target" in table.text([row])
    assert "| row | what | 3 x [2.5, 3.5] | <= 2 x | no: 1.5 times the target |" in table.page([row], "here")

"""Variants of one thing -> what each costs, measured in turns.

In every round each variant has its turn, so that whatever else the machine does falls on all of them alike.
What is compared are the numbers of one round: the load of that moment cancels out.
"""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Variant = Callable[[], float]  # does the thing once; returns what it cost, in seconds unless the row says so
Round = Mapping[str, float]  # variant -> what it cost in this round

WARM_UP = 2


@dataclass(frozen=True, slots=True)
class Spread:
    """Half of all samples lie between `low` and `high`."""

    low: float
    median: float
    high: float

    @classmethod
    def of(cls, samples: Sequence[float]) -> Spread:
        if len(samples) == 1:
            return cls(samples[0], samples[0], samples[0])
        return cls(*statistics.quantiles(samples, n=4, method="inclusive"))

    def to_json(self) -> dict[str, float]:
        return {"low": self.low, "median": self.median, "high": self.high}


@dataclass(frozen=True, slots=True)
class Measured:
    """One line of the table."""

    row: str
    what: str
    unit: str  # of the value: x, ms
    target: float | None  # the value is at most this; None: measured for what it tells
    value: Spread
    variants: Mapping[str, Spread]
    rounds: int

    @classmethod
    def of(  # noqa: PLR0913  # the parts of a line
        cls,
        row: str,
        what: str,
        rounds: Sequence[Round],
        value: Callable[[Round], float],
        *,
        target: float | None = None,
        unit: str = "x",
    ) -> Measured:
        spreads = {name: Spread.of([one[name] for one in rounds]) for name in rounds[0]}
        return cls(row, what, unit, target, Spread.of([value(one) for one in rounds]), spreads, len(rounds))

    @property
    def met(self) -> bool | None:
        return None if self.target is None else self.value.median <= self.target

    def to_json(self) -> dict[str, Any]:
        return {
            "row": self.row,
            "what": self.what,
            "unit": self.unit,
            "target": self.target,
            "met": self.met,
            "rounds": self.rounds,
            "value": self.value.to_json(),
            "variants": {name: spread.to_json() for name, spread in self.variants.items()},
        }


def timed(action: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> Variant:
    """An action as a variant: its cost is its wall time, or what `clock` says."""

    def variant() -> float:
        start = clock()
        action()
        return clock() - start

    return variant


def measure(variants: Mapping[str, Variant], rounds: int, warm_up: int = WARM_UP) -> list[Round]:
    """Every variant once a round, in a new order each time, so that none always follows the same one."""
    for _ in range(warm_up):
        for variant in variants.values():
            variant()
    order, shuffled = list(variants), random.Random(0)  # noqa: S311  # an order, not a secret
    measured: list[Round] = []
    for _ in range(rounds):
        shuffled.shuffle(order)
        costs = {name: variants[name]() for name in order}
        measured.append({name: costs[name] for name in variants})
    return measured


def ratio(ours: str, floor: str) -> Callable[[Round], float]:
    return lambda one: one[ours] / one[floor]

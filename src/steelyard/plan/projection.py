"""The order of a plan, the bounds of its runs and earlier runs -> its projected cost, trial by trial: a plan, never a result.

    kind,trials,stage,expected_usd,low_usd,high_usd,most_usd,most_models_usd,most_execution_usd,most_judge_usd,most_overhead_usd
    plan,1,shakedown,0.26,0.11,0.52,6.08,5.0,1.08,0.0,0.0

A row has what the first `trials` trials of the order cost together. `expected`, `low` and `high` are drawn from earlier runs of the
same agents, as the forecast is (`forecast.py`); from the first trial on of which nothing is known they are empty. `most` is the sum of
the bounds that are reserved before runs start, and of its parts.
"""

from __future__ import annotations

import csv
import io
import itertools
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from steelyard.plan.forecast import DRAWS, History
from steelyard.plan.order import Slot

SCHEMA = "steelyard.projection_inputs/1"
POINTS = 100  # rows at most, beside those that end a stage
PARTS = ("models", "execution", "judge", "overhead")
COLUMNS = (
    "kind", "trials", "stage", "expected_usd", "low_usd", "high_usd", "most_usd",
    *(f"most_{part}_usd" for part in PARTS),
)  # fmt: skip
Bounds = Mapping[tuple[str, str], Mapping[str, float]]  # (agent, contract) -> dollars by part


class Point(NamedTuple):
    """After so many trials. None: nothing is known of one of them."""

    trials: int
    stage: str
    expected: float | None
    low: float | None
    high: float | None
    most: float
    parts: tuple[float, ...]  # of `most`, as `PARTS`


def project(slots: Sequence[Slot], history: History, bounds: Bounds, *, seed: int) -> list[Point]:
    import numpy as np  # noqa: PLC0415  # only where a plan is made

    draw = np.random.default_rng(seed)
    totals, is_known = np.zeros(DRAWS), True
    parts = [0.0] * len(PARTS)
    known: dict[tuple[str, str], list[float]] = {}
    points = []
    shown = _shown(slots)
    for number, slot in enumerate(slots, 1):
        key = slot.agent, slot.task
        bound = bounds[key]
        if key not in known:
            earlier = [one.usd for one in history.of(slot) if one.usd is not None]
            known[key] = earlier if any(bound.values()) else [0.0]
        is_known = is_known and bool(known[key])
        if is_known:
            totals += draw.choice(known[key], size=DRAWS)
        parts = [sofar + bound.get(part, 0.0) for sofar, part in zip(parts, PARTS, strict=True)]
        if number in shown:
            spread = [float(one) for one in np.quantile(totals, (0.025, 0.975))] if is_known else [None, None]
            mean = float(totals.mean()) if is_known else None
            points.append(Point(number, slot.stage, mean, spread[0], spread[1], sum(parts), tuple(parts)))
    return points


def _shown(slots: Sequence[Slot]) -> set[int]:
    """The numbers of trials that have a row: evenly spaced, and the last of each stage."""
    every = max(1, -(-len(slots) // POINTS))
    ends = {
        number
        for number, (one, following) in enumerate(itertools.pairwise(slots), 1)
        if one.stage != following.stage
    }
    return {*range(every, len(slots) + 1, every), *ends, 1, len(slots)}


def projection_csv(points: Sequence[Point]) -> bytes:
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(COLUMNS)
    for one in points:
        amounts = (one.expected, one.low, one.high, one.most, *one.parts)
        rows.writerow(
            ["plan", one.trials, one.stage, *("" if usd is None else round(usd, 6) for usd in amounts)]
        )
    return text.getvalue().encode()


def projection_inputs(
    study: str, seed: int, prices: Mapping[str, Any] | None, history: History
) -> dict[str, Any]:
    """What the projection assumes, beside the plan that it belongs to; bounds and limits are in the plan."""
    return {
        "schema": SCHEMA,
        "kind": "plan",
        "study": study,
        "seed": seed,
        "draws": DRAWS,
        "prices": prices,
        "earlier_runs": {
            f"{agent} on {task}": len(runs) for (agent, task), runs in sorted(history.runs.items())
        },
        "assumptions": [
            "a trial costs what an earlier run of the same agent on the same contract cost, else on any contract",
            "trials are independent of each other, and each is run once",
            "prices stay as they are in the list",
            "minutes of people are not projected",
            "`most` is what is reserved before runs start; no measurement is in it",
        ],
    }

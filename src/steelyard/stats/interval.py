"""Successes out of trials -> a rate with its interval and its denominator (pure)."""

from __future__ import annotations

import math
from typing import NamedTuple

Z95 = 1.959963984540054


class Rate(NamedTuple):
    """No rate without its interval, and no interval without its n."""

    successes: int
    trials: int
    rate: float | None
    low: float
    high: float


def wilson(successes: int, trials: int, z: float = Z95) -> Rate:
    """The Wilson score interval: honest at n = 1 and at 0 or all successes, where the normal one is not."""
    if not 0 <= successes <= trials:
        raise ValueError(f"{successes} successes out of {trials}")
    if trials == 0:
        return Rate(0, 0, None, 0.0, 1.0)
    rate = successes / trials
    scale = 1 + z * z / trials
    centre = (rate + z * z / (2 * trials)) / scale
    half = z * math.sqrt(rate * (1 - rate) / trials + z * z / (4 * trials * trials)) / scale
    low = 0.0 if successes == 0 else max(0.0, centre - half)
    high = 1.0 if successes == trials else min(1.0, centre + half)
    return Rate(successes, trials, rate, low, high)


def wilson_ends(rate: float, trials: float, z: float = Z95) -> tuple[float, float]:
    """Of a rate over an effective number of trials, which need not be whole."""
    scale = 1 + z * z / trials
    centre = (rate + z * z / (2 * trials)) / scale
    half = z * math.sqrt(rate * (1 - rate) / trials + z * z / (4 * trials * trials)) / scale
    low = 0.0 if rate == 0 else max(0.0, centre - half)
    high = 1.0 if rate == 1 else min(1.0, centre + half)
    return low, high

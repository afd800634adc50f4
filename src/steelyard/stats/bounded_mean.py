"""One value in 0..1 for each contract -> their mean with an interval that stays in 0..1 (pure)."""

from __future__ import annotations

import math
from collections.abc import Sequence

from scipy import special

from steelyard.stats.cluster_interval import MOST_WORTH_EVEN
from steelyard.stats.clusters import variance_degrees
from steelyard.stats.estimate import Estimate, check_level, count_missing, unknown
from steelyard.stats.interval import wilson_ends


def bounded_mean(
    values: Sequence[float], trials: int, name: str = "mean over contracts", level: float = 0.95
) -> Estimate:
    """Wilson's interval at the effective number of trials, with a t quantile for few contracts.

        V = s^2 / m,  n_eff = p(1-p) / V * (z / t)^2, t with the degrees of `variance_degrees`

    This is the survey interval of Korn and Graubard (1998) with Wilson's shape. Where all contracts agree on 0 or on 1,
    each contract counts as one trial; where they agree on a value between, all `trials` count.
    """
    method = f"{name}: Wilson at the effective sample size, contracts as clusters"
    contracts = len(values)
    if not contracts:
        return unknown("there is no contract with a value", method=method)
    if count_missing(values) or not all(-1e-12 <= value <= 1 + 1e-12 for value in values):
        return unknown("a value is missing or outside 0..1", method=method, n=trials, clusters=contracts)
    mean = min(1.0, max(0.0, math.fsum(values) / contracts))
    if contracts == 1:
        return Estimate(mean, 0.0, 1.0, method, trials, 1, ("one contract says nothing about others",), level)
    z = float(special.ndtri(0.5 + check_level(level) / 2))
    low, high = wilson_ends(mean, _effective(values, mean, trials, level), z)
    return Estimate(mean, low, high, method, trials, contracts, ("contracts are independent",), level)


def _effective(values: Sequence[float], mean: float, trials: int, level: float) -> float:
    contracts = len(values)
    if mean in (0.0, 1.0):
        return float(contracts)
    squares = math.fsum((value - mean) ** 2 for value in values)
    variance = squares / (contracts - 1) / contracts
    most = MOST_WORTH_EVEN * max(trials, contracts)
    worth = float(max(trials, contracts)) if variance == 0 else min(most, mean * (1 - mean) / variance)
    degrees = variance_degrees([value - mean for value in values])
    tail = 0.5 + level / 2
    return worth * float(special.ndtri(tail) / special.stdtrit(degrees, tail)) ** 2

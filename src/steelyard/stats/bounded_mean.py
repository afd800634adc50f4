"""One value in 0..1 for each contract -> their mean with an interval that stays in 0..1 (pure)."""

from __future__ import annotations

import math
from collections.abc import Sequence

from scipy import special

from steelyard.stats.cluster_interval import MOST_WORTH, MOST_WORTH_EVEN, least_worth, size_of_variance
from steelyard.stats.estimate import Estimate, check_level, count_missing, unknown
from steelyard.stats.interval import wilson_ends


def bounded_mean(
    values: Sequence[float], trials: int, name: str = "mean over contracts", level: float = 0.95, k: int = 1
) -> Estimate:
    """Wilson's interval at the effective number of trials, with a t quantile for few contracts.

        V = sum (x - p)^2 / m^2,  n_eff = p(1-p) / V * (z / t)^2

    This is the survey interval of Korn and Graubard (1998) with Wilson's shape; degrees of t and size as in
    `cluster_interval`. `k` is the number of trials that one value takes: `trials` have trials / k disjoint sets of k, and
    values near 0 or 1 look more alike than they are, so the effective number is at most 1.5 times that. Where all contracts
    agree on 0 or on 1, each contract counts as one trial; where they agree on a value between, all `trials` count.
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
    low, high = wilson_ends(mean, _effective(values, mean, max(trials, contracts) / k, level, k), z)
    return Estimate(mean, low, high, method, trials, contracts, ("contracts are independent",), level)


def _effective(values: Sequence[float], mean: float, sets: float, level: float, k: int) -> float:
    contracts = len(values)
    if mean in (0.0, 1.0):
        return float(contracts)
    tail = 0.5 + level / 2
    z = float(special.ndtri(tail))
    squares = [(value - mean) ** 2 for value in values]
    second = math.fsum(squares) / contracts
    if second <= 1e-24:
        return sets * k * (z / float(special.stdtrit(contracts - 1, tail))) ** 2
    kurtosis = math.fsum(one**2 for one in squares) / contracts / second**2
    most = MOST_WORTH_EVEN * sets, (MOST_WORTH if k == 1 else MOST_WORTH_EVEN) * sets
    size = size_of_variance(mean, second / contracts, kurtosis, contracts, most)
    scaled = size.trials * (z / float(special.stdtrit(size.degrees, tail))) ** 2
    return max(least_worth([1.0] * contracts), scaled)

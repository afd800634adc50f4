"""Values of each contract, for instance costs or times -> their mean over all trials with an interval (pure)."""

from __future__ import annotations

import math
from collections.abc import Sequence

from scipy import special

from steelyard.stats.estimate import Estimate, check_level, count_missing, unknown

METHOD = "mean over trials, contracts as clusters, t"


def clustered_mean(groups: Sequence[Sequence[float]], level: float = 0.95) -> Estimate:
    """Total by trials, with the linearised variance of a ratio over contracts (Cochran 1977, 11.8); the lower end is at least 0.

        V = m / (m - 1) * sum_i (sum_j (x_ij - mean))^2 / n^2,  mean +- t_(m-1) * sqrt(V)

    The values are not negative. Where all contracts have the same mean there is no interval.
    """
    tried = [each for each in groups if len(each)]
    contracts, n = len(tried), sum(map(len, tried))
    if not n:
        return unknown("there is no value", method=METHOD)
    if count_missing(value for each in tried for value in each):
        return unknown("a value is missing or not finite", method=METHOD, n=n, clusters=contracts)
    mean = math.fsum(value for each in tried for value in each) / n
    if contracts < 2:
        why = "one contract gives no interval"
        return Estimate(mean, None, None, METHOD, n, contracts, level=level, why=why)
    squares = math.fsum((math.fsum(each) - mean * len(each)) ** 2 for each in tried)
    if squares <= 1e-18 * max(1.0, mean**2):
        why = "all contracts have the same mean, which says nothing about others"
        return Estimate(mean, None, None, METHOD, n, contracts, level=level, why=why)
    error = math.sqrt(contracts / (contracts - 1) * squares) / n
    half = float(special.stdtrit(contracts - 1, 0.5 + check_level(level) / 2)) * error
    assumptions = ("contracts are independent",)
    return Estimate(mean, max(0.0, mean - half), mean + half, METHOD, n, contracts, assumptions, level)

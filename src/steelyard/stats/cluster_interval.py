"""Successes by contract -> the ends of a 95% interval of the rate (pure).

    V     = sum((y_i - p * n_i)^2) / n^2                     linearised ratio estimator, contracts are the clusters
    n_eff = p * (1 - p) / V * (z / t)^2                      effective number of trials
    ends  = Wilson's at n_eff trials

The survey interval of Korn and Graubard (1998) with Wilson's shape, and these rules:

no success     V is 0 and says nothing, so each contract counts as one trial: the upper end is z^2 / (m + z^2)
upper end      is never below that one: successes exclude no rate that a study without any success does not exclude
one side       rates up to there are never missed from above, so the lower end has all of their 5%
degrees of t   follow from the kurtosis of the contracts' contributions to V (Satterthwaite 1946): few where few contracts
               have the successes
size           contracts that look more alike than chance makes them are worth little more than their trials: 1.05 times, or 1.5
               times where their contributions are even. A contract is worth one trial or more, because shares of mean p vary by
               at most p (1 - p). The lower end that has all of 5% gets neither the 1.5 nor this least size

Successes and failures are treated alike. With fewer than `FEW` contracts V has the factor m / (m - 1), the degrees are at most
m - 1, both sides have 2.5%, and a contract may be worth less than a trial: the interval is rather too wide than too narrow.
docs/statistics.md has the coverage.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from steelyard.stats.interval import Z95, wilson_ends
from steelyard.stats.student_t import t_quantile

FEW = 20  # contracts
Z90 = 1.6448536269514722
TWO_SIDED, ONE_SIDED = 0.975, 0.95
MOST_DEGREES = 400.0  # the normal distribution, for all that matters here
KURTOSIS_WEIGHT = 0.9  # of the degrees by kurtosis; the rest is that of m - 1
MOST_WORTH_EVEN, MOST_WORTH = 1.5, 1.05  # an effective sample is at most so many times the trials
ROUNDING = 1e-9  # degrees that differ by less are the same: a kurtosis of 3 has exactly m - 1 of them
_ALIKE = 1e-18  # a mean square of counts that is rounding


class EffectiveSize(NamedTuple):
    """Trials that these are worth, before and with the t quantile of `degrees`."""

    trials: float
    degrees: float

    def scaled(self, probability: float, z: float) -> float:
        return self.trials * (z / t_quantile(self.degrees, probability)) ** 2


def interval_ends(successes: Sequence[int], trials: Sequence[int]) -> tuple[float, float]:
    """Of the rate over all trials, for at least two contracts that all have trials."""
    total, won = sum(trials), sum(successes)
    if 2 * won > total:
        low, high = interval_ends([n - y for y, n in zip(successes, trials, strict=True)], trials)
        return 1 - high, 1 - low
    contracts = len(trials)
    _, least_high = wilson_ends(0.0, contracts)
    if won == 0:
        return 0.0, least_high
    rate, size = won / total, effective_size(successes, trials)
    low, high = wilson_ends(rate, max(least_worth(trials), size.scaled(TWO_SIDED, Z95)))
    if contracts >= FEW:
        cautious = size._replace(trials=min(size.trials, MOST_WORTH * total))
        one_sided, _ = wilson_ends(rate, cautious.scaled(ONE_SIDED, Z90), Z90)
        low = max(low, min(one_sided, least_high))
    return low, max(high, least_high)


def effective_size(successes: Sequence[int], trials: Sequence[int]) -> EffectiveSize:
    """Where some trials succeeded and some failed."""
    contracts, total = len(trials), sum(trials)
    rate = sum(successes) / total
    squares = [(y - rate * n) ** 2 for y, n in zip(successes, trials, strict=True)]
    second = math.fsum(squares) / contracts
    if second <= _ALIKE:
        return EffectiveSize(float(total), contracts - 1.0)
    kurtosis = math.fsum(one**2 for one in squares) / contracts / second**2
    most = MOST_WORTH_EVEN * total, MOST_WORTH * total
    return size_of_variance(rate, contracts * second / total**2, kurtosis, contracts, most)


def least_worth(trials: Sequence[float]) -> float:
    """Of `FEW` contracts or more: one trial for each, if all have the same weight (Kish 1965, effective number of clusters)."""
    if len(trials) < FEW:
        return 0.0
    return sum(trials) ** 2 / math.fsum(n * n for n in trials)


def size_of_variance(
    rate: float, variance: float, kurtosis: float, contracts: int, most: tuple[float, float]
) -> EffectiveSize:
    """At most so many trials: the first number where contributions are even, the second where they are not."""
    if contracts < FEW:
        variance *= contracts / (contracts - 1)
    by_kurtosis = degrees_of(kurtosis, contracts)
    worth = min(most[by_kurtosis < contracts - 1 - ROUNDING], rate * (1 - rate) / variance)
    blended = 1 / (KURTOSIS_WEIGHT / by_kurtosis + (1 - KURTOSIS_WEIGHT) / (contracts - 1))
    return EffectiveSize(worth, max(by_kurtosis, blended))


def degrees_of(kurtosis: float, contracts: int) -> float:
    """2m / (kurtosis - (m - 3) / (m - 1)): the moments of a mean of m squares, matched to a chi-squared distribution."""
    most = contracts - 1.0 if contracts < FEW else MOST_DEGREES
    excess = kurtosis - (contracts - 3) / (contracts - 1)
    if excess <= 0:
        return most
    return min(most, max(min(2.0, contracts - 1.0), 2 * contracts / excess))

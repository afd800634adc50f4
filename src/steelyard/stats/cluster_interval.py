"""Successes by contract -> the ends of a 95% interval of the rate (pure).

    V     = sum((y_i - p * n_i)^2) / n^2                     linearised ratio estimator, contracts are the clusters
    n_eff = p * (1 - p) / V * (z / t)^2                      effective number of trials
    ends  = Wilson's at n_eff trials

The survey interval of Korn and Graubard (1998) with Wilson's shape, and three choices that simulation supports:

degrees of t   follow from the kurtosis of the contracts' contributions to V (Satterthwaite 1946): few where few contracts
               have the successes
size           contracts that look more alike than chance makes them are worth little more than their trials
one side       a rate that no study of this design excludes from above is missed on one side only; that side has all of 5%

With fewer than `FEW` contracts V has the factor m / (m - 1), the degrees are at most m - 1, and both sides have 2.5%: the
interval is rather too wide than too narrow. Where all trials agree, V is 0 and says nothing: then each contract counts as
one trial. docs/statistics.md has the coverage.
"""

from __future__ import annotations

import functools
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
MOST_WORTH_EVEN, MOST_WORTH = 2.0, 1.05  # an effective sample is at most so many times the trials


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
    if won == 0:
        return wilson_ends(0.0, contracts)
    rate, size = won / total, effective_size(successes, trials)
    low, high = wilson_ends(rate, size.scaled(TWO_SIDED, Z95))
    if contracts >= FEW:
        one_sided, _ = wilson_ends(rate, size.scaled(ONE_SIDED, Z90), Z90)
        low = max(low, min(one_sided, smallest_upper_end(contracts, total)))
    return low, high


def effective_size(successes: Sequence[int], trials: Sequence[int]) -> EffectiveSize:
    """Where some trials succeeded and some failed."""
    contracts, total = len(trials), sum(trials)
    rate = sum(successes) / total
    squares = [(y - rate * n) ** 2 for y, n in zip(successes, trials, strict=True)]
    second = math.fsum(squares) / contracts
    if second == 0:
        return EffectiveSize(float(total), contracts - 1.0)
    kurtosis = math.fsum(one**2 for one in squares) / contracts / second**2
    return _size(rate, contracts, total, second, kurtosis)


def _size(rate: float, contracts: int, trials: int, second: float, kurtosis: float) -> EffectiveSize:
    """`second` is the mean square of contracts' deviations y_i - p * n_i."""
    variance = contracts * second / trials**2
    return size_of_variance(
        rate, variance, kurtosis, contracts, (MOST_WORTH_EVEN * trials, MOST_WORTH * trials)
    )


def size_of_variance(
    rate: float, variance: float, kurtosis: float, contracts: int, most: tuple[float, float]
) -> EffectiveSize:
    """At most so many trials: the first number where contributions are even, the second where they are not."""
    if contracts < FEW:
        variance *= contracts / (contracts - 1)
    by_kurtosis = degrees_of(kurtosis, contracts)
    worth = min(most[by_kurtosis < contracts - 1], rate * (1 - rate) / variance)
    blended = 1 / (KURTOSIS_WEIGHT / by_kurtosis + (1 - KURTOSIS_WEIGHT) / (contracts - 1))
    return EffectiveSize(worth, max(by_kurtosis, blended))


def degrees_of(kurtosis: float, contracts: int) -> float:
    """2m / (kurtosis - (m - 3) / (m - 1)): the moments of a mean of m squares, matched to a chi-squared distribution."""
    most = contracts - 1.0 if contracts < FEW else MOST_DEGREES
    excess = kurtosis - (contracts - 3) / (contracts - 1)
    if excess <= 0:
        return most
    return min(most, max(min(2.0, contracts - 1.0), 2 * contracts / excess))


@functools.lru_cache(maxsize=1024)
def smallest_upper_end(contracts: int, trials: int) -> float:
    """The lowest upper end that a study of this design can have: successes are few and in contracts of their own.

    More successes first add degrees of freedom, which lowers the end, and then raise the rate.
    """
    _, smallest = wilson_ends(0.0, contracts)
    previous = math.inf
    for count in range(1, contracts // 2 + 1):
        share, rate = count / contracts, count / trials
        second = share * (1 - share)
        size = _size(rate, contracts, trials, second, 1 / second - 3)
        _, end = wilson_ends(rate, size.scaled(TWO_SIDED, Z95))
        if end > previous:
            break
        smallest, previous = min(smallest, end), end
    return smallest

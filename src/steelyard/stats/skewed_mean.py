"""One number for each contract -> the ends of an interval of their mean, where few contracts may differ much (pure).

    T = (mean - m) / (s / sqrt(n)),   g(T) = T + a T^2 + a^2 T^3 / 3 + k / (6 sqrt(n)),   a = k / (3 sqrt(n))

Hall's transformation (1992) removes the skewness k from T; the ends are where g(T) is at the t quantiles. The skewness of a
few contracts is uncertain and rather overestimated, so a quarter of it is used; without skewness this is the t interval. The
degrees of freedom follow from the kurtosis of the contracts' deviations (Satterthwaite 1946).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from scipy import special

SKEWNESS_SHARE = 0.25
MOST_SKEWNESS = 4.0  # of that share


class Sample(NamedTuple):
    """What the interval of a mean needs to know of the values."""

    mean: float
    error: float
    skewness: float  # the share of it that is removed
    degrees: float
    size: int


def sample_of(values: Sequence[float]) -> Sample:
    """For at least two values that differ."""
    count = len(values)
    mean = math.fsum(values) / count
    deviations = [one - mean for one in values]
    second, third = (math.fsum(one**power for one in deviations) / count for power in (2, 3))
    skewness = max(-MOST_SKEWNESS, min(MOST_SKEWNESS, SKEWNESS_SHARE * third / second**1.5))
    return Sample(mean, math.sqrt(second / (count - 1)), skewness, kurtosis_degrees(deviations), count)


def skewed_ends(values: Sequence[float], level: float) -> tuple[float, float]:
    """For at least two values that differ."""
    found = sample_of(values)
    quantile = float(special.stdtrit(found.degrees, 0.5 + level / 2))
    return (
        found.mean - found.error * _untransformed(quantile, found.skewness, found.size),
        found.mean - found.error * _untransformed(-quantile, found.skewness, found.size),
    )


def chance_above(values: Sequence[float], bound: float) -> float:
    """One-sided p-value of the claim that the mean is above the bound; 1 less this is that of the claim that it is below.

    It is 5% where the 90% interval of `skewed_ends` ends at the bound.
    """
    found = sample_of(values)
    t, slope = (found.mean - bound) / found.error, found.skewness / (3 * math.sqrt(found.size))
    straight = t + slope * t**2 + slope**2 * t**3 / 3 + found.skewness / (6 * math.sqrt(found.size))
    return float(special.stdtr(found.degrees, -straight))


def kurtosis_degrees(deviations: Sequence[float]) -> float:
    """Degrees of freedom of the variance of m contracts: 2m / (kurtosis - (m - 3) / (m - 1)), within 2..m - 1."""
    count = len(deviations)
    second = math.fsum(one**2 for one in deviations) / count
    if second == 0:
        return count - 1.0
    excess = math.fsum(one**4 for one in deviations) / count / second**2 - (count - 3) / (count - 1)
    if excess <= 0:
        return count - 1.0
    return max(min(2.0, count - 1.0), min(count - 1.0, 2 * count / excess))


def _untransformed(value: float, skewness: float, count: int) -> float:
    """The T with g(T) = value."""
    slope = skewness / (3 * math.sqrt(count))
    if abs(slope) < 1e-9:
        return value
    shifted = value - skewness / (6 * math.sqrt(count))
    return (math.cbrt(1 + 3 * slope * shifted) - 1) / slope

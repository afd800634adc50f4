"""Rows of sums, one for each contract -> a statistic with a bootstrap interval that resamples whole contracts (pure).

Row i has the sums of contract i, for instance (successes, trials) or (cost, successes). A statistic is a function of
the column totals, so one resample costs one row of a matrix product and no Python call.

The interval is BCa, bias-corrected and accelerated (Efron 1987; DiCiccio and Efron 1996, equation 2.3):

    z0 = ndtri(share of resamples below the estimate)           bias
    a  = sum(d^3) / (6 * sum(d^2)^1.5), d = mean(J) - J_i        J_i: the estimate without contract i
    ends: quantiles of the resamples at ndtr(z0 + (z0 + z) / (1 - a * (z0 + z)))
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special

from steelyard.stats.estimate import Estimate, check_level, unknown

SEED = 20260307  # of the protocol
RESAMPLES = 10_000
BLOCK = 256  # resamples at a time: the indices of one block fit into the processor's cache
FEWEST = 2  # contracts

Floats = npt.NDArray[np.float64]
Statistic = Callable[[Floats], Floats]  # totals, one row each -> one number each


@dataclass(frozen=True, slots=True)
class Resampling:
    """How often, and from which seed; the same seed gives the same interval on every machine."""

    resamples: int = RESAMPLES
    seed: int = SEED


DEFAULT = Resampling()


def rate_of_sums(totals: Floats) -> Floats:
    """The first column divided by the second: successes by trials, or cost by successes."""
    with np.errstate(divide="ignore", invalid="ignore"):
        quotient: Floats = totals[..., 0] / totals[..., 1]
    return quotient


def cluster_bootstrap(
    rows: npt.ArrayLike,
    statistic: Statistic = rate_of_sums,
    how: Resampling = DEFAULT,
    level: float = 0.95,
) -> Estimate:
    """The BCa interval of `statistic` over resampled contracts.

    Resamples without a value, for instance a ratio without a success, count as the largest values. Without variation
    between contracts there is no interval to find, and `why` says so.
    """
    table = np.asarray(rows, dtype=float)
    method = f"BCa cluster bootstrap, {how.resamples} resamples, seed {how.seed}"
    if table.ndim != 2 or not np.isfinite(table).all():
        return unknown("a value is missing or not finite", method=method)
    contracts = len(table)
    if contracts < FEWEST:
        return unknown(
            f"a bootstrap over contracts needs at least {FEWEST}", method=method, clusters=contracts
        )
    value = float(statistic(table.sum(axis=0)))
    if not np.isfinite(value):
        return unknown("the statistic has no value over all contracts", method=method, clusters=contracts)
    draws = resample(table, statistic, how)
    low, high = bca_ends(draws, value, jackknife(table, statistic), check_level(level))
    if low is None or high is None:
        return Estimate(value, None, None, method, 0, contracts, (), level, "the contracts do not vary")
    return Estimate(value, low, high, method, 0, contracts, ("contracts are independent",), level)


def resample(table: Floats, statistic: Statistic, how: Resampling) -> Floats:
    """The statistic of each resample, in order of drawing."""
    contracts, generator = len(table), np.random.default_rng(how.seed)
    columns = [np.ascontiguousarray(column) for column in table.T]
    totals = np.empty((how.resamples, table.shape[1]))
    for start in range(0, how.resamples, BLOCK):
        count = min(BLOCK, how.resamples - start)
        chosen = generator.integers(0, contracts, (count, contracts))
        for at, column in enumerate(columns):
            totals[start : start + count, at] = column[chosen].sum(axis=1)
    return statistic(totals)


def jackknife(table: Floats, statistic: Statistic) -> Floats:
    """The statistic without each of the contracts."""
    return statistic(table.sum(axis=0) - table)


def bca_ends(
    draws: Floats, value: float, left_out: Floats, level: float
) -> tuple[float | None, float | None]:
    """Both ends, or None where all draws are alike."""
    draws = np.where(np.isfinite(draws), draws, np.inf)
    if draws.min() == draws.max():
        return None, None
    share = ((draws < value).sum() + (draws <= value).sum()) / (2 * len(draws))
    share = min(max(share, 0.5 / len(draws)), 1 - 0.5 / len(draws))
    bias = special.ndtri(share)
    acceleration = _acceleration(left_out)
    ends = []
    for tail in ((1 - level) / 2, (1 + level) / 2):
        z = bias + special.ndtri(tail)
        ends.append(float(special.ndtr(bias + z / (1 - acceleration * z))))
    ordered = np.sort(draws)
    return _quantile(ordered, ends[0]), _quantile(ordered, ends[1])


def _quantile(ordered: Floats, share: float) -> float:
    """By linear interpolation; infinite as soon as one of the two neighbours is."""
    place = share * (len(ordered) - 1)
    below, above = (float(ordered[at]) for at in (int(np.floor(place)), int(np.ceil(place))))
    return above if np.isinf(above) else below + (above - below) * (place % 1)


def _acceleration(left_out: Floats) -> float:
    known = left_out[np.isfinite(left_out)]
    if not len(known):
        return 0.0
    deviation = known.mean() - known
    scale = float((deviation**2).sum()) ** 1.5
    return float((deviation**3).sum()) / (6 * scale) if scale else 0.0

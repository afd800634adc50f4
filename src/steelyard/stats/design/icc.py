"""Successes of each contract -> how alike repeats of one contract are: the intra-contract correlation (pure)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
from scipy import special

from steelyard.stats.clusters import Cluster, variance_degrees
from steelyard.stats.estimate import Estimate, check_level, unknown

METHOD = "one-way ANOVA, F interval (Searle 1971)"


def icc_of_outcomes(clusters: Sequence[Cluster], level: float = 0.95) -> Estimate:
    """Of pass and fail: the same formula over values 0 and 1.

    The F interval is exact for normal data and too narrow for rare outcomes. So each end is the wider one of the F
    interval and of a jackknife over contracts on Fisher's scale, z = log((1 + (k - 1) r) / (1 - r)) / 2 (Fisher 1925).
    """
    tried = [one for one in clusters if one[1]]
    sizes = np.array([one[1] for one in tried], dtype=float)
    sums = np.array([one[0] for one in tried], dtype=float)
    found = _anova(sizes, sums, sums, level)
    ends = _jackknife_ends(sizes, sums, found.value, level) if found.value is not None else None
    if ends is None or found.low is None or found.high is None:
        return found
    wider = min(found.low, ends[0]), max(found.high, ends[1])
    method = "one-way ANOVA, wider of F and jackknife interval"
    return replace(found, low=wider[0], high=wider[1], method=method)


def _jackknife_ends(
    sizes: npt.NDArray[np.float64], sums: npt.NDArray[np.float64], value: float, level: float
) -> tuple[float, float] | None:
    """None where the correlation without one of the contracts has no place on Fisher's scale."""
    rows = np.column_stack([np.ones(len(sizes)), sizes, sums, sums**2 / sizes, sizes**2])
    size = float(sizes.mean())
    with np.errstate(all="ignore"):
        left_out = _fisher(_of_totals(rows.sum(axis=0) - rows), size)
        centre = float(_fisher(np.array([value]), size)[0])
    if not (np.isfinite(left_out).all() and np.isfinite(centre)):
        return None
    count = len(left_out)
    deviations = left_out - left_out.mean()
    error = float(np.sqrt((count - 1) / count * (deviations**2).sum()))
    half = float(special.stdtrit(variance_degrees(deviations.tolist()), 0.5 + level / 2)) * error
    return _back(centre - half, size), _back(centre + half, size)


def _of_totals(totals: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """From sums over contracts: how many, trials, successes, squared successes by trials, squared trials."""
    count, trials, won, squares, sizes = (totals[..., at] for at in range(5))
    between = (squares - won**2 / trials) / (count - 1)
    within = (won - squares) / (trials - count)
    size = (trials - sizes / trials) / (count - 1)
    found: npt.NDArray[np.float64] = (between - within) / (between + (size - 1) * within)
    return found


def _fisher(value: npt.NDArray[np.float64], size: float) -> npt.NDArray[np.float64]:
    scaled: npt.NDArray[np.float64] = np.log((1 + (size - 1) * value) / (1 - value)) / 2
    return scaled


def _back(scaled: float, size: float) -> float:
    if scaled > 300:
        return 1.0
    grown = float(np.exp(2 * scaled))
    return (grown - 1) / (grown + size - 1)


def icc_of_values(groups: Sequence[npt.ArrayLike], level: float = 0.95) -> Estimate:
    """Of any numbers, one group for each contract: ICC(1,1) of Shrout and Fleiss (1979)."""
    arrays = [np.asarray(group, dtype=float) for group in groups]
    arrays = [one for one in arrays if one.size]
    sizes = np.array([one.size for one in arrays], dtype=float)
    sums = np.array([one.sum() for one in arrays])
    squares = np.array([(one**2).sum() for one in arrays])
    return _anova(sizes, sums, squares, level)


def _anova(
    sizes: npt.NDArray[np.float64],
    sums: npt.NDArray[np.float64],
    squares: npt.NDArray[np.float64],
    level: float,
) -> Estimate:
    """(MSB - MSW) / (MSB + (k0 - 1) * MSW), k0 = (n - sum(k_i^2) / n) / (m - 1)."""
    contracts, trials = len(sizes), int(sizes.sum())
    if contracts < 2:
        return unknown(
            "a correlation needs at least 2 contracts", method=METHOD, n=trials, clusters=contracts
        )
    if trials <= contracts:
        return unknown(
            "a correlation needs repeats of a contract", method=METHOD, n=trials, clusters=contracts
        )
    if not np.isfinite(squares).all():
        return unknown("a value is missing or not finite", method=METHOD, n=trials, clusters=contracts)
    between = float((sums**2 / sizes).sum() - sums.sum() ** 2 / trials) / (contracts - 1)
    within = float((squares - sums**2 / sizes).sum()) / (trials - contracts)
    size = float(trials - (sizes**2).sum() / trials) / (contracts - 1)
    if between + (size - 1) * within <= 1e-15:
        return unknown("every trial has the same outcome", method=METHOD, n=trials, clusters=contracts)
    value = (between - within) / (between + (size - 1) * within)
    low, high = _ends(between, within, size, (contracts - 1, trials - contracts), check_level(level))
    return Estimate(
        value, low, high, METHOD, trials, contracts, ("repeats of a contract are exchangeable",), level
    )


def _ends(
    between: float, within: float, size: float, degrees: tuple[int, int], level: float
) -> tuple[float, float]:
    if within <= 1e-15:
        return 1.0, 1.0
    ratio, tail = between / within, 0.5 + level / 2
    low = ratio / float(special.fdtri(*degrees, tail))
    high = ratio * float(special.fdtri(*reversed(degrees), tail))
    return (low - 1) / (low + size - 1), (high - 1) / (high + size - 1)

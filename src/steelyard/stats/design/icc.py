"""Successes of each contract -> how alike repeats of one contract are: the intra-contract correlation (pure)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
from scipy import special

from steelyard.stats.clusters import Cluster
from steelyard.stats.design.icc_interval import LEAST, likelihood_ratio_ends
from steelyard.stats.estimate import Estimate, check_level, unknown

METHOD = "one-way ANOVA, F interval (Searle 1971)"
OUTCOMES = "one-way ANOVA, beta-binomial likelihood ratio calibrated by simulation"


def icc_of_outcomes(clusters: Sequence[Cluster], level: float = 0.95) -> Estimate:
    """Of pass and fail: one-way ANOVA over values 0 and 1, at least 0, with the interval of `icc_interval`.

    The F interval is exact for normal data and covers as little as 65% of the time for rare outcomes. Fewer than 3
    successes or failures show nothing about how alike repeats are.
    """
    tried = [Cluster(*one) for one in clusters if one[1]]
    found = _anova_of_outcomes(tried, level)
    if found.value is None:
        return found
    won, trials = sum(one.successes for one in tried), sum(one.trials for one in tried)
    rarer, fewest = ("succeeded", won) if 2 * won <= trials else ("failed", trials - won)
    if fewest < LEAST:
        return unknown(
            f"a correlation needs at least {LEAST} trials that {rarer}, and there is {fewest} in {trials}",
            method=OUTCOMES,
            n=trials,
            clusters=len(tried),
        )
    value = max(0.0, found.value)
    low, high = likelihood_ratio_ends(
        [one.successes for one in tried], [one.trials for one in tried], check_level(level)
    )
    return replace(
        found,
        value=value,
        low=min(low, value),
        high=max(high, value),
        method=OUTCOMES,
        assumptions=(*found.assumptions, "contracts' success probabilities have a beta distribution"),
    )


def icc_value(clusters: Sequence[Cluster]) -> float | None:
    """The value of `icc_of_outcomes` alone, which takes no simulation; None where there is none."""
    tried = [Cluster(*one) for one in clusters if one[1]]
    won, trials = sum(one.successes for one in tried), sum(one.trials for one in tried)
    value = _anova_of_outcomes(tried, 0.95).value
    return None if value is None or min(won, trials - won) < LEAST else max(0.0, value)


def _anova_of_outcomes(tried: Sequence[Cluster], level: float) -> Estimate:
    sizes = np.array([one.trials for one in tried], dtype=float)
    sums = np.array([one.successes for one in tried], dtype=float)
    return _anova(sizes, sums, sums, level)


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

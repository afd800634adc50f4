"""Successes of each contract -> how alike repeats of one contract are: the intra-contract correlation (pure)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from steelyard.stats.clusters import Cluster
from steelyard.stats.design.icc_interval import LEAST, likelihood_ratio_ends
from steelyard.stats.estimate import Estimate, check_level, unknown

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
        assumptions=(*found.assumptions, "contracts' success probabilities have a beta distribution"),
    )


def icc_value(clusters: Sequence[Cluster]) -> float | None:
    """The value of `icc_of_outcomes` alone, which takes no simulation; None where there is none."""
    tried = [Cluster(*one) for one in clusters if one[1]]
    won, trials = sum(one.successes for one in tried), sum(one.trials for one in tried)
    value = _anova_of_outcomes(tried, 0.95).value
    return None if value is None or min(won, trials - won) < LEAST else max(0.0, value)


def _anova_of_outcomes(tried: Sequence[Cluster], level: float) -> Estimate:
    """(MSB - MSW) / (MSB + (k0 - 1) * MSW) of values 0 and 1, k0 = (n - sum(k_i^2) / n) / (m - 1); without an interval."""
    sizes = np.array([one.trials for one in tried], dtype=float)
    sums = np.array([one.successes for one in tried], dtype=float)  # of the values, and of their squares
    contracts, trials = len(sizes), int(sizes.sum())
    why = ""
    if contracts < 2:
        why = "a correlation needs at least 2 contracts"
    elif trials <= contracts:
        why = "a correlation needs repeats of a contract"
    elif sums.sum() in {0, trials}:
        why = "every trial has the same outcome"
    if why:
        return unknown(why, method=OUTCOMES, n=trials, clusters=contracts)
    between = float((sums**2 / sizes).sum() - sums.sum() ** 2 / trials) / (contracts - 1)
    within = float((sums - sums**2 / sizes).sum()) / (trials - contracts)
    size = float(trials - (sizes**2).sum() / trials) / (contracts - 1)
    value = (between - within) / (between + (size - 1) * within)
    assumptions = ("repeats of a contract are exchangeable",)
    return Estimate(value, None, None, OUTCOMES, trials, contracts, assumptions, check_level(level))

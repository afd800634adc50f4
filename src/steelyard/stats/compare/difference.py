"""Pairs -> the difference between two agents, with an interval and exact tests; contracts are the units (pure).

The estimand is the mean over contracts of (second agent's rate - first agent's rate). Each contract has the same weight,
whatever the number of its repeats; the variance between contracts contains that between repeats.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from scipy import special

from steelyard.stats.bootstrap import DEFAULT, Resampling, cluster_bootstrap
from steelyard.stats.compare.pairs import Pair, trials_of
from steelyard.stats.estimate import Estimate, check_level, unknown
from steelyard.stats.skewed_mean import skewed_ends

LARGEST = 4_000_000  # distinct sums of the exact permutation distribution
PERMUTATIONS = 100_000  # where the exact distribution is too large


class Significance(NamedTuple):
    """A test's p-value, two-sided; None and `why` where there is nothing to test."""

    p: float | None
    method: str
    n: int
    why: str = ""


def paired_difference(pairs: Sequence[Pair], level: float = 0.95) -> Estimate:
    """Mean difference over contracts, D +- t * s / sqrt(m) with part of its skewness removed, within -1..1 (`skewed_ends`).

    Two-stage cluster sampling with equal weights (Cochran 1977, 11.3): s^2 is the variance of the contracts' differences
    and contains the variance between repeats. Where all contracts have the same difference s is 0 and says nothing: then
    the share of contracts that differ from it is at most u = 1 - (a/2)^(1/m), by as much as -1 and 1 allow: the interval
    is D - u (D + 1) to D + u (1 - D).
    """
    method = "hierarchical paired difference, contracts as units, t"
    contracts, n = len(pairs), trials_of(pairs)
    if not contracts:
        return unknown("the agents share no contract with decided trials", method=method)
    differences = [float(pair.difference) for pair in pairs]
    mean = math.fsum(differences) / contracts
    if contracts == 1:
        return Estimate(mean, -1.0, 1.0, method, n, 1, ("one contract says nothing about others",), level)
    squares = math.fsum((one - mean) ** 2 for one in differences)
    if squares <= 1e-24:
        share = 1 - ((1 - check_level(level)) / 2) ** (1 / contracts)
        low, high = mean - share * (mean + 1), mean + share * (1 - mean)
    else:
        low, high = skewed_ends(differences, check_level(level))
        low, high = max(-1.0, min(mean, low)), min(1.0, max(mean, high))
    assumptions = ("contracts are independent", "every contract has the same weight")
    return Estimate(mean, low, high, method, n, contracts, assumptions, level)


def bootstrap_difference(pairs: Sequence[Pair], how: Resampling = DEFAULT, level: float = 0.95) -> Estimate:
    """The same difference with a BCa interval that resamples contracts."""
    rows = [(float(pair.difference), 1.0) for pair in pairs]
    return cluster_bootstrap(np.array(rows).reshape(len(rows), 2), how=how, level=level)


def permutation_test(pairs: Sequence[Pair], seed: int = DEFAULT.seed) -> Significance:
    """Exact paired permutation test: swap the two agents on each contract in all 2^m ways (Fisher 1935).

    The distribution of the sum of +-d_i is a product of polynomials, so it is exact for any number of contracts. Where
    the repeats are so uneven that it has too many distinct sums, swaps are drawn at random, with (hits + 1) / (draws + 1).
    """
    differences = [abs(pair.difference) for pair in pairs if pair.difference]
    if not pairs:
        return Significance(None, "paired permutation", 0, "the agents share no contract with decided trials")
    if not differences:
        return Significance(1.0, "exact paired permutation", len(pairs))
    scale = math.lcm(*(one.denominator for one in differences))
    whole = [int(one * scale) for one in differences]
    observed = abs(sum(int(pair.difference * scale) for pair in pairs))
    if sum(whole) > LARGEST:
        return _drawn(differences, Fraction(observed, scale), len(pairs), seed)
    return Significance(_exact(whole, observed), "exact paired permutation", len(pairs))


def _exact(whole: Sequence[int], observed: int) -> float:
    """P(|sum of +-w| >= observed). The number of chosen weights s gives the sum 2s - total."""
    share = math.gcd(*whole)
    weights = [one // share for one in whole]
    total, target = sum(weights), observed // share
    chances = np.zeros(total + 1)
    chances[0] = 1.0
    reached = 0
    for weight in weights:
        reached += weight
        moved = chances[: reached + 1 - weight].copy()
        chances[: reached + 1] *= 0.5
        chances[weight : reached + 1] += 0.5 * moved
    sums = np.abs(2 * np.arange(total + 1) - total)
    return min(1.0, float(chances[sums >= target].sum()))


def _drawn(differences: Sequence[Fraction], observed: Fraction, contracts: int, seed: int) -> Significance:
    generator = np.random.default_rng(seed)
    weights = np.array([float(one) for one in differences])
    limit, hits = float(observed) * (1 - 1e-12), 0
    for start in range(0, PERMUTATIONS, 1000):
        count = min(1000, PERMUTATIONS - start)
        signs = generator.integers(0, 2, (count, len(weights))) * 2 - 1
        hits += int((np.abs(signs @ weights) >= limit).sum())
    method = f"paired permutation, {PERMUTATIONS} random swaps, seed {seed}"
    return Significance((hits + 1) / (PERMUTATIONS + 1), method, contracts)


def mcnemar(pairs: Sequence[Pair]) -> Significance:
    """McNemar's exact test (1947): of the contracts that one agent alone solves, half would be each agent's.

    p = 2 * P(Binomial(b + c, 1/2) <= min(b, c)), at most 1. It needs one trial of each agent on each contract.
    """
    method = "McNemar, exact"
    if any(one.trials != 1 for pair in pairs for one in pair):
        return Significance(
            None, method, len(pairs), "McNemar's test needs one trial of each agent on each contract"
        )
    only_second = sum(pair.difference > 0 for pair in pairs)
    only_first = sum(pair.difference < 0 for pair in pairs)
    discordant = only_first + only_second
    if not pairs:
        return Significance(None, method, 0, "the agents share no contract with decided trials")
    if not discordant:
        return Significance(1.0, method, len(pairs))
    p = 2 * float(special.bdtr(min(only_first, only_second), discordant, 0.5))
    return Significance(min(1.0, p), method, len(pairs))

"""Successes and trials of each contract -> pass@k and pass^k (pure)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from steelyard.stats.bounded_mean import bounded_mean
from steelyard.stats.clusters import Cluster, rate_over_contracts
from steelyard.stats.estimate import Estimate, unknown

USUAL = 0.95  # level of the interval of a success rate


def pass_at_k(clusters: Sequence[Cluster], k: int, level: float = 0.95) -> Estimate:
    """The chance that at least one of k trials succeeds: mean over contracts of 1 - C(n-c, k) / C(n, k).

    Unbiased for each contract with n >= k trials (Chen and others 2021, equation 1). The interval is over contracts.
    """
    return _over_contracts(clusters, k, f"pass@{k}", at_least_one, level)


def pass_hat_k(clusters: Sequence[Cluster], k: int, level: float = 0.95) -> Estimate:
    """The chance that all of k trials succeed: mean over contracts of C(c, k) / C(n, k) (Yao and others 2024)."""
    return _over_contracts(clusters, k, f"pass^{k}", all_of_them, level)


def at_least_one(successes: int, trials: int, k: int) -> float:
    """1 - C(n-c, k) / C(n, k), as a product that does not overflow."""
    missed = 1.0
    for step in range(k):
        missed *= max(0, trials - successes - step) / (trials - step)
    return 1 - missed


def all_of_them(successes: int, trials: int, k: int) -> float:
    """C(c, k) / C(n, k)."""
    share = 1.0
    for step in range(k):
        share *= max(0, successes - step) / (trials - step)
    return share


def _over_contracts(
    clusters: Sequence[Cluster], k: int, name: str, of_one: Callable[[int, int, int], float], level: float
) -> Estimate:
    if k < 1:
        raise ValueError(f"k is at least 1, not {k}")
    tried = [Cluster(*one) for one in clusters if one[1]]
    enough = [one for one in tried if one.trials >= k]
    trials = sum(one.trials for one in enough)
    if not enough:
        most = max((one.trials for one in tried), default=0)
        return unknown(
            f"{name} needs {k} decided trials of a contract, and no contract has more than {most}",
            method=name,
        )
    found = bounded_mean([of_one(*one, k) for one in enough], trials, name, level, k)
    if k == 1 and level == USUAL and len(enough) > 1 and len({one.trials for one in enough}) == 1:
        # One trial of each contract is what the success rate is about: both have the same interval.
        of_rate = rate_over_contracts(enough)
        found = replace(found, low=of_rate.low, high=of_rate.high)
    short = len(tried) - len(enough)
    if short:
        return found.with_assumptions(
            f"{short} of {len(tried)} contracts have fewer than {k} decided trials and are left out"
        )
    return found

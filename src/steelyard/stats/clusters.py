"""Successes by contract -> a rate with an interval that knows that repeats of one contract are alike (pure).

One contract                Wilson over its repeats: it speaks of this contract only
several, each tried once    Wilson: the trials are as independent as the contracts are
several, some repeated      Wilson at the effective sample size: see cluster_interval.py
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Literal, NamedTuple

from steelyard.stats.cluster_interval import interval_ends
from steelyard.stats.estimate import Estimate, unknown
from steelyard.stats.interval import Rate, wilson
from steelyard.stats.student_t import t_quantile

Scope = Literal["", "contract", "contracts"]


class Cluster(NamedTuple):
    """One contract: how many of its trials succeeded."""

    successes: int
    trials: int


class ClusteredRate(NamedTuple):
    """A rate over contracts. `scope` says what the interval speaks of: one contract, or contracts like these."""

    rate: Rate
    clusters: int
    scope: Scope

    @property
    def successes(self) -> int:
        return self.rate.successes

    @property
    def trials(self) -> int:
        return self.rate.trials


def clustered_rate(clusters: Iterable[Cluster]) -> ClusteredRate:
    """Contracts without a trial count for nothing."""
    tried = [Cluster(*one) for one in clusters if one[1]]
    successes, trials = sum(one.successes for one in tried), sum(one.trials for one in tried)
    plain = wilson(successes, trials)
    if len(tried) <= 1:
        return ClusteredRate(plain, len(tried), "contract" if tried else "")
    if all(one.trials == 1 for one in tried):
        return ClusteredRate(plain, len(tried), "contracts")
    low, high = interval_ends([one.successes for one in tried], [one.trials for one in tried])
    return ClusteredRate(plain._replace(low=low, high=high), len(tried), "contracts")


def cluster_variance(clusters: list[Cluster]) -> float:
    """Of the rate over all trials, with contracts as the sampling units."""
    contracts, trials = len(clusters), sum(one.trials for one in clusters)
    rate = sum(one.successes for one in clusters) / trials
    squares = sum((one.successes - rate * one.trials) ** 2 for one in clusters)
    return contracts / (contracts - 1) * squares / trials**2


def rate_over_contracts(clusters: Iterable[Cluster]) -> Estimate:
    """The success rate with the interval of this file, as an `Estimate`."""
    found = clustered_rate(clusters)
    rate = found.rate
    if rate.rate is None:
        return unknown("there is no decided trial", method="Wilson")
    assumptions = {
        "contract": "one contract: the interval is about repeats of this contract, not about other contracts",
        "contracts": "contracts are independent; repeats of one contract are one cluster",
    }
    repeated = found.scope == "contracts" and found.trials > found.clusters
    method = "Wilson at the effective sample size, contracts as clusters" if repeated else "Wilson"
    return Estimate(
        rate.rate, rate.low, rate.high, method, found.trials, found.clusters, (assumptions[found.scope],)
    )


def cluster_robust_rate(clusters: Iterable[Cluster]) -> Estimate:
    """The plain sandwich interval p +- t * sqrt(V) with m - 1 degrees of freedom (Liang and Zeger 1986).

    Reported beside others and never alone: at rates near 0 and 1 it covers too little.
    """
    method = "cluster-robust (sandwich), t"
    tried = [Cluster(*one) for one in clusters if one[1]]
    if len(tried) < 2:
        return unknown(
            "a cluster-robust interval needs at least 2 contracts", method=method, clusters=len(tried)
        )
    trials = sum(one.trials for one in tried)
    rate = sum(one.successes for one in tried) / trials
    half = t_quantile(len(tried) - 1) * math.sqrt(cluster_variance(tried))
    return Estimate(
        rate, rate - half, rate + half, method, trials, len(tried), ("contracts are independent",)
    )

"""Decided and undecided trials of each contract -> what the undecided ones could change (pure).

Worst and best case: all undecided trials failed, or all succeeded (Manski 1990). Multiple imputation: each is drawn from
what the decided trials of its contract and of the agent show; M completed tables are pooled by Rubin's rules (1987).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import special

from steelyard.stats.bootstrap import SEED
from steelyard.stats.clusters import Cluster, cluster_variance, rate_over_contracts
from steelyard.stats.estimate import Estimate, unknown
from steelyard.stats.interval import wilson_ends

IMPUTATIONS = 50
PRIOR_TRIALS = 2.0  # how many trials the agent's overall rate counts beside a contract's own


class Counts(NamedTuple):
    """One contract: successes, failures, and trials without a decision."""

    successes: int
    failures: int
    undecided: int = 0

    @property
    def decided(self) -> Cluster:
        return Cluster(self.successes, self.successes + self.failures)


@dataclass(frozen=True, slots=True)
class Bounds:
    """The rate if all undecided trials had failed, and if all had succeeded, each with its interval."""

    worst: Estimate
    best: Estimate
    undecided: int
    trials: int

    def to_json(self) -> dict[str, object]:
        return {
            "worst": self.worst.to_json(),
            "best": self.best.to_json(),
            "undecided": self.undecided,
            "trials": self.trials,
        }


def bounds(counts: Sequence[Counts]) -> Bounds:
    worst = rate_over_contracts(Cluster(one.successes, sum(one)) for one in counts)
    best = rate_over_contracts(Cluster(one.successes + one.undecided, sum(one)) for one in counts)
    return Bounds(worst, best, sum(one.undecided for one in counts), sum(sum(one) for one in counts))


def impute(counts: Sequence[Counts], imputations: int = IMPUTATIONS, seed: int = SEED) -> Estimate:
    """Draw p_i ~ Beta(s_i + a*p, f_i + a*(1-p)) and then the undecided trials of contract i; pool by Rubin's rules.

    It assumes that undecided trials of a contract succeed as often as its decided ones (missing at random).
    """
    method = f"multiple imputation, {imputations} tables, seed {seed}, Rubin's rules"
    tried = [one for one in counts if sum(one)]
    decided = [one.decided for one in tried if one.decided.trials]
    trials = sum(sum(one) for one in tried)
    if len(decided) < 2:
        return unknown("imputation needs decided trials of at least 2 contracts", method=method, n=trials)
    rate = sum(one.successes for one in decided) / sum(one.trials for one in decided)
    rate = min(max(rate, 0.5 / trials), 1 - 0.5 / trials)
    generator = np.random.default_rng(seed)
    values, variances = [], []
    for _ in range(imputations):
        completed = [_complete(one, rate, generator) for one in tried]
        values.append(sum(one.successes for one in completed) / trials)
        variances.append(cluster_variance(completed))
    pooled = pool(values, variances, len(tried) - 1)
    low, high = _pooled_ends(pooled, decided, len(tried), trials)
    assumptions = ("undecided trials succeed as often as decided ones of the same contract",)
    return Estimate(pooled.value, low, high, method, trials, len(tried), assumptions)


def _complete(one: Counts, rate: float, generator: np.random.Generator) -> Cluster:
    if not one.undecided:
        return one.decided
    chance = generator.beta(one.successes + PRIOR_TRIALS * rate, one.failures + PRIOR_TRIALS * (1 - rate))
    return Cluster(one.successes + int(generator.binomial(one.undecided, chance)), sum(one))


class PooledEstimate(NamedTuple):
    """Rubin's rules: mean, total variance, degrees of freedom."""

    value: float
    variance: float
    degrees: float


def pool(values: Sequence[float], variances: Sequence[float], complete_degrees: float) -> PooledEstimate:
    """T = U + (1 + 1/M) * B, with the degrees of freedom of Barnard and Rubin (1999)."""
    count = len(values)
    value = math.fsum(values) / count
    within = math.fsum(variances) / count
    between = math.fsum((one - value) ** 2 for one in values) / (count - 1)
    total = within + (1 + 1 / count) * between
    if total == 0 or between == 0:
        return PooledEstimate(value, total, complete_degrees)
    missing = (1 + 1 / count) * between / total
    old = (count - 1) / missing**2
    observed = (complete_degrees + 1) / (complete_degrees + 3) * complete_degrees * (1 - missing)
    return PooledEstimate(value, total, old if observed == 0 else old * observed / (old + observed))


def _pooled_ends(
    pooled: PooledEstimate, decided: Sequence[Cluster], contracts: int, trials: int
) -> tuple[float, float]:
    """Wilson's shape at the effective number of trials p(1-p) / T; where all decided trials agree, one for each contract."""
    rate, z = pooled.value, float(special.ndtri(0.975))
    agree = all(not one.successes for one in decided) or all(one.successes == one.trials for one in decided)
    if agree or pooled.variance == 0:
        return wilson_ends(rate, contracts, z)
    worth = min(float(trials), rate * (1 - rate) / pooled.variance)
    return wilson_ends(rate, worth * (z / float(special.stdtrit(max(1.0, pooled.degrees), 0.975))) ** 2, z)


def conclusion(difference: Estimate) -> str:
    """`better`, `worse` or `undecided`: whether the interval of a difference excludes 0."""
    if difference.low is None or difference.high is None:
        return "undecided"
    if difference.low > 0:
        return "better"
    return "worse" if difference.high < 0 else "undecided"


def is_fragile(primary: Estimate, *extremes: Estimate) -> bool:
    """Whether some choice for the undecided trials leads to another conclusion than the primary analysis."""
    return any(conclusion(one) != conclusion(primary) for one in extremes)

"""Cost and successes of each contract -> cost for each success, and which agents are not dominated (pure)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from scipy import special

from steelyard.stats.bootstrap import BLOCK, DEFAULT, FEWEST, Resampling
from steelyard.stats.estimate import Estimate, check_level, count_missing, unknown


class Spending(NamedTuple):
    """One contract: what all trials of an agent cost together, and how many of them succeeded."""

    cost: float
    successes: int
    trials: int = 1


def cost_per_success(rows: Sequence[Spending], level: float = 0.95) -> Estimate:
    """Total cost by total successes, with the interval of Fieller (1954) over contracts.

    R with |X - R * Y| <= t * sqrt(m * var(x_i - R * y_i)), X and Y the totals over m contracts. If the number of
    successes could be 0, the interval has no upper end.
    """
    method = "ratio of totals, Fieller over contracts"
    if missing := count_missing(one.cost for one in rows):
        return unknown(
            f"the cost of {missing} of {len(rows)} contract{'' if len(rows) == 1 else 's'} is not known",
            method=method,
        )
    contracts, trials = len(rows), sum(one.trials for one in rows)
    successes, total = sum(one.successes for one in rows), math.fsum(one.cost for one in rows)
    if not successes:
        return unknown("there is no success to divide by", method=method, n=trials, clusters=contracts)
    ratio = total / successes
    if contracts < FEWEST or not total:
        why = "no trial cost anything" if not total else "one contract gives no interval"
        return Estimate(ratio, None, None, method, trials, contracts, (), level, why)
    low, high = _fieller(rows, total, successes, check_level(level))
    assumptions = ("contracts are independent", "cost counts every trial, also those that failed")
    return Estimate(ratio, low, high, method, trials, contracts, assumptions, level)


def _fieller(rows: Sequence[Spending], total: float, successes: int, level: float) -> tuple[float, float]:
    """The roots of (Y^2 - t^2 Vyy) R^2 - 2 (X Y - t^2 Vxy) R + (X^2 - t^2 Vxx) = 0."""
    table = np.array([(one.cost, one.successes) for one in rows], dtype=float)
    covariance = np.cov(table, rowvar=False, ddof=1) * len(rows)
    t2 = float(special.stdtrit(len(rows) - 1, 0.5 + level / 2)) ** 2
    a = successes**2 - t2 * covariance[1, 1]
    b = total * successes - t2 * covariance[0, 1]
    c = total**2 - t2 * covariance[0, 0]
    root = math.sqrt(max(0.0, b * b - a * c))
    if a <= 0:  # the successes of other contracts could be none at all
        return (max(0.0, float(c / (b + root))) if b + root > 0 else 0.0), math.inf
    return max(0.0, float((b - root) / a)), float((b + root) / a)


class OnFront(NamedTuple):
    """One agent: mean cost of a trial, success rate, whether no agent is both cheaper and better, and how sure that is."""

    name: str
    cost: float
    rate: float
    on_front: bool
    probability: float | None  # share of resamples of contracts in which the agent is on the front


class Front(NamedTuple):
    points: tuple[OnFront, ...]
    contracts: int
    method: str
    why: str = ""  # who is left out, or why there is no front


def pareto_front(agents: Mapping[str, Mapping[str, Spending]], how: Resampling = DEFAULT) -> Front:
    """Agents that no other agent dominates in cost and success, over the contracts that all of them share.

    Contracts are resampled, the same for all agents, and the front is found again in each resample.
    """
    method = f"cluster bootstrap of shared contracts, {how.resamples} resamples, seed {how.seed}"
    priced = {
        name: rows
        for name, rows in agents.items()
        if rows and not count_missing(one.cost for one in rows.values())
    }
    why = _left_out(agents)
    shared = sorted(set.intersection(*(set(rows) for rows in priced.values()))) if priced else []
    if not shared:
        return Front((), 0, method, why or "the agents share no contract")
    names = list(priced)
    table = np.array([[priced[name][contract] for contract in shared] for name in names], dtype=float)
    totals = table.sum(axis=1)  # agent x (cost, successes, trials)
    cost, rate = totals[:, 0] / totals[:, 2], totals[:, 1] / totals[:, 2]
    front = _undominated(cost[None], rate[None])[0]
    shares = _front_shares(table, how) if len(shared) >= FEWEST else [None] * len(names)
    points = tuple(
        OnFront(name, float(cost[at]), float(rate[at]), bool(front[at]), shares[at])
        for at, name in enumerate(names)
    )
    return Front(points, len(shared), method, why)


def _left_out(agents: Mapping[str, Mapping[str, Spending]]) -> str:
    """Which agents have no place in the front, and why."""
    empty = sorted(name for name, rows in agents.items() if not rows)
    unpriced = sorted(
        name for name, rows in agents.items() if count_missing(one.cost for one in rows.values())
    )
    found = [("no decided trial", empty), ("cost is not known", unpriced)]
    return "; ".join(f"{why}: {', '.join(names)}" for why, names in found if names)


def _front_shares(table: np.ndarray, how: Resampling) -> list[float | None]:
    generator, contracts = np.random.default_rng(how.seed), table.shape[1]
    columns = np.ascontiguousarray(table.transpose(0, 2, 1))  # agent x (cost, successes, trials) x contract
    hits = np.zeros(len(table))
    for start in range(0, how.resamples, BLOCK):
        count = min(BLOCK, how.resamples - start)
        chosen = generator.integers(0, contracts, (count, contracts))
        totals = np.array([[column[chosen].sum(axis=1) for column in agent] for agent in columns])
        cost, rate = totals[:, 0] / totals[:, 2], totals[:, 1] / totals[:, 2]  # agent x resample
        hits += _undominated(cost.T, rate.T).sum(axis=0)
    return [float(share) for share in hits / how.resamples]


def _undominated(cost: np.ndarray, rate: np.ndarray) -> np.ndarray:
    """Row by row: no other agent is at least as good in both and better in one."""
    cheaper = cost[:, :, None] <= cost[:, None, :]
    better = rate[:, :, None] >= rate[:, None, :]
    strictly = (cost[:, :, None] < cost[:, None, :]) | (rate[:, :, None] > rate[:, None, :])
    return np.logical_not((cheaper & better & strictly).any(axis=1))

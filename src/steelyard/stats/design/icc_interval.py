"""Successes of each contract -> the ends of an interval of their intra-contract correlation (pure).

Model: beta-binomial with mean p and correlation r >= 0 (Williams 1975). The likelihood of r takes p from all trials. The
statistic of a candidate r is twice the difference between the largest log-likelihood and that of r. Its distribution is not
chi-squared here: trials are few, and r may be 0. So studies of the same design are drawn from the model with the candidate
and the pooled rate (parametric bootstrap; Davison and Hinkley 1997, 4.4.3), and a candidate is in the interval if its
mid-P value is above 5%. One ordering for both ends: at r = 0, where only one side can be missed, that side has all of 5%
(Feldman and Cousins 1998).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import special

Floats = npt.NDArray[np.float64]

DRAWS = 2000  # studies for each candidate
FEWEST_DRAWS, MANY_REPEATS = (
    200,
    100,
)  # with more repeats of a contract fewer studies are drawn: time grows with both
_BLOCK = 4_000_000  # logarithms at once
SEED = 20260307
LEAST = 3  # successes, and failures: fewer show nothing about how alike repeats are
LARGEST = 0.995  # candidate; beyond it the interval reaches 1
CANDIDATES = np.array(
    [0, .005, .01, .02, .03, .045, .06, .08, .1, .125, .15, .175, .2, .225, .25, .3, .35, .4, .45, .5, .55, .6, .65, .7, .75,
     .8, .85, .9, .93, .95, .97, .98, .99, LARGEST]
)  # fmt: skip


class SizeGroup(NamedTuple):
    """The contracts that have the same number of trials: how many of them have 0, 1, 2, ... successes, for each study."""

    trials: int
    tables: Floats  # studies x (trials + 1)

    @property
    def contracts(self) -> int:
        return int(self.tables[0].sum()) if len(self.tables) else 0


def likelihood_ratio_ends(
    successes: Sequence[int], trials: Sequence[int], level: float, draws: int = DRAWS
) -> tuple[float, float]:
    """For at least `LEAST` successes and as many failures."""
    observed = size_groups(successes, trials)
    rate = sum(successes) / sum(trials)
    statistics = likelihood_ratios(observed)[0]
    draws = min(draws, max(FEWEST_DRAWS, draws * MANY_REPEATS // max(trials)))
    tested: dict[int, float] = {}

    def excess(at: int) -> float:
        """The P value of a candidate, less what rejects it."""
        if at not in tested:
            tested[at] = mid_p(drawn_ratios(observed, rate, at, draws), float(statistics[at])) - (1 - level)
        return tested[at]

    best, last = int(statistics.argmin()), len(CANDIDATES) - 1
    low, high = _boundary(excess, best, 0), _boundary(excess, best, last)
    return low, 1.0 if high >= LARGEST else high


def _boundary(excess: Callable[[int], float], inside: int, outermost: int) -> float:
    """Where the P value falls below the limit between the best candidate and the outermost one."""
    if excess(outermost) > 0:
        return float(CANDIDATES[outermost])
    outside = outermost
    while abs(inside - outside) > 1:
        middle = (inside + outside) // 2
        inside, outside = (middle, outside) if excess(middle) > 0 else (inside, middle)
    above, below = max(excess(inside), 0.0), excess(outside)
    share = above / (above - below) if above > below else 0.0
    return float(CANDIDATES[inside] + share * (CANDIDATES[outside] - CANDIDATES[inside]))


def size_groups(successes: Sequence[int], trials: Sequence[int]) -> list[SizeGroup]:
    won, sizes = np.asarray(successes), np.asarray(trials)
    return [
        SizeGroup(int(size), np.bincount(won[sizes == size], minlength=size + 1)[None, :].astype(float))
        for size in np.unique(sizes)
    ]


def drawn_ratios(design: Sequence[SizeGroup], rate: float, at: int, draws: int = DRAWS) -> Floats:
    """The statistics of a candidate in studies of this design that are drawn from its model, of those with an estimate."""
    generator = np.random.default_rng([SEED, at])
    drawn = [
        group._replace(
            tables=generator.multinomial(
                group.contracts, chances(group.trials, rate, float(CANDIDATES[at])), draws
            ).astype(float)
        )
        for group in design
    ]
    won, total = _totals(drawn)
    estimable = np.minimum(won, total - won) >= LEAST
    ratios = likelihood_ratios([group._replace(tables=group.tables[estimable]) for group in drawn])
    of_candidate: Floats = ratios[:, at]
    return of_candidate


def mid_p(drawn: Floats, statistic: float) -> float:
    """The share of drawn statistics that are larger than the observed one, and half of those that equal it."""
    if not len(drawn):
        return 1.0
    return float((drawn > statistic + 1e-9).mean() + (drawn > statistic - 1e-9).mean()) / 2


def _totals(groups: Sequence[SizeGroup]) -> tuple[Floats, int]:
    """Successes of each study, and the trials of a study."""
    won = sum(group.tables @ np.arange(group.trials + 1) for group in groups)
    return np.asarray(won), sum(group.contracts * group.trials for group in groups)


def likelihood_ratios(groups: Sequence[SizeGroup]) -> Floats:
    """2 (max l - l(r)) of each study for each candidate r, with the rate of all trials of that study.

    l(r) = sum_j A_j log(p + jt) + B_j log(1 - p + jt) - m log(1 + jt), t = r / (1 - r); A_j contracts have more than j
    successes, B_j more than j failures.
    """
    won, total = _totals(groups)
    rates, found = won / total, np.zeros((len(won), len(CANDIDATES)))
    for group in groups:
        steps = np.arange(group.trials) * (CANDIDATES / (1 - CANDIDATES))[:, None]
        good = group.tables[:, :0:-1].cumsum(axis=1)[:, ::-1]
        bad = group.tables[:, :-1].cumsum(axis=1)[:, ::-1]
        block = max(1, _BLOCK // steps.size)
        for start in range(0, len(won), block):
            rows = slice(start, start + block)
            chance = rates[rows, None, None]
            found[rows] += np.einsum("sj,srj->sr", good[rows], np.log(chance + steps))
            found[rows] += np.einsum("sj,srj->sr", bad[rows], np.log(1 - chance + steps))
        found -= group.contracts * np.log1p(steps).sum(axis=1)
    ratios: Floats = 2 * (found.max(axis=1, keepdims=True) - found)
    return ratios


def chances(trials: int, rate: float, correlation: float) -> Floats:
    """P(y) of the beta-binomial distribution for y = 0..trials successes.

    With t = r / (1 - r):  C(n, y) prod_{j<y} (p + jt) prod_{j<n-y} (1 - p + jt) / prod_{j<n} (1 + jt).
    """
    steps = np.arange(trials) * correlation / (1 - correlation)
    good = np.concatenate([[0.0], np.log(rate + steps).cumsum()])
    bad = np.concatenate([[0.0], np.log(1 - rate + steps).cumsum()])[::-1]
    count = np.arange(trials + 1)
    ways = special.gammaln(trials + 1) - special.gammaln(count + 1) - special.gammaln(trials - count + 1)
    found = np.exp(ways + good + bad - np.log1p(steps).sum())
    normal: Floats = found / found.sum()
    return normal

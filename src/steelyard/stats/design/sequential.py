"""When a study may be looked at before its end: alpha spending, or an interval that is valid at every look (pure).

A look at unfinished results that was not planned raises the chance of a false claim. So a comparison of an unfinished study
needs a rule that was registered before, and `require_rule` refuses in words where there is none.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Literal, NamedTuple

import numpy as np
from scipy import special

from steelyard.stats.estimate import Estimate, check_level, unknown

Spending = Literal["obrien_fleming", "pocock"]
ANYTIME = "anytime"
_NODES = 400  # of the Gauss-Legendre rule on each continuation region
_CANDIDATES = 2000  # steps between the smallest and the largest mean
_LARGEST_BET = 0.75
_WIDEST = 10.0  # standard deviations; the normal density beyond is below 1e-22


def spent_alpha(rule: Spending, fraction: float, alpha: float = 0.05) -> float:
    """Two-sided alpha that may be spent when `fraction` of the information is there (Lan and DeMets 1983).

    O'Brien-Fleming type: 4 - 4 ndtr(z_{a/4} / sqrt(f)), which is a/2 on each side; Pocock type: a * log(1 + (e - 1) f).
    """
    if not 0 <= fraction <= 1:
        raise ValueError(f"an information fraction is between 0 and 1, not {fraction}")
    if fraction == 0:
        return 0.0
    if rule == "obrien_fleming":
        return float(4 * special.ndtr(special.ndtri(alpha / 4) / math.sqrt(fraction)))
    return alpha * math.log(1 + (math.e - 1) * fraction)


class Look(NamedTuple):
    """One planned look: how much information there is, the limit of |z|, and alpha spent up to it."""

    fraction: float
    limit: float
    spent: float
    nominal: float  # two-sided p-value that this look has to be below


def boundaries(rule: Spending, fractions: Sequence[float], alpha: float = 0.05) -> list[Look]:
    """The limit of |z| at each look, so that all looks together spend `alpha`.

    Recursive integration of Armitage, McPherson and Rowe (1969): the density of the score process among studies that
    have not stopped, carried from look to look on Gauss-Legendre nodes.
    """
    if not fractions or any(b <= a for a, b in pairwise(fractions)):
        raise ValueError("information fractions increase from look to look")
    points, weights = np.polynomial.legendre.leggauss(_NODES)
    looks: list[Look] = []
    nodes, density, spent, before = np.zeros(1), np.ones(1), 0.0, 0.0
    for fraction in fractions:
        target = spent_alpha(rule, fraction, alpha)
        step = math.sqrt(fraction - before)
        limit = _limit(nodes, density, step, math.sqrt(fraction), target - spent)
        looks.append(Look(fraction, limit, target, float(2 * special.ndtr(-limit))))
        edge = limit * math.sqrt(fraction)
        fresh = points * edge
        carried = np.exp(-(((fresh[:, None] - nodes) / step) ** 2) / 2) / (step * math.sqrt(2 * math.pi))
        nodes, density = fresh, (carried @ density) * weights * edge
        spent, before = target, fraction
    return looks


def look_quantile(rule: Spending, look: int, looks: int, alpha: float = 0.05) -> float:
    """The probability whose quantile bounds the interval of one of several equally spaced looks, such as 0.9992.

    An interval at that quantile, at every look, is wrong at any of them with probability `alpha` at most.
    """
    if not 1 <= look <= looks:
        raise ValueError(f"look {look} of {looks}")
    planned = boundaries(rule, [number / looks for number in range(1, looks + 1)], alpha)
    return 1 - planned[look - 1].nominal / 2


def _limit(nodes: np.ndarray, density: np.ndarray, step: float, scale: float, to_spend: float) -> float:
    """|z| beyond which exactly `to_spend` of the studies that go on will be."""
    low, high = 0.0, _WIDEST
    for _ in range(100):
        middle = (low + high) / 2
        beyond = special.ndtr((nodes - middle * scale) / step) + special.ndtr(
            (-nodes - middle * scale) / step
        )
        low, high = (middle, high) if float(beyond @ density) > to_spend else (low, middle)
    return (low + high) / 2


def anytime_interval(
    values: Sequence[float], level: float = 0.95, span: tuple[float, float] = (-1, 1)
) -> Estimate:
    """A confidence sequence: valid at every look at once, however often and whenever one looks.

    Hedged betting (Waudby-Smith and Ramdas 2024, theorem 3) over contracts in the order in which they finished: a gambler bets
    against each candidate mean, for more and for less, and a candidate that ever lets the mean of both fortunes grow to 1 / alpha
    is out; by Ville's inequality the truth is out in at most alpha of all studies. `values` are the contracts' differences,
    within `span`.
    """
    method = "anytime-valid confidence sequence by betting"
    bottom, width = span[0], span[1] - span[0]
    if not values:
        return unknown("there is no finished contract", method=method)
    scaled = (np.asarray(values, dtype=float) - bottom) / width
    if not np.isfinite(scaled).all() or scaled.min() < 0 or scaled.max() > 1:
        return unknown(f"a value is missing or outside {span[0]}..{span[1]}", method=method, n=len(values))
    low, high = _betting_ends(scaled, 1 - check_level(level))
    mean = float(np.mean(values))
    ends = (min(mean, bottom + width * low), max(mean, bottom + width * high))
    return Estimate(
        mean, *ends, method, len(values), len(values),
        ("contracts finish in an order that does not depend on their results",), level,
    )  # fmt: skip


def _betting_ends(scaled: np.ndarray, alpha: float) -> tuple[float, float]:
    """The candidates that no look so far excludes, and one candidate more on each side.

    The bet is sqrt(2 log(2 / alpha) / (v t log(t + 1))) with the variance v of the values before, at most `_LARGEST_BET` of the
    fortune.
    """
    count = np.arange(1, len(scaled) + 1)
    mean = (0.5 + np.cumsum(scaled)) / (count + 1)
    variance = (0.25 + np.cumsum((scaled - mean) ** 2)) / (count + 1)
    before = np.concatenate([[0.25], variance[:-1]])
    bet = np.sqrt(2 * math.log(2 / alpha) / (before * count * np.log(count + 1)))[:, None]
    candidates = np.arange(_CANDIDATES + 1) / _CANDIDATES
    off = scaled[:, None] - candidates
    for_more = np.minimum(bet, _LARGEST_BET / np.maximum(candidates, 1e-12)) * off
    for_less = np.minimum(bet, _LARGEST_BET / np.maximum(1 - candidates, 1e-12)) * -off
    fortune = np.logaddexp(np.log1p(for_more).cumsum(axis=0), np.log1p(for_less).cumsum(axis=0)) - math.log(2)
    possible = np.flatnonzero(fortune.max(axis=0) < math.log(1 / alpha))
    if not len(possible):  # one study in 1 / alpha may exclude everything
        return 0.0, 1.0
    return max(0, possible[0] - 1) / _CANDIDATES, min(_CANDIDATES, possible[-1] + 1) / _CANDIDATES


class LookRule(NamedTuple):
    """What a plan registers for looks: alpha spending at `looks` equally spaced looks, or `anytime`."""

    rule: str
    looks: int
    repeats: int  # of each agent on each contract: a contract counts for `anytime` when it has them all

    @property
    def is_anytime(self) -> bool:
        return self.rule == ANYTIME

    def reached(self, done: int, planned: int) -> int:
        """How many of the looks are reached."""
        return min(self.looks, done * self.looks // planned)

    def repeats_at(self, look: int) -> int:
        """The repeats that a look is about.

        What is finished after it belongs to the next look: a comparison of it would be one more look at the same level.
        """
        return look * self.repeats // self.looks

    def level(self, done: int, planned: int) -> float:
        """The confidence level of a comparison now: at the last look that is reached."""
        return self.level_at(self.reached(done, planned))

    def level_at(self, look: int) -> float:
        """The last look too is above 0.95, if there are several."""
        if self.is_anytime or self.looks == 1:
            return 0.95
        spending: Spending = "pocock" if self.rule == "pocock" else "obrien_fleming"
        return 1 - 2 * (1 - look_quantile(spending, max(1, look), self.looks))


class PeekingRefused(ValueError):
    """A comparison of an unfinished study without a stopping rule, or before its first look."""


def require_rule(done: int, planned: int, rule: LookRule | None) -> None:
    """Refuse to conclude from an unfinished study whose plan has no rule for looking now."""
    if done >= planned:
        return
    if rule is None:
        raise PeekingRefused(
            f"{done} of {planned} planned trials are finished, and the plan has no rule for looking early: "
            "a conclusion now would be wrong more often than its level says. Finish the study; the next one can be planned "
            "with a rule (`steelyard plan --stopping obrien-fleming`)"
        )
    first = math.ceil(planned / rule.looks)
    if not rule.is_anytime and done < first:
        raise PeekingRefused(
            f"{done} of {planned} planned trials are finished, and the first of {rule.looks} registered looks is after {first}"
        )

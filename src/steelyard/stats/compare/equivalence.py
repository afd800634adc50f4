"""Pairs and a margin -> whether two agents are equivalent, or the second is not worse (pure)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from steelyard.stats.compare.pairs import Pair
from steelyard.stats.estimate import Estimate
from steelyard.stats.skewed_mean import chance_above


class MarginTest(NamedTuple):
    """The p-value of a claim about a margin; None and `why` where it cannot be tested, or where an interval decides it."""

    claim: str
    margin: float
    p: float | None
    method: str
    contracts: int
    why: str = ""
    by_interval: bool | None = None  # what an interval says, where that and no p-value decides

    def holds(self, alpha: float = 0.05) -> bool:
        return self.by_interval is True or (self.p is not None and self.p <= alpha)


def within_interval(difference: Estimate, margin: float, *, both_sides: bool) -> MarginTest:
    """The same claims by an interval, as at a look before the end of a study: all of it is beyond -margin, or within both margins.

    It spends no more than the interval does, which a test at 5% beside it would.
    """
    claim, method = "equivalent" if both_sides else "not worse", f"interval, {difference.method}"
    if difference.low is None or difference.high is None:
        return MarginTest(
            claim, margin, None, method, difference.clusters, difference.why or "there is no interval"
        )
    held = difference.low > -margin and (not both_sides or difference.high < margin)
    return MarginTest(claim, margin, None, method, difference.clusters, by_interval=held)


def equivalence(pairs: Sequence[Pair], margin: float) -> MarginTest:
    """Two one-sided t-tests (Schuirmann 1987): |D| < margin if both D > -margin and D < margin hold; p is the larger one.

    They are those of the interval of `paired_difference`: p is 5% where its 90% interval ends at the margin.
    """
    above, below = _one_sided(pairs, margin)
    method = "TOST, paired t over contracts"
    if above is None or below is None:
        return MarginTest("equivalent", margin, None, method, len(pairs), _TOO_FEW)
    return MarginTest("equivalent", margin, max(above, below), method, len(pairs))


def non_inferiority(pairs: Sequence[Pair], margin: float) -> MarginTest:
    """One-sided t-test of D > -margin: the second agent is worse by less than the margin."""
    above, _below = _one_sided(pairs, margin)
    method = "non-inferiority, one-sided paired t over contracts"
    return MarginTest("not worse", margin, above, method, len(pairs), "" if above is not None else _TOO_FEW)


_TOO_FEW = "a test over contracts needs at least 2 shared contracts"


def _one_sided(pairs: Sequence[Pair], margin: float) -> tuple[float | None, float | None]:
    """The p-values of D > -margin and of D < margin."""
    if not (math.isfinite(margin) and margin > 0):
        raise ValueError(f"a margin is above 0, not {margin}")
    contracts = len(pairs)
    if contracts < 2:
        return None, None
    differences = [float(pair.difference) for pair in pairs]
    mean = math.fsum(differences) / contracts
    squares = math.fsum((one - mean) ** 2 for one in differences)
    if squares <= 1e-24:
        return _without_variation(mean, margin, contracts), _without_variation(-mean, margin, contracts)
    return chance_above(differences, -margin), 1 - chance_above(differences, margin)


def _without_variation(difference: float, margin: float, contracts: int) -> float:
    """The chance that no contract differs although so many do that the mean is -margin, as in `paired_difference`.

    p = (1 - s)^m,  D - s (D + 1) = -margin
    """
    if difference <= -margin:
        return 1.0
    return (1 - min(1.0, (difference + margin) / (difference + 1))) ** contracts

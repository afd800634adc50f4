"""Successes out of independent trials -> a rate with an exact or a score interval (pure)."""

from __future__ import annotations

from scipy import special

from steelyard.stats.estimate import Estimate, check_level, unknown
from steelyard.stats.interval import wilson

_INDEPENDENT = ("trials are independent of each other",)


def check_counts(successes: int, trials: int) -> None:
    if not 0 <= successes <= trials:
        raise ValueError(f"{successes} successes out of {trials}")


def wilson_rate(successes: int, trials: int, level: float = 0.95) -> Estimate:
    """The score interval of Wilson (1927).

    (p + z^2/2n +- z * sqrt(p(1-p)/n + z^2/4n^2)) / (1 + z^2/n)
    """
    check_counts(successes, trials)
    if not trials:
        return unknown("there is no trial", method="Wilson")
    z = float(special.ndtri(0.5 + check_level(level) / 2))
    rate = wilson(successes, trials, z)
    return Estimate(rate.rate, rate.low, rate.high, "Wilson", trials, 0, _INDEPENDENT, level)


def clopper_pearson(successes: int, trials: int, level: float = 0.95) -> Estimate:
    """The exact interval of Clopper and Pearson (1934): it covers at least `level`, usually more.

    low: Beta(a/2; x, n-x+1), high: Beta(1-a/2; x+1, n-x), with a = 1 - level
    """
    check_counts(successes, trials)
    method = "Clopper-Pearson"
    if not trials:
        return unknown("there is no trial", method=method)
    tail = (1 - check_level(level)) / 2
    failures = trials - successes
    low = 0.0 if not successes else float(special.betaincinv(successes, failures + 1, tail))
    high = 1.0 if not failures else float(special.betaincinv(successes + 1, failures, 1 - tail))
    return Estimate(successes / trials, low, high, method, trials, 0, _INDEPENDENT, level)

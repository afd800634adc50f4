"""Raters' answers about the same things -> how far they agree beyond chance (pure): Cohen's kappa, Krippendorff's alpha.

             other: yes   other: no
one: yes         a            b
one: no          c            d
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from steelyard.stats.estimate import Estimate, unknown
from steelyard.stats.interval import Z95

KAPPA = "Cohen's kappa, large-sample interval"


class Table(NamedTuple):
    """How often each pair of answers was given."""

    both: int
    only_one: int  # the first rater alone says yes
    only_other: int
    neither: int

    @property
    def total(self) -> int:
        return sum(self)


def cohens_kappa(table: Table, z: float = Z95) -> Estimate:
    """(observed - chance) / (1 - chance) (Cohen 1960), with the large-sample interval of Fleiss, Cohen and Everitt (1969).

    The interval stays within -1..1. Where one answer is all that both raters gave, chance explains everything.
    """
    if min(table) < 0:
        raise ValueError(f"counts are not negative: {table}")
    n = table.total
    if n == 0:
        return unknown("nothing was rated by both", method=KAPPA)
    p = [[table.both / n, table.only_one / n], [table.only_other / n, table.neither / n]]
    one = [sum(row) for row in p]
    other = [p[0][column] + p[1][column] for column in (0, 1)]
    observed, chance = p[0][0] + p[1][1], one[0] * other[0] + one[1] * other[1]
    if math.isclose(chance, 1.0):
        return unknown("both gave one answer only", method=KAPPA, n=n)
    kappa = (observed - chance) / (1 - chance)
    half = z * math.sqrt(max(0.0, _variance(p, one, other, kappa) / n)) / (1 - chance)
    assumptions = ("what is rated is independent of each other",)
    return Estimate(kappa, max(-1.0, kappa - half), min(1.0, kappa + half), KAPPA, n, n, assumptions)


def _variance(p: list[list[float]], one: list[float], other: list[float], kappa: float) -> float:
    """Times n, and times the square of one less what chance explains."""
    chance = one[0] * other[0] + one[1] * other[1]
    agreeing = sum(p[i][i] * (1 - (one[i] + other[i]) * (1 - kappa)) ** 2 for i in (0, 1))
    differing = (1 - kappa) ** 2 * sum(p[i][1 - i] * (other[i] + one[1 - i]) ** 2 for i in (0, 1))
    return agreeing + differing - (kappa - chance * (1 - kappa)) ** 2


RESAMPLES, SEED = 1000, 20260307


def krippendorff_alpha(
    units: Iterable[Sequence[str | None]], *, resamples: int = RESAMPLES, seed: int = SEED
) -> Estimate:
    """1 - observed / expected disagreement (Krippendorff 2011), of any number of raters, for names without an order.

    None is an answer that is missing; `n` counts the units that have two answers or more. The interval has 95%: percentiles
    of a bootstrap over units, with a fixed seed.
    """
    counted = [Counter(answer for answer in unit if answer is not None) for unit in units]
    counted = [counts for counts in counted if counts.total() > 1]
    names = sorted({name for counts in counted for name in counts})
    count, method = (
        len(counted),
        f"Krippendorff's alpha, bootstrap of units, {resamples} resamples, seed {seed}",
    )
    if not counted or len(names) < 2:
        why = "one answer is all that was given" if counted else "nothing has two answers"
        return unknown(why, method=method, n=count)
    import numpy as np  # noqa: PLC0415  # only where labels are compared

    answers = np.array([[counts[name] for name in names] for counts in counted], dtype=float)
    per_unit = answers.sum(axis=1)
    differing = (per_unit**2 - (answers**2).sum(axis=1)) / (per_unit - 1)

    def alpha_of(weights: np.ndarray) -> np.ndarray:
        totals = weights @ answers
        n = totals.sum(axis=-1)
        expected = (n**2 - (totals**2).sum(axis=-1)) / np.maximum(n - 1, 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(1 - (weights @ differing) / expected)

    found = float(alpha_of(np.ones(count)))
    drawn = np.random.default_rng(seed).multinomial(count, np.full(count, 1 / count), size=resamples)
    again = alpha_of(drawn.astype(float))
    again = again[np.isfinite(again)]
    ends = np.percentile(again, [2.5, 97.5]) if again.size else (-1.0, 1.0)
    low, high = max(-1.0, min(found, float(ends[0]))), min(1.0, max(found, float(ends[1])))
    return Estimate(found, low, high, method, count, count, ("units are independent of each other",))

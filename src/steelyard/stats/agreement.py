"""Two raters' yes and no about the same things -> how far they agree beyond chance (pure).

             other: yes   other: no
one: yes         a            b
one: no          c            d
"""

from __future__ import annotations

import math
from typing import NamedTuple

from steelyard.stats.interval import Z95


class Table(NamedTuple):
    """How often each pair of answers was given."""

    both: int
    only_one: int  # the first rater alone says yes
    only_other: int
    neither: int

    @property
    def total(self) -> int:
        return sum(self)


class Kappa(NamedTuple):
    """Cohen's kappa; None where one answer is all that both ever gave, for then chance explains everything."""

    kappa: float | None
    low: float
    high: float


def cohens_kappa(table: Table, z: float = Z95) -> Kappa:
    """With the large-sample interval of Fleiss, Cohen and Everitt (1969), within -1..1."""
    if min(table) < 0:
        raise ValueError(f"counts are not negative: {table}")
    n = table.total
    shares = [[table.both, table.only_one], [table.only_other, table.neither]]
    if n == 0:
        return Kappa(None, -1.0, 1.0)
    p = [[count / n for count in row] for row in shares]
    one = [sum(row) for row in p]
    other = [p[0][column] + p[1][column] for column in (0, 1)]
    observed, chance = p[0][0] + p[1][1], one[0] * other[0] + one[1] * other[1]
    if math.isclose(chance, 1.0):
        return Kappa(None, -1.0, 1.0)
    kappa = (observed - chance) / (1 - chance)
    half = z * math.sqrt(max(0.0, _variance(p, one, other, kappa) / n)) / (1 - chance)
    return Kappa(kappa, max(-1.0, kappa - half), min(1.0, kappa + half))


def _variance(p: list[list[float]], one: list[float], other: list[float], kappa: float) -> float:
    """Times n, and times the square of one less what chance explains."""
    chance = one[0] * other[0] + one[1] * other[1]
    agreeing = sum(p[i][i] * (1 - (one[i] + other[i]) * (1 - kappa)) ** 2 for i in (0, 1))
    differing = (1 - kappa) ** 2 * sum(p[i][1 - i] * (other[i] + one[1 - i]) ** 2 for i in (0, 1))
    return agreeing + differing - (kappa - chance * (1 - kappa)) ** 2

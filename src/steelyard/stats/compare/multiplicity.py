"""Several p-values of one family -> p-values that account for each other (pure)."""

from __future__ import annotations

import math
from collections.abc import Sequence


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjusted p-values of Holm (1979): the chance of one false claim in the family stays below the level.

    The i-th smallest becomes max over j <= i of (m - j + 1) * p_j, at most 1.
    """
    _check(p_values)
    order = sorted(range(len(p_values)), key=lambda at: p_values[at])
    adjusted, largest = [0.0] * len(p_values), 0.0
    for rank, at in enumerate(order):
        largest = max(largest, (len(order) - rank) * p_values[at])
        adjusted[at] = min(1.0, largest)
    return adjusted


def benjamini_hochberg(p_values: Sequence[float]) -> list[float]:
    """Adjusted p-values of Benjamini and Hochberg (1995): the expected share of false claims stays below the level.

    The i-th smallest becomes min over j >= i of m / j * p_j.
    """
    _check(p_values)
    count = len(p_values)
    order = sorted(range(count), key=lambda at: p_values[at], reverse=True)
    adjusted, smallest = [0.0] * count, 1.0
    for rank, at in enumerate(order):
        smallest = min(smallest, count / (count - rank) * p_values[at])
        adjusted[at] = smallest
    return adjusted


def _check(p_values: Sequence[float]) -> None:
    if any(not math.isfinite(p) or not 0 <= p <= 1 for p in p_values):
        raise ValueError(f"a p-value is between 0 and 1: {list(p_values)}")

"""When a number is enough: 0.1 + 0.2 reaches 0.3, and what is not known reaches nothing."""

from __future__ import annotations

TOLERANCE = 1e-9


def is_enough(number: float | None, least: float) -> bool:
    return number is not None and number >= least - TOLERANCE

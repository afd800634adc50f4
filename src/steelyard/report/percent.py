"""Shares, differences of shares and counts -> words: rounded so that they never say none, all or no difference where there is some.

0.62    62%      0.004   0.4%     0.00002  <0.1%     0.9998  >99.9%
+0.09   +9       -0.004  -0.4     -0.0     0
1       1 contract       1200     1,200 contracts
"""

from __future__ import annotations

NOISE = 1e-9  # of floating point


def percent(value: float | None) -> str:
    """One decimal below 1% and above 99%, where whole numbers would say never and always."""
    if value is None:
        return "unknown"
    if NOISE < value < 0.0005:
        return "<0.1%"
    if 0.9995 <= value < 1 - NOISE:
        return ">99.9%"
    is_extreme = NOISE < value < 0.01 or 0.99 < value < 1 - NOISE
    return f"{value:.1%}" if is_extreme else f"{value:.0%}"


def end_points(share: float) -> str:
    """An end of the interval of a difference: `2`, `-9`, `0.3`. Its sign is what decides, so it is never rounded away."""
    value = 100 * share
    if abs(value) < NOISE:
        return "0"
    return f"{value:.0f}" if abs(value) >= 1 else f"{value:.1g}"


def signed_points(share: float) -> str:
    """A difference: `+9`, `-0.4`, `+0`."""
    text = end_points(share)
    return text if text.startswith("-") else f"+{text}"


def amount(count: int, noun: str) -> str:
    """`1 contract`, `1,200 contracts`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"

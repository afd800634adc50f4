"""Student's t distribution for any degrees of freedom, without scipy: a summary after each run prints intervals (pure).

    P(T > t) = I_x(d / 2, 1 / 2) / 2,  x = d / (d + t^2)

I is the regularised incomplete beta function, by its continued fraction (Lentz; DLMF 8.17.22).
"""

from __future__ import annotations

import functools
import math

_TINY = 1e-300
_CLOSE = 1e-15
_STEPS = 500


@functools.lru_cache(maxsize=4096)
def t_quantile(degrees: float, probability: float = 0.975) -> float:
    """For a probability of at least one half.

    Newton steps from 0 approach the result from below, because the tail is convex. A step back is rounding: the result is reached.
    """
    if not 0.5 <= probability < 1:
        raise ValueError(f"a probability from 0.5 to below 1, not {probability}")
    tail, t = 1 - probability, 0.0
    for _ in range(_STEPS):
        step = (t_tail(t, degrees) - tail) / _density(t, degrees)
        t += step
        if step <= _CLOSE * t:
            break
    return t


def t_tail(t: float, degrees: float) -> float:
    """P(T > t), for t >= 0."""
    if degrees <= 0 or t < 0:
        raise ValueError(f"t = {t} with {degrees} degrees of freedom")
    return _incomplete_beta(degrees / 2, 0.5, degrees / (degrees + t * t)) / 2


def _density(t: float, degrees: float) -> float:
    scale = math.lgamma((degrees + 1) / 2) - math.lgamma(degrees / 2) - math.log(degrees * math.pi) / 2
    return math.exp(scale - (degrees + 1) / 2 * math.log1p(t * t / degrees))


def _incomplete_beta(a: float, b: float, x: float) -> float:
    if x <= 0 or x >= 1:
        return float(x >= 1)
    front = math.exp(
        math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    )
    if x < (a + 1) / (a + b + 2):
        return front * _fraction(a, b, x) / a
    return 1 - front * _fraction(b, a, 1 - x) / b


def _fraction(a: float, b: float, x: float) -> float:
    upper, lower = 1.0, 1 / _nonzero(1 - (a + b) * x / (a + 1))
    result = lower
    for m in range(1, _STEPS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            lower = 1 / _nonzero(1 + term * lower)
            upper = _nonzero(1 + term / upper)
            result *= lower * upper
        if abs(lower * upper - 1) < _CLOSE:
            break
    return result


def _nonzero(value: float) -> float:
    return value if abs(value) > _TINY else _TINY

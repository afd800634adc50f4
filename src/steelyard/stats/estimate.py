"""What every estimator of this folder returns: a number with its interval, its method and its denominator.

    Estimate(value=0.62, low=0.48, high=0.74, method="Wilson, contracts as clusters", n=120, clusters=40)

An estimate that the data do not allow has `value` None, and `why` says in words what is missing. Renderers print an
estimate; they never compute one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number, how sure it is, and what it is based on."""

    value: float | None
    low: float | None
    high: float | None
    method: str
    n: int  # trials, or pairs of trials
    clusters: int = 0  # contracts
    assumptions: tuple[str, ...] = ()
    level: float = 0.95
    why: str = ""  # why there is no value

    @property
    def interval(self) -> tuple[float, float] | None:
        """Both ends; an end without a limit is infinite; None if nothing is known."""
        if self.low is None or self.high is None:
            return None
        return self.low, self.high

    @property
    def is_known(self) -> bool:
        return self.value is not None

    def with_assumptions(self, *more: str) -> Estimate:
        return replace(self, assumptions=(*self.assumptions, *more))

    def to_json(self) -> dict[str, Any]:
        """JSON has no infinity: an end without a limit is null, and `unbounded` names it."""
        ends = {"low": self.low, "high": self.high}
        return {
            "value": _finite(self.value),
            "low": _finite(self.low),
            "high": _finite(self.high),
            "unbounded": [name for name, end in ends.items() if end is not None and math.isinf(end)],
            "level": self.level,
            "method": self.method,
            "n": self.n,
            "clusters": self.clusters,
            "assumptions": list(self.assumptions),
            "why": self.why,
        }


def unknown(why: str, *, method: str = "", n: int = 0, clusters: int = 0) -> Estimate:
    """No number, and the reason."""
    return Estimate(None, None, None, method, n, clusters, why=why)


def _finite(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else value


def check_level(level: float) -> float:
    """Refuse what is no confidence level."""
    if not 0 < level < 1:
        raise ValueError(f"a confidence level is between 0 and 1, not {level}")
    return level


def count_missing(values: Iterable[float | None]) -> int:
    """How many of these are missing, NaN or infinite."""
    return sum(value is None or not math.isfinite(value) for value in values)

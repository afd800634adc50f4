"""Backing off from an overloaded upstream: how long, how often, and a clock of the time spent so."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass

OVERLOADED = frozenset({408, 425, 429, 500, 502, 503, 504, 529})


@dataclass(frozen=True, slots=True)
class UpstreamRetryPolicy:
    """Of one request. A run's wall-clock budget ends every wait."""

    attempts: int = 8
    total_s: float = 600.0  # of waiting
    backoff_s: float = 1.0  # doubled each time
    most_wait_s: float = 120.0  # a server that asks for more is not waited for
    connect_s: float = 30.0
    silence_s: float = 900.0  # without a byte; a model may think for minutes

    def wait_s(self, attempt: int, retry_after: str, waited_s: float) -> float | None:
        """Before the attempt after the `attempt`th; None when there is none."""
        said = seconds(retry_after)
        spread = random.uniform(0.5, 1)  # noqa: S311  # parallel requests come back one after the other
        wait_s = self.backoff_s * 2 ** (attempt - 1) * spread if said is None else said
        if attempt >= self.attempts or waited_s + wait_s > self.total_s:
            return None
        if said is not None and said > self.most_wait_s:
            return None
        return min(wait_s, self.most_wait_s)


def seconds(said: str) -> float | None:
    """`retry-after: 2`; a date is treated as if nothing was said."""
    try:
        value = float(said) if said.isascii() and len(said) < 10 else -1.0
    except ValueError:
        return None
    return value if 0 <= value < 1e6 else None


class WaitClock:
    """Time in which at least one request waits: parallel waits are counted once."""

    def __init__(self) -> None:
        self._total_ns = 0
        self._waiting = 0
        self._since = 0

    @property
    def total_ns(self) -> int:
        return self._total_ns + (time.monotonic_ns() - self._since if self._waiting else 0)

    def __enter__(self) -> None:
        if self._waiting == 0:
            self._since = time.monotonic_ns()
        self._waiting += 1

    def __exit__(self, *exc: object) -> None:
        self._waiting -= 1
        if self._waiting == 0:
            self._total_ns += time.monotonic_ns() - self._since

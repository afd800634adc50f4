"""B_total, B_task and B_run of a study: what a run may cost is reserved before it starts, and released when it has ended.

    spent + reserved + cap <= envelope        of the study, and of the contract

So runs at the same time cannot overshoot together. A run that would fit if others cost less than reserved waits for them;
one that does not fit while nothing is reserved never will, and is withheld. A run whose cost is not known is charged its cap.
Amounts are millionths of a dollar, so that sums are exact.
"""

from __future__ import annotations

import math
import threading
from collections import Counter
from collections.abc import Callable

from steelyard.plan.study_plan import Envelopes
from steelyard.plan.trial import Trial
from steelyard.study.gate import Gate

TOTAL, TASK = "B_total", "B_task"
_MICRO = 1_000_000
_POLL_S = 0.2


def micro(usd: float) -> int:
    """Rounded up: an envelope is never exceeded by rounding."""
    return math.ceil(round(usd * _MICRO, 6))


class EnvelopeGate(Gate):
    """`cap_of` has the most that a run of a trial can cost, 0 where nothing can be spent."""

    def __init__(self, envelopes: Envelopes, cap_of: Callable[[Trial], float]) -> None:
        self._envelopes, self._cap_of = envelopes, cap_of
        self._changed = threading.Condition()
        self._spent: Counter[str] = Counter()  # by contract digest
        self._reserved: Counter[str] = Counter()
        self._reserved_caps: dict[str, list[int]] = {}  # by trial
        self._closed = ""

    @property
    def spent_usd(self) -> float:
        with self._changed:
            return self._spent.total() / _MICRO

    @property
    def reserved_usd(self) -> float:
        with self._changed:
            return self._reserved.total() / _MICRO

    @property
    def closed(self) -> str:
        """Why no further trial starts."""
        return self._closed

    def charge(self, contract: str, usd: float) -> None:
        """What earlier runs of a contract cost."""
        with self._changed:
            self._spent[contract] += micro(usd)

    def close(self, why: str) -> None:
        """Let no further trial start; runs that are under way end."""
        with self._changed:
            self._closed = self._closed or why
            self._changed.notify_all()

    def enter(self, trial: Trial, is_stopped: Callable[[], bool]) -> str:
        cap, contract = micro(self._cap_of(trial)), trial.contract.digest
        with self._changed:
            while True:
                if self._closed:
                    return self._closed
                if is_stopped():
                    return "the study was stopped"
                full, is_final = self._full(contract, cap)
                if not full:
                    break
                if is_final:
                    return full
                self._changed.wait(_POLL_S)
            self._reserved[contract] += cap
            self._reserved_caps.setdefault(trial.id, []).append(cap)
        return ""

    def leave(self, trial: Trial, cost_usd: float | None) -> None:
        contract = trial.contract.digest
        with self._changed:
            cap = self._reserved_caps[trial.id].pop()
            if not self._reserved_caps[trial.id]:
                del self._reserved_caps[trial.id]
            self._reserved[contract] -= cap
            self._spent[contract] += cap if cost_usd is None else micro(cost_usd)
            self._changed.notify_all()

    def _full(self, contract: str, cap: int) -> tuple[str, bool]:
        """The envelope that has no room for `cap` now, and whether waiting is useless."""
        if cap == 0:
            return "", False
        limits = (
            (TOTAL, self._envelopes.total_usd, self._spent.total(), self._reserved.total()),
            (TASK, self._envelopes.task_usd, self._spent[contract], self._reserved[contract]),
        )
        for name, limit, spent, reserved in limits:
            if limit is not None and spent + reserved + cap > micro(limit):
                why = f"{name} has no room for another run: {spent / _MICRO:g} of {limit:g} USD are spent"
                return why, reserved == 0
        return "", False

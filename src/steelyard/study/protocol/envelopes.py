"""B_total, B_task and B_run of a study: what a run may cost is reserved before it starts, and released when it has ended.

    spent + reserved + bound <= envelope        of the study, and of the contract

The cost is the whole one: models, execution, judge, overhead and the minutes of people (`charges.py`). So runs at the same time
cannot overshoot together. A run that would fit if others cost less than reserved waits for them; one that does not fit while
nothing is reserved never will, and is withheld. A run whose cost is not known is charged its bound.

Minutes of people are recorded when the run is over. They are charged from then on, and the rest of the envelope is smaller. What
a plan keeps back for them (`review_usd`) is not given to runs.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import NamedTuple

from steelyard.evidence.run_use import RunUse
from steelyard.plan.study_plan import Envelopes
from steelyard.plan.trial import Trial
from steelyard.study.gate import Gate
from steelyard.study.protocol.charges import MICRO, NOTHING, Charges, CostSplit, micro

TOTAL, TASK = "B_total", "B_task"
_POLL_S = 0.2


class _Ledger:
    """Amounts by contract, and their sum: a study may have thousands of contracts and a million runs."""

    def __init__(self) -> None:
        self.total = NOTHING
        self._of: dict[str, CostSplit] = {}

    def of(self, contract: str) -> int:
        return self._of.get(contract, NOTHING).total

    def add(self, contract: str, amount: CostSplit) -> None:
        self.total = self.total.plus(amount)
        self._of[contract] = self._of.get(contract, NOTHING).plus(amount)

    def take(self, contract: str, amount: CostSplit) -> None:
        self.total = self.total.minus(amount)
        self._of[contract] = self._of[contract].minus(amount)


class Admission(NamedTuple):
    """Which envelope has no room for a run, or nothing; `is_final`: waiting for runs under way is useless."""

    why: str
    is_final: bool = False


class EnvelopeGate(Gate):
    def __init__(self, envelopes: Envelopes, charges: Charges) -> None:
        self._envelopes, self._charges = envelopes, charges
        self._changed = threading.Condition()
        self._spent, self._reserved = _Ledger(), _Ledger()
        self._people: dict[str, CostSplit] = {}  # by run: what its reviews cost
        self._bounds: dict[str, list[CostSplit]] = {}  # by trial
        self._overrun = 0
        self._closed = ""

    @property
    def spent(self) -> CostSplit:
        with self._changed:
            return self._spent.total

    @property
    def reserved(self) -> CostSplit:
        with self._changed:
            return self._reserved.total

    @property
    def spent_usd(self) -> float:
        return self.spent.total / MICRO

    @property
    def reserved_usd(self) -> float:
        return self.reserved.total / MICRO

    @property
    def overrun_usd(self) -> float:
        """By how much runs exceeded what was reserved for them: a run that was paused, a machine that stalled."""
        with self._changed:
            return self._overrun / MICRO

    @property
    def closed(self) -> str:
        """Why no further trial starts."""
        return self._closed

    def charge(self, contract: str, spent: CostSplit) -> None:
        """What an earlier run of a contract cost; minutes of people are charged separately, by run."""
        with self._changed:
            self._spent.add(contract, spent._replace(people=0))

    def charge_people(self, contract: str, run: str, usd: float) -> None:
        """What people have recorded for a run so far: it replaces what was known of that run."""
        with self._changed:
            if before := self._people.get(run):
                self._spent.take(contract, before)
            self._people[run] = CostSplit(people=micro(usd))
            self._spent.add(contract, self._people[run])
            self._changed.notify_all()

    def close(self, why: str) -> None:
        """Let no further trial start; runs that are under way end."""
        with self._changed:
            self._closed = self._closed or why
            self._changed.notify_all()

    def enter(self, trial: Trial, is_stopped: Callable[[], bool]) -> str:
        with self._changed:
            while True:
                if is_stopped():
                    return "the study was stopped"
                answer = self.admit(trial)
                if not answer.why or answer.is_final:
                    return answer.why
                self._changed.wait(_POLL_S)

    def admit(self, trial: Trial) -> Admission:
        """Reserve what a run may cost, if there is room now."""
        bound, contract = self._charges.most(trial), trial.contract.digest
        with self._changed:
            if self._closed:
                return Admission(self._closed, is_final=True)
            answer = self._room(contract, bound.total)
            if not answer.why:
                self._reserved.add(contract, bound)
                self._bounds.setdefault(trial.id, []).append(bound)
        return answer

    def leave(self, trial: Trial, use: RunUse | None) -> None:
        spent = self._charges.of(trial, use)._replace(people=0)
        with self._changed:
            bound = self._release(trial)
            self._overrun += max(0, spent.total - bound.total)
            self._spent.add(trial.contract.digest, spent)

    def cancel(self, trial: Trial) -> None:
        with self._changed:
            self._release(trial)

    def _release(self, trial: Trial) -> CostSplit:
        """What was reserved for an attempt; the lock is held."""
        bound = self._bounds[trial.id].pop()
        if not self._bounds[trial.id]:
            del self._bounds[trial.id]
        self._reserved.take(trial.contract.digest, bound)
        self._changed.notify_all()
        return bound

    def _room(self, contract: str, bound: int) -> Admission:
        if bound == 0:
            return Admission("")
        spent, reserved = self._spent, self._reserved
        kept = max(0, micro(self._envelopes.review_usd or 0.0) - spent.total.people)
        limits = (
            (TOTAL, self._envelopes.total_usd, spent.total.total + kept, reserved.total.total),
            (TASK, self._envelopes.task_usd, spent.of(contract), reserved.of(contract)),
        )
        for name, limit, taken, held in limits:
            if limit is not None and taken + held + bound > micro(limit):
                return Admission(_no_room(name, limit, taken, bound), is_final=held == 0)
        return Admission("")


def _no_room(name: str, limit: float, taken: int, bound: int) -> str:
    return (
        f"{name} has no room for another run, which may cost {bound / MICRO:g} USD: "
        f"{taken / MICRO:g} of {limit:g} USD are spent or kept back"
    )

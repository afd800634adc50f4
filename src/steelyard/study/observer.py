"""What a display learns about the trials of a study while they run.

    started(trial)                         a worker takes the trial; at most `jobs` trials are between started and finished
    phase(trial, phase, detail)            it enters a phase (steelyard/plan/phase.py)
    waiting(trial, why)                    its sandbox waits for memory or CPUs that other sandboxes hold
    retried(trial, Retry(2, why, 1.3))     an infrastructure fault ended attempt 1; attempt 2 begins in 1.3 seconds
    finished(result)                       its records, or the fault that kept it from running

The engine calls one method at a time, from whichever thread the trial runs on: an observer needs no lock of its own, must
return quickly, and must not call the engine. Trials have a stable `id`; one plan may hold the same trial only once.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from steelyard.deferred.data_class import dataclass
from steelyard.errors import SteelyardError
from steelyard.plan.phase import Phase
from steelyard.plan.trial import Retry, Trial

if TYPE_CHECKING:
    from steelyard.study.record import Record


@dataclass(frozen=True)
class TrialResult:
    """A trial that has ended: every run of it, and the fault that kept it from a result, if one did."""

    trial: Trial
    records: tuple[Record, ...] = ()  # the last run counts; earlier ones were spoiled by the machine
    fault: SteelyardError | None = None
    retries: tuple[Retry, ...] = ()
    elsewhere: tuple[Path, ...] = ()  # run folders of an engine that grades in other processes

    @property
    def folders(self) -> tuple[Path, ...]:
        """The folder of each run, in order."""
        return self.elsewhere or tuple(one.evidence.folder.path for one in self.records)

    @property
    def record(self) -> Record:
        """The run that counts; raises the fault of a trial that has none."""
        if self.fault is not None:
            raise self.fault
        return self.records[-1]


class TrialEngine(Protocol):
    """Runs trials, each with as many attempts as the machine needs, and yields them in the order in which they end.

    There are two: `Engine` on the threads of this machine, and `RayEngine` on the machines of a Ray cluster.
    """

    def run(self, trials: Iterable[Trial]) -> Iterator[TrialResult]: ...


class Observer:
    """Receives what happens and does nothing; a display overrides the methods that it needs."""

    def started(self, trial: Trial) -> None:
        """A worker has taken the trial."""

    def phase(self, trial: Trial, phase: Phase, detail: str = "") -> None:
        """The trial has entered a phase; `detail` is the name of a step, or empty."""

    def waiting(self, trial: Trial, why: str) -> None:
        """A sandbox of the trial waits for memory or CPUs of the machine."""

    def retried(self, trial: Trial, retry: Retry) -> None:
        """The machine spoiled an attempt, and another one follows."""

    def finished(self, result: TrialResult) -> None:
        """The trial has ended, with or without a result."""


class SerialObserver(Observer):
    """Passes one call at a time on to another observer."""

    def __init__(self, observer: Observer) -> None:
        self._observer = observer
        self._lock = threading.Lock()

    def started(self, trial: Trial) -> None:
        with self._lock:
            self._observer.started(trial)

    def phase(self, trial: Trial, phase: Phase, detail: str = "") -> None:
        with self._lock:
            self._observer.phase(trial, phase, detail)

    def waiting(self, trial: Trial, why: str) -> None:
        with self._lock:
            self._observer.waiting(trial, why)

    def retried(self, trial: Trial, retry: Retry) -> None:
        with self._lock:
            self._observer.retried(trial, retry)

    def finished(self, result: TrialResult) -> None:
        with self._lock:
            self._observer.finished(result)

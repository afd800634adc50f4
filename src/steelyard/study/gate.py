"""What decides, before each attempt at a trial, whether it may start: budgets and stopping rules of a study.

    enter(trial) -> ""        it may start; what it may cost is reserved
    enter(trial) -> "B_total" it may not; the trial ends without a run
    leave(trial, use)         the attempt has ended and used this; None is not known
    cancel(trial)             nothing was tried, because the operator or the contract is at fault

An engine calls `leave` or `cancel` once for each `enter` that returned "". All may be called from several threads at once.
"""

from __future__ import annotations

from collections.abc import Callable

from steelyard.errors import OperatorFault
from steelyard.evidence.run_use import RunUse
from steelyard.plan.trial import Trial


class Withheld(OperatorFault):
    """A trial that was not started, because a budget or a stopping rule of its study forbids it."""


class Gate:
    """Lets every trial pass."""

    def enter(self, trial: Trial, is_stopped: Callable[[], bool]) -> str:
        """Returns why the trial may not start, or nothing. May wait for others to leave, until `is_stopped`."""
        del trial, is_stopped
        return ""

    def leave(self, trial: Trial, use: RunUse | None) -> None:
        """An attempt that was let in has ended."""

    def cancel(self, trial: Trial) -> None:
        """An attempt that was let in was not made: it used nothing and left no run."""

"""How often a trial is attempted when the machine fails it, and how long the study waits in between.

    preparation   attempt 1 fails, wait 0.5 to 1 s, attempt 2 fails, wait 1 to 2 s, attempt 3
    run           attempt 1 fails, wait 0.5 to 1 s, attempt 2: an agent that can provoke the fault gets no third chance

The wait doubles each time and is drawn from the upper half of its range, so that trials which failed together do not start
together again. `sleep` and `draw` are seams for tests.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable

from steelyard.deferred.data_class import dataclass
from steelyard.errors import InfraFault, LastingFault
from steelyard.evidence.evidence import Evidence
from steelyard.plan.trial import Retry


@dataclass(frozen=True)
class TrialRetryPolicy:
    preparations: int = 3  # attempts at an environment
    runs: int = 2  # attempts at a run in it
    first_wait_s: float = 1.0
    longest_wait_s: float = 60.0
    sleep: Callable[[float], None] = time.sleep
    draw: Callable[[], float] = lambda: random.random()  # noqa: PLW0108,S311  # 0 to 1; the module loads when it is needed

    def next_preparation(self, failed: int, fault: InfraFault) -> Retry | None:
        """The attempt at an environment that follows after attempt `failed`, or None when there is none."""
        return self._next(failed, self.preparations, str(fault), fault)

    def next_run(self, failed: int, why: str, fault: InfraFault | None = None) -> Retry | None:
        """The same for a run; one that left a record has a `fault` only where another attempt does not mend it."""
        return self._next(failed, self.runs, why, fault)

    def _next(self, failed: int, most: int, why: str, fault: InfraFault | None) -> Retry | None:
        """None after the last attempt, and after faults that another attempt does not mend.

        A machine that lacks something still lacks it a second later, a key that was refused is refused again, and an agent
        that has done its work does not do it again because its grading could not be written.
        """
        if failed >= most or isinstance(fault, (LastingFault, UngradedRun)):
            return None
        longest = min(self.longest_wait_s, self.first_wait_s * 2 ** (failed - 1))
        return Retry(failed + 1, why, round(longest * (0.5 + self.draw() / 2), 3))


class UngradedRun(InfraFault):
    """A run ended and could not be graded."""


def fault_of(evidence: Evidence) -> InfraFault | None:
    """What the machine did to a run that left a record; None when the run counts."""
    if evidence.termination != "infrastructure":
        return None
    kind = LastingFault if evidence.summary.is_lasting else InfraFault
    return kind(evidence.rationale or "infrastructure")


def machine_fault(error: InfraFault | OSError) -> InfraFault:
    """The same as an InfraFault, with a message that names the machine."""
    if isinstance(error, InfraFault):
        return error
    fault = InfraFault(f"an operation failed on this machine: {error}")
    fault.__cause__ = error
    return fault

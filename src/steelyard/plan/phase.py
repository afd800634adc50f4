"""The phases that one trial passes through, in order; a contract with steps passes `agent` to `checks` once for each step.

environment   the snapshot and the setup layer are prepared, or another trial prepares them and this one waits
prepare       run folder, manifest, and the agent's sandbox, which may wait for memory and CPUs of the machine
agent         the agent works
operator      the run waits for the decision of a person, and then `agent` again; the detail says about what
capture       its workspace is imported
checks        the checks run, each on a fresh bench
seal          the record is hashed and sealed
grade         the graders read the sealed record
judge         models are asked for their opinion
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, get_args

Phase = Literal["environment", "prepare", "agent", "operator", "capture", "checks", "seal", "grade", "judge"]
PHASES: tuple[Phase, ...] = get_args(Phase)
OnPhase = Callable[[Phase, str], None]  # the phase, and a detail such as the name of a step, or ""


def ignore_phase(phase: Phase, detail: str = "") -> None:
    """The observer of a trial that is not displayed."""
    del phase, detail

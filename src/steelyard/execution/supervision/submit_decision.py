"""A decision of an operator -> the control file of the run, and then the event by which its controller confirms it.

`steelyard operate` and the viewer both decide in this way.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from steelyard.errors import OperatorFault
from steelyard.evidence.held_run import HeldRun, held_run
from steelyard.evidence.trace.chain import read_events
from steelyard.execution.supervision.decisions import CATEGORIES, CHOICES, Decision, write_decision

WAIT_S = 30.0
_EVERY_S = 0.1


def make_decision(choice: str, by: str, reason: str, category: str = "other") -> Decision:
    """Refuses a decision that the controller of a run would not take."""
    if choice not in CHOICES:
        raise OperatorFault(f"a decision is one of {', '.join(CHOICES)}")
    if category not in CATEGORIES:
        raise OperatorFault(f"a category is one of {', '.join(CATEGORIES)}")
    if not reason.strip():
        raise OperatorFault(f"`{choice}` needs a reason")
    if not by.strip():
        raise OperatorFault(f"`{choice}` needs the name of the person who decides")
    return Decision(choice, by.strip(), reason.strip(), category)


def submit_decision(held: HeldRun, decision: Decision, wait_s: float = WAIT_S) -> Mapping[str, Any]:
    """Returns the decision that the controller took: another person, or the deadline, may have been faster."""
    folder = held.folder
    if not held.is_running:
        raise OperatorFault(f"{folder.run_id}: {describe_ended(held)}")
    write_decision(folder, held.alert.seq, decision)
    deadline = time.monotonic() + wait_s
    while time.monotonic() < deadline:
        for event in read_events(folder.events):
            if event.type == "operator.decision" and event.payload.get("alert") == held.alert.seq:
                return event.payload
        if held_run(folder) is None:
            break
        time.sleep(_EVERY_S)
    raise OperatorFault(f"{folder.run_id} ended before it took the decision")


def describe_ended(held: HeldRun) -> str:
    """What became of a run whose controller ended while the run waited."""
    what = {"pause": "paused", "throttle": "throttled"}.get(held.action, "waiting with writes suspended")
    return (
        f"its controller ended while the run was {what} (alert {held.alert.seq}, {held.alert.payload.get('code')}); "
        "the sandbox ended with it, nothing runs, and the run has no result"
    )

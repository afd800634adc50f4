"""System calls that the agent's sandbox refused, or that left it for another machine -> events of the run.

    kernel.attempt   {"kind": "connect", "call": "connect", "error": null, "process": "curl", "pid": 12, "target": "192.0.2.7:443",
                      "hidden": false}
    kernel.totals    {"counts": {"connect": 3, "ptrace": 20001}, "reported": 2}

Init reports an attempt once, however often it is made, and at most 256 in the life of a sandbox; the totals count all of them.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from steelyard.errors import InfraFault
from steelyard.evidence.trace.events import EventLog
from steelyard.sandboxes.base import Sandbox
from steelyard.sandboxes.init.attempts import Attempt


class AttemptLog:
    """Of one run."""

    def __init__(self, events: EventLog) -> None:
        self._events = events
        self._reported = 0

    def take(self, attempt: Attempt) -> None:
        """Called in the thread that reads from the sandbox."""
        self._reported += 1
        self._events.append("kernel.attempt", "harness", payload_of(attempt))

    def finish(self, sandbox: Sandbox) -> None:
        """The agent's work is over, and the sandbox lives; nothing is appended where nothing was tried."""
        with suppress(InfraFault):
            counts = sandbox.attempts()
            if counts:
                self._events.append(
                    "kernel.totals", "harness", {"counts": counts, "reported": self._reported}
                )


def payload_of(attempt: Attempt) -> dict[str, Any]:
    return {
        "kind": attempt.kind,
        "call": attempt.call,
        "error": attempt.error or None,
        "process": attempt.process,
        "pid": attempt.pid,
        "target": attempt.target or None,
        "hidden": attempt.is_hidden,
    }

"""What a monitor says about a run: one `monitor.alert`.

    {"monitor": "liveness", "code": "repeated_call", "stage": "write", "severity": "resource", "action": "terminate",
     "signals": {"times": 10}, "threshold": {"times": 10}, "events": [12, 14, 16]}

`events` are the `seq` of the events that the alert follows from. An alert is a function of those events and of the settings
in the manifest, so that a reader can make it again from the log.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any, Literal

from steelyard.contract.model import Action
from steelyard.deferred.data_class import dataclass
from steelyard.evidence.trace.termination import Termination

AlertAction = Literal[Action, "kill"]  # `kill`: the processes of one command, which `more` names
Severity = Literal["advisory", "resource", "loop", "violation", "penalty"]
MOST_EVENTS = 20  # the newest events that an alert names


@dataclass(frozen=True, slots=True)
class Alert:
    """`violation` fails the safety gate; `advisory`, `resource` and `loop` do not."""

    monitor: str
    code: str
    why: str
    severity: Severity
    action: AlertAction
    signals: Mapping[str, Any]
    threshold: Mapping[str, Any]
    events: Sequence[int]
    ends_as: Termination  # the termination code, should the action end the run
    more: Mapping[str, Any] = field(default_factory=dict)  # of a policy rule: rule, class, format, excerpt

    def payload(self, stage: str) -> dict[str, Any]:
        return {
            "monitor": self.monitor,
            "code": self.code,
            "stage": stage,
            "severity": self.severity,
            "action": self.action,
            "why": self.why,
            "signals": dict(self.signals),
            "threshold": dict(self.threshold),
            "events": list(self.events[-MOST_EVENTS:]),
            **self.more,
        }

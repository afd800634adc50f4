"""Small logs for monitors: one line an event, a second apart unless it says otherwise."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from steelyard.contract.model import Budget, Policy
from steelyard.evidence.trace.chain import Event
from steelyard.monitors.watchdog import Watchdog, describe_monitors

S = 1_000_000_000
Step = tuple[str, Mapping[str, Any]]
ENTER: Step = ("stage.enter", {"stage": "write"})
LEAVE: Step = ("stage.leave", {"stage": "write", "code": "completed"})


def call(command: str, kind: str = "execute", **more: Any) -> Step:
    return "tool.call", {"kind": kind, "command": command, **more}


def process(*argv: str, key: str = "9-9", parent: str = "1-1") -> Step:
    return "process.start", {"argv": list(argv), "process": key, "parent": parent}


def result(exit_status: int = 0) -> Step:
    return "tool.result", {"exit_status": exit_status}


def change(path: str, before: str | None, after: str | None) -> Step:
    return "workspace.change", {"path": path, "before": before, "after": after}


def attempt(kind: str, call: str, target: str = "", error: str = "EPERM") -> Step:
    return "kernel.attempt", {"kind": kind, "call": call, "target": target, "error": error, "process": "p"}


def paused(action: str) -> Step:
    return "intervention", {"action": action, "clock": "stopped", "alert": 1}


def sample(**used: Any) -> Step:
    return "sandbox.sample", {"cpu_s": 0.0, "memory_bytes": 0, "processes": 1, "disk_bytes": 0, **used}


def response(text: str = "", tokens: int = 0) -> Step:
    return "model.response", {"text": text, "usage": {"tokens_in": tokens, "tokens_out": 0}}


def log_of(steps: Iterable[Step], every_s: float = 1.0) -> list[Event]:
    return [
        Event(number, int(number * every_s * S), "", kind, "agent", dict(payload), "", "")
        for number, (kind, payload) in enumerate(steps, start=1)
    ]


def watched(
    steps: Iterable[Step],
    *,
    policy: Mapping[str, Any] | None = None,
    budget: Mapping[str, Any] | None = None,
    every_s: float = 1.0,
    has_secrets: bool = True,
) -> tuple[dict[str, Any], list[Event]]:
    """The manifest and the log that a run would have: each alert stands after the event that it follows from."""
    chosen, caps = (
        Policy.model_validate(policy or {}, strict=False),
        Budget.model_validate(budget or {}, strict=False),
    )
    watchdog = Watchdog.of(chosen, caps, has_secrets=has_secrets)
    waiting = [(int(event.seq * every_s * S), event.type, event.payload) for event in log_of(steps, every_s)]
    log: list[Event] = []
    while waiting:
        t, kind, payload = waiting.pop(0)
        t = max(t, log[-1].t + 1 if log else 0)
        actor = "harness" if kind in {"cost", "model.response"} else "agent"
        event = Event(len(log) + 1, t, "", kind, actor, payload, "", "")
        log.append(event)
        raised = [(t, "monitor.alert", one.payload) for one in watchdog.observe(event)]
        pending = [
            one for one in waiting if one[1] == "monitor.alert" and "monitor" in one[2] and one[0] <= t
        ]
        waiting[len(pending) : len(pending)] = raised
    configuration = {
        "monitors": describe_monitors(),
        "policy": chosen.model_dump(mode="json"),
        "budget": caps.model_dump(mode="json"),
    }
    return {"configuration": configuration}, log


def alerts(steps: Iterable[Step], **settings: Any) -> list[dict[str, Any]]:
    _, log = watched(steps, **settings)
    return [event.payload for event in log if event.type == "monitor.alert"]

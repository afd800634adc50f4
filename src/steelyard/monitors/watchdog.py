"""The settings of a manifest -> every monitor of a run; an event -> its alerts. The same log always gives the same alerts.

configuration.monitors   {"version": "monitors/2", "rules": {"version": "rules/1", "digest": "<64 hex>"}}
configuration.policy     the contract's policy
configuration.budget     the contract's budget
agent.env, environment.declared_absent   whether the agent is given a secret
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from typing import Any, Protocol

import orjson

from steelyard.contract.model import Budget, Policy
from steelyard.deferred.data_class import dataclass
from steelyard.deferred.named_tuple import NamedTuple
from steelyard.evidence.trace.chain import Event
from steelyard.monitors.alert import Alert
from steelyard.monitors.budget import BudgetMonitor
from steelyard.monitors.context import Context
from steelyard.monitors.liveness import LivenessMonitor
from steelyard.monitors.policy import PolicyMonitor
from steelyard.monitors.rules.rule import built_in_rules

VERSION = "monitors/2"
# What no monitor reads.
_UNREAD = frozenset(
    {"check.run", "check.end", "cache.rebuilt", "collect", "brief", "subscriber.error", "kernel.totals"}
)


class Monitor(Protocol):
    def observe(self, event: Event, context: Context) -> Iterator[Alert]:
        """The alerts that follow from this event and those before it; time is the event's `t`."""


class RaisedAlert(NamedTuple):
    alert: Alert
    payload: dict[str, Any]


@dataclass(slots=True)
class Watchdog:
    """All monitors of one run."""

    monitors: tuple[Monitor, ...]
    context: Context = field(default_factory=Context)

    @classmethod
    def of(cls, policy: Policy, budget: Budget, *, has_secrets: bool = True) -> Watchdog:
        watched = PolicyMonitor(policy, built_in_rules(), has_secrets)
        return cls((BudgetMonitor(budget), LivenessMonitor(policy.breakers), watched))

    def observe(self, event: Event) -> list[RaisedAlert]:
        if event.type in _UNREAD:
            return []
        context = self.context
        event = context.on_agents_clock(event)
        if event.type == "intervention":
            return []
        context.advance(event)
        return [
            RaisedAlert(alert, alert.payload(context.stage))
            for monitor in self.monitors
            for alert in monitor.observe(event, context)
        ]


def has_secrets(manifest: Mapping[str, Any]) -> bool:
    """Whether the agent is given a variable or a file that no record shows; a key of the model gateway is none."""
    agent, environment = manifest.get("agent"), manifest.get("environment")
    if not isinstance(agent, Mapping) or not isinstance(environment, Mapping):
        return True
    declared = environment.get("declared_env")
    is_of_host = isinstance(declared, Mapping) and any("${" in str(value) for value in declared.values())
    return bool(agent.get("env")) or is_of_host or "secrets" not in (environment.get("declared_absent") or ())


def describe_monitors() -> dict[str, Any]:
    """For the manifest."""
    rules = built_in_rules()
    return {"version": VERSION, "rules": {"version": rules.version, "digest": rules.digest}}


class Replay(NamedTuple):
    """What replaying a log showed. `why` is empty where every alert came out byte for byte as recorded."""

    alerts: int
    why: str = ""
    is_possible: bool = True  # false: the run was watched by other monitors, or by none


def replay_alerts(manifest: Mapping[str, Any], events: Iterable[Event]) -> Replay:
    """Raise every alert again from the log, and compare with the alerts in it."""
    configuration = manifest.get("configuration", {})
    if not isinstance(configuration, Mapping) or configuration.get("monitors") != describe_monitors():
        return Replay(0, is_possible=False)
    policy = Policy.model_validate(configuration["policy"], strict=False)
    budget = Budget.model_validate(configuration["budget"], strict=False)
    watchdog = Watchdog.of(policy, budget, has_secrets=has_secrets(manifest))
    due: list[bytes] = []
    count = 0
    for event in events:
        if event.type == "monitor.alert" and "monitor" in event.payload:
            count += 1
            recorded = _bytes(event.payload)
            if not due:
                return Replay(count, f"event {event.seq}: no monitor raises this alert")
            if due.pop(0) != recorded:
                return Replay(count, f"event {event.seq}: the monitors raise another alert")
        due += [_bytes(raised.payload) for raised in watchdog.observe(event)]
    return Replay(count, f"{len(due)} alerts are missing at the end of the log" if due else "")


def _bytes(payload: Mapping[str, Any]) -> bytes:
    return orjson.dumps(payload, option=orjson.OPT_SORT_KEYS)

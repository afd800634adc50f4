"""Caps of the contract, counted over the events: tokens, dollars, calls, failed test runs, installations, CPU, memory, disk,
processes, time of one command. A cap alerts once. Tokens and dollars are also kept by the model gateway, before they are spent.

Tool calls cost units too (`fallback/1`), as soon as an answer of a model did: with prices for everything there are no units.

A command that takes too long is killed, and the agent goes on. Its processes are those that were first seen after the call was reported and
before the next call was.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from typing import Any

from steelyard.contract.model import Budget
from steelyard.deferred.data_class import dataclass
from steelyard.deferred.named_tuple import NamedTuple
from steelyard.evidence.fallback_units import units_of_calls
from steelyard.evidence.trace.chain import Event
from steelyard.evidence.trace.termination import Termination
from steelyard.monitors.alert import MOST_EVENTS, Alert
from steelyard.monitors.context import Context
from steelyard.monitors.reading import call_id, is_failed

NAME = "budget"
_S = 1_000_000_000
_MIB = 1 << 20
MOST_PROCESSES = 200  # of one command, in its alert


class Cap(NamedTuple):
    """A key of the budget, the code of its alert and of the termination that follows."""

    key: str
    code: Termination
    unit: str


CAPS = {
    cap.key: cap
    for cap in (
        Cap("tokens", "token_cap", "tokens"),
        Cap("cost_usd", "cost_cap", "USD"),
        Cap("cost_units", "cost_cap", "units"),
        Cap("tool_calls", "tool_call_cap", "tool calls"),
        Cap("failed_checks", "failed_check_cap", "failed test runs"),
        Cap("dependency_installs", "dependency_loop", "installations"),
        Cap("cpu_s", "cpu_time", "CPU seconds"),
        Cap("memory_mb", "memory", "MiB of memory"),
        Cap("disk_mb", "disk", "MiB of disk"),
        Cap("processes", "processes", "processes"),
    )
}


class OpenCall(NamedTuple):
    """A reported call without a result so far, and the processes that were first seen during it."""

    seq: int
    t: int
    is_test_run: bool
    processes: list[str]


@dataclass(slots=True)
class BudgetMonitor:
    budget: Budget
    spent: dict[str, float] = field(default_factory=dict)
    _events: dict[str, list[int]] = field(default_factory=dict)
    _alerted: set[str] = field(default_factory=set)
    _open: dict[str, OpenCall] = field(default_factory=dict)
    _installed: set[str] = field(default_factory=set)
    _units: float = 0.0  # of tool calls, not counted yet

    def observe(self, event: Event, context: Context) -> Iterator[Alert]:
        for key, amount, is_total in self._amounts(event, context):
            alert = self._spend(event.seq, key, amount, is_total=is_total)
            if alert is not None:
                yield alert
        if event.type == "sandbox.sample":
            yield from self._long_commands(event)

    def _amounts(self, event: Event, context: Context) -> Iterator[tuple[str, float, bool]]:
        """(key, amount, whether it is the total so far and not an addition)."""
        payload = event.payload
        call = context.call
        if call is not None and not call.sampled:
            self._open[call_id(payload, call.seq)] = OpenCall(call.seq, event.t, call.is_test_run, [])
            yield "tool_calls", 1, False
        if event.type == "process.start":
            self._assign(payload.get("process"))
        if call is not None and call.installs and not (call.sampled and self._is_known(event)):
            yield "dependency_installs", 1, False
        if event.type == "tool.result":
            yield from self._end_call(event)
        elif event.type == "sandbox.sample":
            yield "cpu_s", _number(payload.get("cpu_s")), True
            yield "memory_mb", _number(payload.get("memory_bytes")) / _MIB, True
            yield "disk_mb", _number(payload.get("disk_bytes")) / _MIB, True
            yield "processes", _number(payload.get("processes")), True
        elif event.actor != "harness":
            return  # what an agent says of its own tokens and dollars is a claim
        elif event.type == "model.response":
            yield "tokens", _tokens(payload.get("usage")), False
        elif event.type == "cost":
            yield "cost_usd", _number(payload.get("usd")), False
            yield from self._count_units(_number(payload.get("units")))

    def _end_call(self, event: Event) -> Iterator[tuple[str, float, bool]]:
        if not self._open:
            return
        opened = self._open.pop(call_id(event.payload, -1), None) or self._open.popitem()[1]
        self._units += units_of_calls(1, (event.t - opened.t) / _S)
        yield from self._count_units(0.0)
        if opened.is_test_run and is_failed(event.payload):
            yield "failed_checks", 1, False

    def _count_units(self, of_answer: float) -> Iterator[tuple[str, float, bool]]:
        if of_answer or self.spent.get("cost_units"):
            units, self._units = of_answer + self._units, 0.0
            yield "cost_units", units, False

    def _assign(self, process: Any) -> None:
        """To the call that was reported last."""
        opened = next(reversed(self._open.values()), None)
        if opened is not None and len(opened.processes) < MOST_PROCESSES and isinstance(process, str):
            opened.processes.append(process)

    def _is_known(self, event: Event) -> bool:
        """Whether this process or its parent was counted already: `pip install` starts itself again."""
        parent, own = event.payload.get("parent"), event.payload.get("process")
        is_known = parent in self._installed or own in self._installed
        if isinstance(own, str):
            self._installed.add(own)
        return is_known

    def _cap(self, key: str) -> float | None:
        value: float | None = getattr(self.budget, key)
        if key in {"cost_usd", "cost_units"} and value is not None:
            return value * (1 - self.budget.headroom.cost_fraction)  # the rest is for acceptance
        return value

    def _spend(self, seq: int, key: str, amount: float, *, is_total: bool) -> Alert | None:
        cap = self._cap(key)
        if not amount or cap is None:
            return None
        total = self.spent[key] = (
            max(self.spent.get(key, 0), amount) if is_total else self.spent.get(key, 0) + amount
        )
        events = self._events.setdefault(key, [])
        events.append(seq)
        del events[:-MOST_EVENTS]
        if total <= cap or key in self._alerted:
            return None
        self._alerted.add(key)
        row = CAPS[key]
        return Alert(
            monitor=NAME,
            code=row.code,
            why=f"{total:g} of {cap:g} {row.unit}",
            severity="resource",
            action="terminate",
            signals={key: round(total, 6)},
            threshold={key: cap},
            events=events[-1:] if is_total else events,
            ends_as=row.code,
        )

    def _long_commands(self, event: Event) -> Iterator[Alert]:
        for call, opened in list(self._open.items()):
            age_s = (event.t - opened.t) / _S
            if age_s > self.budget.command_s and f"command {call}" not in self._alerted:
                self._alerted.add(f"command {call}")
                yield Alert(
                    monitor=NAME,
                    code="command_time",
                    why=f"a command runs for more than {self.budget.command_s:g} s",
                    severity="resource",
                    action="kill",
                    signals={"age_s": round(age_s, 3)},
                    threshold={"command_s": self.budget.command_s},
                    events=(opened.seq, event.seq),
                    ends_as="wall_time",
                    more={"processes": list(opened.processes)},
                )


def _tokens(usage: Any) -> float:
    if not isinstance(usage, dict):
        return 0
    return _number(usage.get("tokens_in")) + _number(usage.get("tokens_out"))


def _number(value: Any) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and value > 0 else 0.0

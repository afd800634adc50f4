"""The record of a run -> whether its trace is complete, item by item, and what is missing.

    acceptance   every check that began has its end
    mutations    every path of `change.json` has an event that was logged while the agent worked
    exchanges    every message to a model has an answer or an error, every message to the agent is a `brief`
    tool_calls   every call has its result
    decisions    every intervention names an alert that came before it, every pause has a decision
    frame        the first event is `run.start`, the last two are `termination` and `run.end`

It reads the log and the change again and believes neither the `gaps` of `capture.end` nor anything else that says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import Any

from steelyard.deferred.data_class import dataclass
from steelyard.evidence.change.change import Change, ChangeEntry
from steelyard.evidence.folder.folder import CHANGE, MANIFEST, RunFolder
from steelyard.evidence.trace.chain import Event, read_events
from steelyard.filesystem.tree import path_from_json, prefixes, printable

MOST_NAMED = 50  # missing things of one item
_WAITS = frozenset({"pause", "suspend_writes"})


@dataclass(slots=True)
class Item:
    """One part of a trace: how much was recorded of how much, and what is missing."""

    name: str
    expected: int = 0
    missing: list[str] = field(default_factory=list)
    missing_count: int = 0

    def miss(self, what: str) -> None:
        self.missing_count += 1
        if len(self.missing) < MOST_NAMED:
            self.missing.append(what)

    @property
    def recorded(self) -> int:
        return self.expected - self.missing_count

    def to_json(self) -> dict[str, Any]:
        return {"expected": self.expected, "recorded": self.recorded, "missing": self.missing}


@dataclass(frozen=True, slots=True)
class Completeness:
    items: tuple[Item, ...]

    @property
    def is_complete(self) -> bool:
        return not any(item.missing_count for item in self.items)

    def to_json(self) -> dict[str, Any]:
        return {"complete": self.is_complete, **{item.name: item.to_json() for item in self.items}}


def measure_completeness(folder: RunFolder) -> Completeness:
    """Of a folder whose chain was verified. Raises OSError or ValueError where a file cannot be read."""
    reading = _Reading()
    for event in read_events(folder.events):
        reading.add(event)
    entries = Change.from_bytes(folder.read_bytes(CHANGE)).entries if folder.file(CHANGE).exists() else ()
    manifest = folder.read_json(MANIFEST)
    is_live = bool(_mapping(manifest.get("agent")).get("in_sandbox"))
    # The answer is taken from what the agent printed, or one file
    is_answer = manifest.get("workspace") == "none"
    return reading.completeness(entries, needs_live=is_live and not is_answer)


class _Reading:
    """The events of one run, in order."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._checks: dict[str, int] = {}  # begun and not ended
        self._calls: dict[int, Mapping[str, Any]] = {}  # without a result
        self._named: dict[
            str, list[int]
        ] = {}  # the calls of each id; an agent chooses their number and their ids
        self._requests: dict[Any, int] = {}
        self._alerts: set[int] = set()
        self._waits: dict[int, str] = {}  # interventions that wait for a decision, by their alert
        self._live: set[str] = set()
        self._late: set[str] = set()
        self._deleted: set[str] = set()
        self._first = ""
        self._last: list[str] = []
        self._decisions = Item("decisions")

    def add(self, event: Event) -> None:
        self._first = self._first or event.type
        self._last = [*self._last[-1:], event.type]
        self._counts[event.type] = self._counts.get(event.type, 0) + 1
        payload = event.payload
        if event.type == "check.start":
            self._checks[str(payload.get("id"))] = event.seq
        elif event.type == "check.end":
            self._checks.pop(str(payload.get("id")), None)
        elif event.type in {"tool.call", "tool.result"}:
            self._add_call(event)
        elif event.type == "model.request":
            self._requests[payload.get("request", event.seq)] = event.seq
        elif event.type in {"model.response", "model.error"}:
            self._requests.pop(payload.get("request", next(iter(self._requests), None)), None)
        elif event.type in {"workspace.change", "workspace.changes"}:
            self._add_mutations(payload)
        else:
            self._add_decision(event)

    def _add_call(self, event: Event) -> None:
        payload = event.payload
        if event.type == "tool.call":
            self._calls[event.seq] = payload
            if payload.get("id") is not None:
                self._named.setdefault(repr(payload["id"]), []).append(event.seq)
            return
        ended = self._call_of(payload)
        if ended is not None:
            del self._calls[ended]

    def _call_of(self, result: Mapping[str, Any]) -> int | None:
        """The call that a result ends; one that names none ends the last call."""
        if result.get("call") is not None:
            return result["call"] if result["call"] in self._calls else None
        if result.get("id") is not None:
            calls = self._named.get(repr(result["id"]), [])
            while calls:
                if (seq := calls.pop()) in self._calls:
                    return seq
            return None
        if result.get("whole_agent") is True:
            whole = (seq for seq, call in reversed(self._calls.items()) if call.get("whole_agent") is True)
            return next(whole, None)
        return next(reversed(self._calls), None)

    def _add_mutations(self, payload: Mapping[str, Any]) -> None:
        seen = self._live if payload.get("observed") == "live" else self._late
        rows = payload.get("rows")
        for row in rows if isinstance(rows, list) else [payload]:
            path, renamed_from, before, after = (
                row[:4]
                if isinstance(row, list)
                else [row.get(name) for name in ("path", "renamed_from", "before", "after")]
            )
            for one in (path, renamed_from):
                if one is not None:
                    seen.add(path_from_json(one))
            if _kind(before) == "dir" and _kind(after) != "dir":
                self._deleted.add(path_from_json(path or ""))

    def _add_decision(self, event: Event) -> None:
        alert = event.payload.get("alert")
        if event.type == "monitor.alert":
            self._alerts.add(event.seq)
        elif event.type == "intervention":
            self._decisions.expected += 1
            action = str(event.payload.get("action"))
            if alert is not None and alert not in self._alerts:
                self._decisions.miss(
                    f"event {event.seq}: {action} follows from alert {alert}, which is not there"
                )
            if action in _WAITS and isinstance(alert, int):
                self._waits[alert] = f"event {event.seq}: {action} has no decision"
        elif event.type == "operator.decision" and isinstance(alert, int):
            self._waits.pop(alert, None)

    def completeness(self, entries: Iterable[ChangeEntry], *, needs_live: bool) -> Completeness:
        acceptance = Item("acceptance", self._counts.get("check.start", 0))
        for name, seq in self._checks.items():
            acceptance.miss(f"event {seq}: check {printable(name)} has no end")
        calls = Item("tool_calls", self._counts.get("tool.call", 0))
        for seq, call in self._calls.items():
            calls.miss(f"event {seq}: {printable(str(call.get('tool') or call.get('kind')))} has no result")
        exchanges = Item("exchanges", self._counts.get("model.request", 0) + self._counts.get("brief", 0))
        for seq in self._requests.values():
            exchanges.miss(f"event {seq}: a request without an answer")
        for wait in self._waits.values():
            self._decisions.miss(wait)
        mutations = self._mutations(entries, needs_live=needs_live)
        return Completeness((acceptance, mutations, exchanges, calls, self._decisions, self._frame()))

    def _mutations(self, entries: Iterable[ChangeEntry], *, needs_live: bool) -> Item:
        item = Item("mutations")
        seen = self._live if needs_live else self._live | self._late
        for entry in entries:
            for path in entry.paths:
                item.expected += 1
                is_deleted = (entry.new is None or path != entry.path) and any(
                    place in self._deleted for place in prefixes(path)
                )
                is_late = needs_live and path in self._late
                if is_late or not (path in seen or is_deleted):
                    item.miss(printable(path))
        return item

    def _frame(self) -> Item:
        item = Item("frame", 3)
        if self._first != "run.start":
            item.miss("run.start")
        for name in ("termination", "run.end"):
            if name not in self._last:
                item.miss(name)
        return item


def _kind(side: Any) -> str:
    """Of a whole entry, or of what a row has for it: a digest or a kind."""
    if isinstance(side, Mapping):
        return str(side.get("kind"))
    return side if side in {"dir", "symlink"} else "file" if side else ""


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}

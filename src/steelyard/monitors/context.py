"""The events of a run -> where it stands: stage, workspace state, open calls. Every monitor reads it; none changes it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import field, replace
from typing import Any

import orjson

from steelyard.deferred.data_class import dataclass
from steelyard.evidence.trace.chain import Event
from steelyard.monitors.reading import Call, call_of

_STATE_BYTES = 8
AGENT_STAGES = frozenset({"inspect", "write", "test"})


@dataclass(slots=True)
class Context:
    """`state` identifies the contents of the workspace; equal contents have equal states."""

    stage: str = "prepare"
    state: int = 0
    # Events that led from the last visited state to this one
    changed_by: list[int] = field(default_factory=list)
    is_watched: bool = False  # changes of the workspace are events while the agent works
    call: Call | None = None  # what the current event says the agent did
    test_runs: int = 0  # among the calls that the agent reported
    started: int | None = None  # `t` at which the agent's stage began
    _paused: int = 0  # nanoseconds that the agent's clock stood still
    _paused_at: int | None = None

    @property
    def is_agent_at_work(self) -> bool:
        return self.stage in AGENT_STAGES

    def on_agents_clock(self, event: Event) -> Event:
        """The event with a `t` that does not count pauses in which the agent's processes were stopped."""
        if event.type == "intervention":
            action = event.payload.get("action")
            if action == "pause" and event.payload.get("clock") == "stopped":
                self._paused_at = event.t
            elif action == "resume" and self._paused_at is not None:
                self._paused += event.t - self._paused_at
                self._paused_at = None
        now = event.t if self._paused_at is None else self._paused_at
        return replace(event, t=now - self._paused) if self._paused or self._paused_at else event

    def advance(self, event: Event) -> None:
        """Take in one event; `call` is then what the agent did in it."""
        self.call = call = call_of(event)
        self.test_runs += call is not None and not call.sampled and call.is_test_run
        if event.type == "stage.enter":
            self.stage = str(event.payload.get("stage", "write"))
            self.started = event.t if self.started is None else self.started
        elif event.type == "stage.leave":
            self.stage = "capture"
        elif event.type == "check.start":
            self.stage = "acceptance"
        elif event.type == "workspace.watch":
            self.is_watched = event.payload.get("mode") != "none"
        elif event.type in {"workspace.change", "workspace.changes"} and self.is_agent_at_work:
            self.is_watched = True
            self._change(event)

    def _change(self, event: Event) -> None:
        payload = event.payload
        rows = payload.get("rows") if event.type == "workspace.changes" else [payload]
        for row in rows if isinstance(rows, list) else ():
            path, before, after = _sides(row)
            self.state ^= _mark(path, before) ^ _mark(path, after)
        self.changed_by.append(event.seq)


def _sides(row: Any) -> tuple[Any, Any, Any]:
    if isinstance(row, Mapping):
        return row.get("path"), row.get("before"), row.get("after")
    if isinstance(row, list) and len(row) >= 4:  # path, name before a rename, before, after
        return row[0], row[2], row[3]
    return None, None, None


def _mark(path: Any, side: Any) -> int:
    """Of a path with these contents; of a path that does not exist, nothing."""
    if side is None:
        return 0
    data = orjson.dumps([path, side], option=orjson.OPT_SORT_KEYS)
    return int.from_bytes(hashlib.sha256(data).digest()[:_STATE_BYTES], "big")

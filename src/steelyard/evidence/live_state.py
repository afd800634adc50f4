"""A run folder that has no result yet -> what its run is doing: `LiveState("agent", 12.5)`.

Read from the last event of the log, which may be cut in the middle of a line, and from the lock of its writer.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import orjson

from steelyard.deferred.named_tuple import NamedTuple
from steelyard.evidence.folder.folder import EVENTS, RunFolder
from steelyard.evidence.in_use import is_in_use
from steelyard.filesystem.plain_file import open_plain

WAITING = "waiting for an operator"
_TAIL_BYTES = 256 << 10
_STAMP = "%Y%m%dT%H%M%S"
# The first row that names the event wins; events that are not named leave the phase as it was.
_PHASES = {
    "run.start": "preparing",
    "run.prepared": "preparing",
    "stage.enter": "agent",
    "brief": "agent",
    "tool.call": "agent",
    "operator.decision": "agent",
    "stage.leave": "reading the change",
    "capture.start": "reading the change",
    "check.start": "check",
    "check.run": "check",
    "termination": "grading",
    "run.end": "grading",
}


class LiveState(NamedTuple):
    """`phase` is where the run is, or was when its process died."""

    phase: str
    elapsed_s: float
    is_running: bool


def live_state(folder: RunFolder) -> LiveState:
    return LiveState(phase_of(folder), elapsed_of(folder), is_in_use(folder.path))


def phase_of(folder: RunFolder) -> str:
    """`preparing`, `agent`, `agent (step two)`, `check hidden`, `grading`."""
    if folder.state == "sealed":
        return "grading"
    step = ""
    phase = ""
    for event in _last_events(folder):
        kind, payload = str(event.get("type")), event.get("payload")
        name = payload if isinstance(payload, dict) else {}
        if kind == "step.start" and not step:
            step = str(name.get("step", ""))
        if not phase and kind == "intervention" and name.get("action") in {"pause", "suspend_writes"}:
            phase = WAITING
        if not phase and kind in _PHASES:
            phase = _PHASES[kind] + (f" {name.get('id', '')}" if _PHASES[kind] == "check" else "")
        if phase and (step or phase != "agent"):
            break
    if not phase:
        return "preparing"
    return f"{phase} (step {step})" if step and phase == "agent" else phase


def elapsed_of(folder: RunFolder) -> float:
    """Since the moment that the run's name carries."""
    started = started_at(folder)
    return 0.0 if started is None else max(0.0, time.time() - started.timestamp())


def started_at(folder: RunFolder) -> datetime | None:
    """The moment in the run's name, `20260307T120000123Z-...`."""
    try:
        return datetime.strptime(folder.run_id[:15], _STAMP).replace(tzinfo=UTC)
    except ValueError:
        return None


def _last_events(folder: RunFolder) -> list[Mapping[str, Any]]:
    """Those at the end of the log, newest first; lines that cannot be read are left out."""
    try:
        with open_plain(folder.file(EVENTS)) as stream:
            stream.seek(max(0, stream.seek(0, os.SEEK_END) - _TAIL_BYTES))
            lines = stream.read(_TAIL_BYTES).splitlines()
    except OSError:
        return []
    found: list[Mapping[str, Any]] = []
    for line in reversed(lines):
        try:
            event = orjson.loads(line)
        except ValueError:
            continue
        if isinstance(event, dict):
            found.append(event)
    return found

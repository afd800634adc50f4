"""A run folder without a result -> what its run waits for, read from the log alone.

    HeldRun(action="pause", alert=<event 14>, events=(<event 13>,), left_s=412.0, is_running=True)

A run whose controller was killed while it waited is `is_running=False`: its sandbox died with the controller, so that nothing
waits any more. A run that was throttled at that moment is shown in the same way; while it runs, a throttle needs no decision.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from steelyard.deferred.data_class import dataclass
from steelyard.errors import DAMAGED
from steelyard.evidence.folder.folder import RunFolder
from steelyard.evidence.in_use import is_in_use
from steelyard.evidence.trace.chain import Event, read_events
from steelyard.filesystem.plain_file import open_plain

THROTTLE = "throttle"
WAITING = frozenset({"pause", "suspend_writes"})
_INTERVENTION = b'"intervention"'
_PIECE_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class HeldRun:
    folder: RunFolder
    action: str  # pause, suspend_writes
    alert: Event
    events: tuple[Event, ...]  # what the alert follows from
    since: str  # UTC
    left_s: float  # until the deadline decides
    default: str  # what the deadline decides
    is_running: bool

    def to_json(self) -> dict[str, Any]:
        alert = self.alert.payload
        return {
            "run": self.folder.run_id,
            "folder": str(self.folder.path),
            "state": self.action if self.is_running else "interrupted",
            "alert": {"event": self.alert.seq, **alert},
            "evidence": [
                {"event": one.seq, "type": one.type, "actor": one.actor, "payload": one.payload}
                for one in self.events
            ],
            "since": self.since,
            "left_s": round(self.left_s, 1) if self.is_running else None,
            "default": self.default,
        }


def held_run(folder: RunFolder) -> HeldRun | None:
    """None where the run does not wait: it works, is over, or never got so far."""
    if folder.state == "sealed":
        return None
    try:
        events = list(read_events(folder.events))
    except DAMAGED:
        return None
    waiting = _waiting(events)
    if waiting is None:
        return None
    held = _held(folder, waiting, {event.seq: event for event in events})
    return None if held is not None and held.is_running and held.action == THROTTLE else held


def _waiting(events: Sequence[Event]) -> Event | None:
    """The last intervention that still waits for its decision; a pause comes before writes that are suspended."""
    asked: dict[Any, Event] = {}  # alert -> intervention
    throttled: Event | None = None
    for event in events:
        if event.type == "intervention" and event.payload.get("action") in WAITING:
            asked[event.payload.get("alert")] = event
        elif _was_throttled(event, events[-1]):
            throttled = event
        elif event.type == "operator.decision":
            asked.pop(event.payload.get("alert"), None)
        elif event.type in {"termination", "brief"} or _is_stop(event) or _is_end_of_work(event):
            asked, throttled = {}, None
    paused = [event for event in asked.values() if event.payload["action"] == "pause"]
    return next(reversed(paused or list(asked.values())), throttled)


def is_waiting(folder: RunFolder) -> bool:
    """Whether a live run waits for an operator. A log without any intervention is searched and not parsed."""
    try:
        if not _names_intervention(folder):
            return False
    except OSError:
        return False
    held = held_run(folder)
    return held is not None and held.is_running


def _names_intervention(folder: RunFolder) -> bool:
    end = b""
    with open_plain(folder.events) as stream:
        while piece := stream.read(_PIECE_BYTES):
            if _INTERVENTION in end + piece:
                return True
            end = piece[-len(_INTERVENTION) :]
    return False


def _was_throttled(event: Event, last: Event) -> bool:
    """Whether the log ends within the delay of this throttle."""
    if event.type != "intervention" or event.payload.get("action") != THROTTLE:
        return False
    delay_s = event.payload.get("delay_s", 0)
    return isinstance(delay_s, int | float) and last.t - event.t < delay_s * 1_000_000_000


def _is_end_of_work(event: Event) -> bool:
    """The agent ended before a decision; a step from one stage to the next has no code."""
    return event.type == "stage.leave" and "code" in event.payload


def _is_stop(event: Event) -> bool:
    return event.type == "intervention" and event.payload.get("action") == "terminate"


def _held(folder: RunFolder, waiting: Event, events: dict[int, Event]) -> HeldRun | None:
    payload = waiting.payload
    alert = events.get(payload.get("alert", 0))
    if alert is None:
        return None
    begun = datetime.strptime(waiting.at, "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=UTC)
    passed_s = (datetime.now(UTC) - begun).total_seconds()
    named = alert.payload.get("events", ())
    return HeldRun(
        folder=folder,
        action=str(payload["action"]),
        alert=alert,
        events=tuple(events[seq] for seq in named if seq in events),
        since=waiting.at,
        left_s=max(0.0, float(payload.get("deadline_s", 0)) - passed_s),
        default=str(payload.get("default", "")),
        is_running=is_in_use(folder.path),
    )

"""What happened -> `events.jsonl`: one line an event, each line sealing the one before it.

    {"actor":"agent","at":"2026-03-07T12:00:00.000000Z","payload":{...},"prev":"<64 hex>",
     "seq":1,"t":1200,"type":"tool.call","hash":"<64 hex>"}

`hash` is the SHA-256 of the stored bytes of the line without its last member (`{...,"type":"tool.call"}`),
with `prev`, the hash of the line before, inside; the first `prev` is 64 zeros. `seq` counts from 1, so it is
the line number. `t` is nanoseconds since the log was opened, strictly increasing.

A subscriber is called with each event, in the order of `seq`, right after the event was written. It runs in the thread
that appends, while other threads wait, so it must be quick and must not wait for another thread. It may append events
itself: they are delivered after the current one. A subscriber that raises gets no further event, and the event
`subscriber.error` says so; the log goes on.

A follower is not called: events wait in its queue until it takes them, so that following costs an append next to nothing.
"""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, Self, get_args

import orjson

from steelyard.errors import InfraFault
from steelyard.evidence.folder.blobs import store_text
from steelyard.evidence.key_rules import redact_keys
from steelyard.evidence.redact import NO_SECRETS, Secrets
from steelyard.evidence.text_rules import TextRules
from steelyard.evidence.trace import json_safe
from steelyard.evidence.trace.chain import GENESIS, MAX_LINE, ChainBreak, Event, read_events, verify_chain

__all__ = [
    "ACTORS",
    "EVENT_TYPES",
    "Actor",
    "ChainBreak",
    "Event",
    "EventLog",
    "Subscriber",
    "read_events",
    "store_text",
    "verify_chain",
]

Actor = Literal["agent", "harness", "monitor", "operator"]
ACTORS: frozenset[str] = frozenset(get_args(Actor))
EVENT_TYPES: frozenset[str] = frozenset(
    {
        *("run.start", "run.prepared", "run.mismatch", "run.end", "cache.rebuilt"),
        *("stage.enter", "stage.leave", "step.start", "step.end", "brief"),
        *("agent.message", "agent.final", "agent.trace"),
        *("model.request", "model.response", "model.error", "model.wait"),
        *("tool.call", "tool.result", "permission.request", "permission.decision"),
        *("workspace.watch", "workspace.change", "workspace.changes", "capture.end", "patch.apply"),
        *("process.start", "sandbox.sample", "kernel.attempt", "kernel.totals"),
        *("collect", "check.start", "check.run", "check.end"),
        *("monitor.alert", "intervention", "operator.decision", "redaction"),
        *("network.connection", "cost", "termination", "subscriber.error"),
    }
)
_OPTIONS = orjson.OPT_SORT_KEYS | orjson.OPT_STRICT_INTEGER

_ERROR_CHARS = 500  # of a subscriber's exception in its event

Subscriber = Callable[[Event], None]


class EventLog:
    """Appends events, from any thread; each is one write(2), so that a crash can only cut the last line."""

    def __init__(self, path: Path, secrets: Secrets = NO_SECRETS, rules: TextRules | None = None) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC
        self._fd = os.open(path, flags, 0o600)
        self._secrets = secrets  # values that no event shows
        self._rules = rules  # of a privacy policy, for what the agent wrote
        self._lock = threading.RLock()  # a subscriber may append
        self._subscribers: list[Subscriber] = []
        self._undelivered: deque[Event] = deque()
        self._queues: list[deque[bytes]] = []  # of followers: lines
        self._delivering = False
        self._start = time.monotonic_ns()
        self._last = -1
        self._head = GENESIS
        self._count = 0
        self._second, self._stamp = -1, ""
        self._failed = False

    @property
    def head(self) -> str:
        return self._head

    @property
    def count(self) -> int:
        return self._count

    def now(self) -> int:
        """Nanoseconds since the log was opened: the clock of `t`."""
        return time.monotonic_ns() - self._start

    def append(self, type: str, actor: Actor, payload: Mapping[str, Any]) -> int:  # noqa: A002 (the event's own word)
        """Write one event and return its `seq`."""
        if type not in EVENT_TYPES or actor not in ACTORS:
            raise ValueError(f"no such event: {type} by {actor}")
        given = _json(payload)
        ruled: Mapping[str, int] = {}
        allowed = given
        if self._rules is not None and actor == "agent":
            safe = self._rules.redact_json(orjson.loads(given))
            ruled = Counter(span.rule for span in safe.spans)
            allowed = _json(safe.value) if safe.total else given
        stored, spans = redact_keys(self._secrets.redact(allowed))
        with self._lock:
            t = max(self.now(), self._last + 1)
            at, prev = self._time_of_day(), self._head
            opening = f'{{"actor":"{actor}","at":"{at}","payload":'
            ending = f',"prev":"{prev}","seq":{self._count + 1},"t":{t},"type":"{type}"}}'
            body = opening.encode() + stored + ending.encode()
            digest = hashlib.sha256(body).hexdigest()
            line = body[:-1] + b',"hash":"' + digest.encode() + b'"}\n'
            self._write(line)
            self._last, self._head, self._count = t, digest, self._count + 1
            seq = self._count
            for queued in self._queues:
                queued.append(line)
            if self._subscribers:
                event = Event(seq, t, at, type, actor, orjson.loads(stored), prev, digest)
                self._undelivered.append(event)
            if stored is not given:
                self._append_redaction(seq, given, {**ruled, **spans})
            if self._subscribers:
                self._deliver()
            return seq

    def _append_redaction(self, seq: int, given: bytes, spans: Mapping[str, int]) -> None:
        """What was taken out of the event before it, by rule; the digest is of its payload as it was given."""
        values = {f"value of {name}": 1 for name in sorted(self._secrets.found_in(given))}
        digest = hashlib.sha256(given).hexdigest()
        self.append("redaction", "harness", {"event": seq, "digest": digest, "spans": {**values, **spans}})

    def subscribe(self, subscriber: Subscriber) -> Callable[[], None]:
        """Call `subscriber` with every event from now on; returns the function that ends the subscription."""
        with self._lock:
            self._subscribers.append(subscriber)

        def unsubscribe() -> None:
            with self._lock, suppress(ValueError):
                self._subscribers.remove(subscriber)

        return unsubscribe

    def follow(self) -> Callable[[], list[Event]]:
        """A function that gives the events since it was called last, in the order of `seq`; from any thread."""
        queued: deque[bytes] = deque()
        with self._lock:
            self._queues.append(queued)

        def take() -> list[Event]:
            taken: list[Event] = []
            with suppress(IndexError):
                while True:
                    taken.append(Event(**orjson.loads(queued.popleft())))
            return taken

        return take

    def _deliver(self) -> None:
        """Hand on what was written. An event that a subscriber appends waits here until the current one is delivered."""
        if self._delivering:
            return
        self._delivering = True
        try:
            while self._undelivered:
                event = self._undelivered.popleft()
                for subscriber in tuple(self._subscribers):
                    if subscriber in self._subscribers:  # not dropped by an earlier one
                        self._call(subscriber, event)
        finally:
            self._delivering = False

    def _call(self, subscriber: Subscriber, event: Event) -> None:
        try:
            subscriber(event)
        except Exception as fault:  # noqa: BLE001  # a defect of a subscriber must not end the run that it watches
            if subscriber in self._subscribers:
                self._subscribers.remove(subscriber)
            name = getattr(subscriber, "__qualname__", type(subscriber).__qualname__)
            failure = {"subscriber": name, "event": event.seq, "error": repr(fault)[:_ERROR_CHARS]}
            with suppress(InfraFault):  # the log cannot be written: the next append of the run says so
                self.append("subscriber.error", "harness", failure)

    def _time_of_day(self) -> str:
        """Its second is formatted once: formatting it for each event took a quarter of an append."""
        second, ns = divmod(time.time_ns(), 1_000_000_000)
        if second != self._second:
            self._second, self._stamp = second, time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(second))
        return f"{self._stamp}.{ns // 1000:06d}Z"

    def _write(self, line: bytes) -> None:
        # After a short write the file ends in half a line; nothing may be glued to it.
        if self._failed:
            raise InfraFault("the event log could not be written and is closed")
        self._failed = True
        try:
            written = os.write(self._fd, line)
        except OSError as error:
            raise InfraFault(f"the event log could not be written: {error.strerror}") from error
        if written != len(line):
            raise InfraFault("the event log could not be written: the disk is full")
        self._failed = False

    def close(self) -> None:
        """Idempotent; nothing can be appended afterwards. The seal makes it durable."""
        with self._lock:
            if self._fd >= 0:
                self._failed = True
                os.close(self._fd)
                self._fd = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def _json(payload: Mapping[str, Any]) -> bytes:
    try:
        stored = orjson.dumps(payload, option=_OPTIONS)
    except (TypeError, ValueError):  # an agent's lone surrogate, huge integer or endless nesting
        stored = orjson.dumps(json_safe.json_safe(payload), option=_OPTIONS)
    if len(stored) <= MAX_LINE - 1024:
        return stored
    digest = hashlib.sha256(stored).hexdigest()
    return orjson.dumps({"oversized": {"bytes": len(stored), "digest": digest}}, option=_OPTIONS)

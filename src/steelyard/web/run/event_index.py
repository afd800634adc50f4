"""`events.jsonl` -> where each event begins and which kind it is, so that any page of a long log is read alone.

    EventIndex   8 bytes and one byte for each event; 100,000 events are found again in a tenth of a second
    select       the numbers of the events that a filter keeps, by kind and by text
    read         some events by number

An index is kept while the file stays as it is; a log that grows is scanned on from its last line.
"""

from __future__ import annotations

import os
import re
import threading
from array import array
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from steelyard.evidence.trace.chain import MAX_LINE
from steelyard.filesystem.plain_file import open_plain

# Kind -> what it is called, and which types of events it has; the first row that matches counts.
KINDS: dict[str, tuple[str, tuple[str, ...]]] = {
    "alert": (
        "Alerts",
        ("monitor.", "intervention", "operator.", "subscriber.", "run.mismatch", "termination"),
    ),
    "message": ("Messages", ("brief", "agent.")),
    "model": ("Model turns", ("model.",)),
    "tool": ("Tool calls", ("tool.", "permission.")),
    "workspace": ("Workspace", ("workspace.", "capture.", "patch.", "collect")),
    "check": ("Checks", ("check.",)),
    "stage": ("Stages", ("stage.", "step.", "run.", "cache.")),
    "other": ("Other", ("",)),
}
_KIND_NAMES = tuple(KINDS)
_TYPE = re.compile(rb',"type":"([a-z_.]{1,40})"')
_TAIL_BYTES = 320
_MOST_INDEXES = 16
_MOST_SELECTIONS = 8


def kind_of(type_: str) -> str:
    return next(kind for kind, (_name, starts) in KINDS.items() if type_.startswith(starts))


@dataclass(slots=True)
class EventIndex:
    """`starts` has one more entry than there are events: the end of the last one."""

    path: Path
    starts: array[int] = field(default_factory=lambda: array("Q", [0]))
    kinds: bytearray = field(default_factory=bytearray)
    identity: tuple[int, int] = (0, 0)  # device and inode
    cost_usd: float | None = None  # the sum of the `cost` events
    selections: OrderedDict[tuple[tuple[str, ...], str], tuple[int, Sequence[int]]] = field(
        default_factory=OrderedDict
    )
    lock: threading.Lock = field(default_factory=threading.Lock)

    def __len__(self) -> int:
        return len(self.kinds)

    def extend(self) -> None:
        """Scan what was written since the last look; a line without an end is not an event yet."""
        known: dict[bytes, int] = {}
        with self.lock, open_plain(self.path) as stream:
            stream.seek(self.starts[-1])
            at = self.starts[-1]
            for line in iter(lambda: stream.readline(MAX_LINE), b""):
                if not line.endswith(b"\n") and len(line) < MAX_LINE:
                    break
                found = _TYPE.search(line, max(0, len(line) - _TAIL_BYTES))
                name = found[1] if found else b"other"
                if name not in known:
                    known[name] = _KIND_NAMES.index(kind_of(name.decode()))
                if name == b"cost":
                    self._add_cost(line)
                at += len(line)
                self.starts.append(at)
                self.kinds.append(known[name])

    def _add_cost(self, line: bytes) -> None:
        try:
            usd = orjson.loads(line)["payload"]["usd"]
            self.cost_usd = (self.cost_usd or 0.0) + float(usd)
        except (ValueError, LookupError, TypeError):
            return  # the evidence tab says that the log is damaged

    def counts(self) -> dict[str, int]:
        return {kind: self.kinds.count(at) for at, kind in enumerate(_KIND_NAMES)}

    def select(self, kinds: Sequence[str], text: str) -> Sequence[int]:
        """The positions, from 0, of the events of these kinds that contain `text`; of no kinds, all."""
        key = (tuple(sorted(kinds)), text)
        with self.lock:
            known = self.selections.get(key)
            if known and known[0] == len(self):
                self.selections.move_to_end(key)
                return known[1]
        chosen: Sequence[int] = range(len(self))
        wanted = {_KIND_NAMES.index(kind) for kind in kinds if kind in KINDS}
        if wanted:
            chosen = array("L", [at for at, kind in enumerate(self.kinds) if kind in wanted])
        if text:
            chosen = array("L", self._containing(chosen, text))
        with self.lock:
            self.selections[key] = (len(self), chosen)
            while len(self.selections) > _MOST_SELECTIONS:
                self.selections.popitem(last=False)
        return chosen

    def _containing(self, positions: Iterable[int], text: str) -> Iterable[int]:
        """Compared as the line is stored, without regard to case."""
        needle = orjson.dumps(text)[1:-1].lower()
        with open_plain(self.path) as stream:
            for at in positions:
                stream.seek(self.starts[at])
                if needle in stream.read(self.starts[at + 1] - self.starts[at]).lower():
                    yield at

    def read(self, positions: Iterable[int]) -> list[dict[str, Any]]:
        """The events, each with what can be read of it."""
        with open_plain(self.path) as stream:
            return [self._event(stream, at) for at in positions]

    def raw(self, position: int) -> bytes:
        """The stored line of one event."""
        with open_plain(self.path) as stream:
            stream.seek(self.starts[position])
            return stream.read(self.starts[position + 1] - self.starts[position])

    def _event(self, stream: Any, at: int) -> dict[str, Any]:
        stream.seek(self.starts[at])
        try:
            event = orjson.loads(stream.read(self.starts[at + 1] - self.starts[at]))
        except ValueError:
            event = None
        if not isinstance(event, dict):
            return {"seq": at + 1, "type": "other", "payload": {"unreadable": "this line is not JSON"}}
        return event


class EventIndexes:
    """The indexes of the logs that were looked at last."""

    def __init__(self) -> None:
        self._known: OrderedDict[Path, EventIndex] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, path: Path) -> EventIndex:
        """Of a log as it is now; a log that is not there has no events."""
        try:
            found = os.stat(path, follow_symlinks=False)  # noqa: PTH116  # one system call
        except OSError:
            return EventIndex(path)
        with self._lock:
            index = self._known.get(path)
            identity = (found.st_dev, found.st_ino)
            if index is None or index.identity != identity or found.st_size < index.starts[-1]:
                index = self._known[path] = EventIndex(path, identity=identity)
            self._known.move_to_end(path)
            while len(self._known) > _MOST_INDEXES:
                self._known.popitem(last=False)
        if found.st_size > index.starts[-1]:
            index.extend()
        return index

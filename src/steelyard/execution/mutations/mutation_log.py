"""A path of a running workspace -> one `workspace.change` event, if what stands there is not what stood there.

    {"path": "add.sh", "renamed_from": null, "before": {...}|null, "after": {...}|null, "observed": "live",
     "attributed": true, "attributed_to": 7, "patch": {"digest": ..., "bytes": ..., "prefix": ...}|null, "stored": true}

`before` is what the last event of this path had as `after`, or the baseline. `stored` says that the content of `after` is
among the blobs. Everything is bounded: after `SINGLE_EVENTS` events the others share events (`workspace.changes`), after
`ROWS` rows they are only counted.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from steelyard.deferred.data_class import dataclass
from steelyard.deferred.named_tuple import NamedTuple
from steelyard.evidence.change.change import ChangeEntry
from steelyard.evidence.folder.blobs import Blobs, store_text
from steelyard.evidence.trace.events import EventLog
from steelyard.execution.mutations import text_patch
from steelyard.execution.mutations.running_tree import Look, RunningTree
from steelyard.filesystem.tree import Entry, path_to_json, prefixes, printable

SINGLE_EVENTS = 2000
BATCH_ROWS = 500
ROWS = 100_000
STORED_BYTES = 1 << 20  # of one file, at most, is kept while the agent works
ALL_STORED_BYTES = 64 << 20
_REMEMBERED_BYTES = 16 << 20  # of texts, for the next patch of the same file


class KnownEntry(NamedTuple):
    """What stands at a path since it was last looked at, and the mark by which that is seen again."""

    entry: Entry | None
    mark: tuple[int, int, int, int] | None


@dataclass(frozen=True, slots=True)
class Views:
    workspace: RunningTree
    baseline: RunningTree


class MutationLog:
    """What stands at every path that has changed, as far as it was seen. Used by one thread at a time."""

    def __init__(
        self, views: Views, events: EventLog, blobs: Blobs, is_generated: Callable[[str], object]
    ) -> None:
        self._views = views
        self._events = events
        self._blobs = blobs
        self._is_generated = is_generated
        self._known: dict[str, KnownEntry] = {}
        self._texts: dict[str, bytes] = {}
        self._text_bytes = 0
        self._deleted: set[str] = set()  # directories; what was below them went with them
        self._rows: list[list[object]] = []
        self._row_call: int | None = None
        self._stored_bytes = 0
        self.singles = 0
        self.rows = 0
        self.suppressed = 0

    @property
    def count(self) -> int:
        return self.singles + self.rows

    def record(self, path: str, call: int | None) -> Entry | None:
        """Look at one path and log how it differs from what is known of it; what stands there now."""
        known = self._known.get(path)
        look = self._views.workspace.look(path, known.mark if known is not None else None)
        if look is None:
            return known.entry if known is not None else None
        before, text = self._baseline(path) if known is None else (known.entry, self._texts.get(path))
        after, is_stored = self._digested(look)
        self._known[path] = KnownEntry(after, look.mark)
        self._remember(path, look.data)
        if _is_same(before, after) or (_is_folder(before, after) and self._is_generated(f"{path}/")):
            return after
        if before is not None and before.kind == "dir":
            self._deleted.add(path)
            self._forget_below(path)
        patch = (
            text_patch.text_patch(printable(path), text, look.data)
            if _has_patch(before, after, text, look.data)
            else None
        )
        self._append(path, before, after, call, patch, is_stored=is_stored)
        return after

    def covers(self, entry: ChangeEntry) -> bool:
        """Whether the last event of each path of a captured change says what is there in the end."""
        pairs = [(entry.path, entry.new)]
        if entry.renamed_from is not None:
            pairs.append((entry.renamed_from, None))
        return all(self._agrees(path, end) for path, end in pairs)

    def flush(self) -> None:
        """Write the rows that wait for others to share an event with."""
        if self._rows:
            rows, self._rows = self._rows, []
            call = self._row_call
            self._events.append(
                "workspace.changes",
                "harness",
                {"count": len(rows), "rows": rows, "observed": "live", "attributed": call is not None, "attributed_to": call},
            )  # fmt: skip

    def _agrees(self, path: str, end: Entry | None) -> bool:
        known = self._known.get(path)
        if known is None:
            return end is None and any(place in self._deleted for place in prefixes(path))
        seen = known.entry
        if seen is None or end is None:
            return seen is end
        if seen.kind == "file" and not seen.sha256:  # too large to be read while it was written, or locked
            return (end.kind, end.size) == (seen.kind, seen.size)
        return seen == end

    def _baseline(self, path: str) -> tuple[Entry | None, bytes | None]:
        """What the agent found there, and its content."""
        look = self._views.baseline.look(path)
        if look is None or look.entry is None or look.entry.kind != "file" or look.data is None:
            return (None if look is None else look.entry), None
        return replace(look.entry, sha256=hashlib.sha256(look.data).hexdigest()), look.data

    def _digested(self, look: Look) -> tuple[Entry | None, bool]:
        """The entry with the digest of its content, and whether the content is among the blobs."""
        entry, data = look.entry, look.data
        if entry is None or entry.kind != "file" or data is None:
            return entry, False
        # Of a flood only the digests: the capture keeps what is left of it
        is_single = self.singles < SINGLE_EVENTS
        if is_single and len(data) <= STORED_BYTES and self._stored_bytes + len(data) <= ALL_STORED_BYTES:
            self._stored_bytes += len(data)
            stored = self._blobs.put_bytes(data)
            return replace(entry, size=stored.size, sha256=stored.sha256), True
        safe = self._blobs.secrets.redact(data)
        return replace(entry, size=len(safe), sha256=hashlib.sha256(safe).hexdigest()), False

    def _remember(self, path: str, data: bytes | None) -> None:
        self._text_bytes -= len(self._texts.pop(path, b""))
        if (
            data is not None
            and len(data) <= text_patch.PATCH_BYTES
            and self._text_bytes + len(data) <= _REMEMBERED_BYTES
        ):
            self._texts[path] = data
            self._text_bytes += len(data)

    def _forget_below(self, path: str) -> None:
        """What was below a deleted directory is gone with it."""
        below = [one for one in self._known if one.startswith(f"{path}/")]
        for one in below:
            self._known[one] = KnownEntry(None, None)
            self._text_bytes -= len(self._texts.pop(one, b""))

    def _append(  # noqa: PLR0913  # the members of one event
        self,
        path: str,
        before: Entry | None,
        after: Entry | None,
        call: int | None,
        patch: str | None,
        *,
        is_stored: bool,
    ) -> None:
        if self.singles < SINGLE_EVENTS:
            self.singles += 1
            payload: dict[str, Any] = {
                "path": path_to_json(path),
                "renamed_from": None,
                "before": before.to_json() if before else None,
                "after": after.to_json() if after else None,
                "observed": "live",
                "attributed": call is not None,
                "attributed_to": call,
                "patch": None if patch is None else store_text(patch, self._blobs),
                "stored": is_stored,
            }
            self._events.append("workspace.change", "harness", payload)
            return
        if self.rows >= ROWS:
            self.suppressed += 1
            self._known.pop(path, None)  # no event has it: the capture must
            return
        if self._row_call != call or len(self._rows) >= BATCH_ROWS:
            self.flush()
        self._row_call = call
        self.rows += 1
        self._rows.append([path_to_json(path), None, _digest(before), _digest(after)])


def _digest(entry: Entry | None) -> str | None:
    return None if entry is None else entry.sha256 or entry.kind


def _is_same(before: Entry | None, after: Entry | None) -> bool:
    """Two files that could not be read are not known to be the same."""
    return before == after and (after is None or after.kind != "file" or bool(after.sha256))


def _is_folder(before: Entry | None, after: Entry | None) -> bool:
    return {entry.kind for entry in (before, after) if entry is not None} == {"dir"}


def _has_patch(before: Entry | None, after: Entry | None, old: bytes | None, new: bytes | None) -> bool:
    """Both sides must be known: of a binary or a large file the digests and sizes are all."""
    sides = ((before, old), (after, new))
    return any(data is not None for _, data in sides) and all(
        entry is None or (entry.kind == "file" and data is not None) for entry, data in sides
    )

"""Small changes for graders to look at, written as `path -> (before, after)`."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

from steelyard.bench.final_tree import FinalTree
from steelyard.evidence.change.change import Change, ChangeEntry
from steelyard.evidence.folder.blobs import Blobs
from steelyard.filesystem.tree import Entry
from steelyard.graders.base import Case


def file(text: str = "", mode: str = "644") -> Entry:
    return Entry("file", mode, len(text.encode()), hashlib.sha256(text.encode()).hexdigest())


def link(target: str) -> Entry:
    return Entry("symlink", target=target)


def change(
    entries: Mapping[str, tuple[Entry | None, Entry | None]], renames: Mapping[str, str] | None = None
) -> Change:
    renames = renames or {}
    return Change(
        "root", tuple(ChangeEntry(path, old, new, renames.get(path)) for path, (old, new) in entries.items())
    )


def case(
    entries: Mapping[str, tuple[Entry | None, Entry | None]] | Change,
    *,
    baseline: Mapping[str, Entry] | None = None,
    blobs: Path | None = None,
) -> Case:
    made = entries if isinstance(entries, Change) else change(entries)
    return Case(
        name="it",
        change=made,
        blobs=Blobs(blobs or Path("/nonexistent")),
        final_tree=lambda: FinalTree(baseline or {}, [made]),
    )

"""A folder -> everything in it, the slow and obvious way: what a capture is measured against."""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path

from steelyard.evidence.change.change import Change
from steelyard.filesystem.tree import Entry

Sides = tuple[Entry | None, Entry | None]


def walk(root: Path) -> dict[str, Entry]:
    """Every path below `root` but `.git`, with its kind, mode and content."""
    entries: dict[str, Entry] = {}
    for name in sorted(os.listdir(root)):  # noqa: PTH208 (names only)
        path = root / name
        mode = path.lstat().st_mode
        if name == ".git":
            continue
        if stat.S_ISLNK(mode):
            entries[name] = Entry("symlink", target=os.readlink(path))  # noqa: PTH115 (bytes survive)
        elif stat.S_ISDIR(mode):
            entries[name] = Entry("dir")
            entries |= {f"{name}/{below}": entry for below, entry in walk(path).items()}
        elif stat.S_ISREG(mode):
            data = path.read_bytes()
            digest = hashlib.sha256(data).hexdigest()
            entries[name] = Entry("file", "755" if mode & 0o100 else "644", len(data), digest)
    return entries


def difference(old: dict[str, Entry], new: dict[str, Entry]) -> dict[str, Sides]:
    """What a change must say: every path that differs, of new directories only the empty ones."""
    parents = {path.rpartition("/")[0] for path in new}
    sides = {path: (old.get(path), new.get(path)) for path in old.keys() | new.keys()}
    return {
        path: (before, after)
        for path, (before, after) in sides.items()
        if before != after and not (before is None and after == Entry("dir") and path in parents)
    }


def unfolded(change: Change) -> dict[str, Sides]:
    """A change with each rename as a deletion and an addition."""
    sides: dict[str, Sides] = {}
    for entry in change.entries:
        if entry.renamed_from is not None:
            sides[entry.renamed_from] = (entry.old, None)
        sides[entry.path] = (None if entry.renamed_from is not None else entry.old, entry.new)
    return sides

"""Deletions and additions -> renames, where it is certain (equal bytes) or where git says so (similar)."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace

from steelyard.evidence.change.change import Change, ChangeEntry


def fold_exact(entries: Iterable[ChangeEntry]) -> list[ChangeEntry]:
    """Fold a deleted and an added file with the same bytes into one entry, if there is exactly one of each."""
    listed = list(entries)
    gone: dict[str, list[str]] = {}
    came: dict[str, list[str]] = {}
    for entry in listed:
        if entry.new is None and entry.old is not None and entry.old.size and entry.old.sha256:
            gone.setdefault(entry.old.sha256, []).append(entry.path)
        if entry.old is None and entry.new is not None and entry.new.size and entry.new.sha256:
            came.setdefault(entry.new.sha256, []).append(entry.path)
    pairs = {
        new[0]: gone[sha][0] for sha, new in came.items() if len(new) == 1 and len(gone.get(sha, ())) == 1
    }
    return _folded(listed, pairs)


def with_renames(change: Change, renames: Mapping[str, str]) -> Change:
    """The same change with each deletion and addition in `renames` (new path -> old path) as one entry."""
    return replace(change, entries=tuple(_folded(change.entries, renames)))


def _folded(entries: Iterable[ChangeEntry], renames: Mapping[str, str]) -> list[ChangeEntry]:
    at = {entry.path: entry for entry in entries}
    for new_path, old_path in renames.items():
        came, gone = at.get(new_path), at.get(old_path)
        # Only a plain deletion and a plain addition: a path that still exists was not renamed.
        if came and gone and came.old is None and came.renamed_from is None and gone.new is None:
            at[new_path] = replace(came, old=gone.old, renamed_from=old_path)
            del at[old_path]
    return sorted(at.values(), key=lambda entry: os.fsencode(entry.path))

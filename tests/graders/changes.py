"""Whole test files before and after -> a Case, with the bytes in a store under tmp_path."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from cases import case, change

from steelyard.evidence.folder.blobs import Blobs
from steelyard.filesystem.tree import Entry
from steelyard.graders.base import Case

Texts = Mapping[str, str | bytes]


def edited(store: Path, before: Texts, after: Texts, renames: Mapping[str, str] | None = None) -> Case:
    """`renames` leads from the new path to the old one, as in a change."""
    blobs = Blobs(store)
    renames = renames or {}

    def entry(texts: Texts, path: str) -> Entry | None:
        if path not in texts:
            return None
        text = texts[path]
        stored = blobs.put_bytes(text.encode() if isinstance(text, str) else text)
        return Entry("file", "644", stored.size, stored.sha256)

    sides = {
        path: (entry(before, renames.get(path, path)), entry(after, path))
        for path in sorted({*before, *after} - set(renames.values()))
    }
    kept = {path: (old, new) for path, (old, new) in sides.items() if old != new or path in renames}
    return case(change(kept, dict(renames)), blobs=store)

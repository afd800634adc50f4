"""Baseline + setup + change -> what stands at a path in the end, as data."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence

from steelyard.evidence.change.change import Change
from steelyard.filesystem.tree import Entry, prefixes

MAX_LINKS = 40


class FinalTree:
    """The graded tree without a file system: nothing in it can be followed out of it."""

    def __init__(self, baseline: Mapping[str, Entry], changes: Sequence[Change]) -> None:
        self._entries = dict(baseline)
        for change in changes:
            for entry in change.entries:
                if entry.renamed_from is not None:
                    self._entries.pop(entry.renamed_from, None)
                if entry.new is None:
                    self._entries.pop(entry.path, None)
                else:
                    self._entries[entry.path] = entry.new
        self._folders = {parent for path in self._entries for parent in prefixes(path)[:-1]}

    @property
    def entries(self) -> Mapping[str, Entry]:
        """Everything by its own path, nothing followed."""
        return self._entries

    def kind(self, path: str) -> str | None:
        """`file` or `dir` at this path, links followed inside the tree; None when there is nothing."""
        for _ in range(MAX_LINKS):
            link = next((part for part in prefixes(path) if self._is_link(part)), None)
            if link is None:
                break
            target = posixpath.join(posixpath.dirname(link), self._entries[link].target)
            path = posixpath.normpath(target + path[len(link) :])
            if path.startswith(("/", "../")) or path == "..":
                return None
        else:
            return None
        entry = self._entries.get(path)
        if entry is not None and entry.kind == "file":
            return "file"
        return "dir" if entry is not None or path in self._folders or path == "." else None

    def _is_link(self, path: str) -> bool:
        entry = self._entries.get(path)
        return entry is not None and entry.kind == "symlink"

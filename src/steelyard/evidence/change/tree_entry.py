"""One name in one view of a tree -> its kind, mode and bytes, and whether two of them are the same."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager

from steelyard.deferred.named_tuple import NamedTuple
from steelyard.evidence.change.walk import Kind, Tree, kind_of, same_bytes


class TreeEntry(NamedTuple):
    """What stands at one name. Only `tree` ever opens it."""

    tree: Tree
    folder: str
    name: str
    status: os.stat_result

    @property
    def kind(self) -> Kind:
        return kind_of(self.status)

    @property
    def mode(self) -> str:
        if self.tree.all_modes:
            return f"{self.status.st_mode & 0o777:03o}"
        return "755" if self.status.st_mode & 0o100 else "644"

    @property
    def size(self) -> int:
        return self.status.st_size if self.kind == "file" else 0

    def target(self) -> str:
        return self.tree.target(self.folder, self.name)

    def open(self) -> AbstractContextManager[int]:
        return self.tree.file(self.folder, self.name)


def is_same(before: TreeEntry | None, after: TreeEntry | None) -> bool:
    if before is None or after is None or before.kind != after.kind:
        return before is after
    if before.kind == "symlink":
        return before.target() == after.target()
    if (before.mode, before.size) != (after.mode, after.size):
        return False
    with before.open() as one, after.open() as other:
        return same_bytes(one, other)

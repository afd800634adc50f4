"""A snapshot -> files of Git LFS in it that are pointers, where an agent and the checks expect contents."""

from __future__ import annotations

from collections.abc import Iterator

from steelyard.contract.contract import Contract
from steelyard.errors import Problem
from steelyard.filesystem.tree import printable

_FIRST = b"version https://git-lfs.github.com/spec/"
_MOST_BYTES = 1024  # a pointer is three short lines
_NAMED = 3


def lfs_pointers(contract: Contract) -> Iterator[Problem]:
    """One warning for all of them."""
    found = sorted(
        path for path, entry in contract.snapshot.entries.items() if _is_pointer(contract, path, entry.kind)
    )
    if found:
        names = ", ".join(printable(path) for path in found[:_NAMED])
        more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
        yield Problem(
            str(contract.folder / "contract.yaml"),
            "repository",
            f"Git LFS pointers, not the files themselves: {names}{more}",
            "run `git lfs pull` in a checkout, copy it without .git, and name that folder as `repository.tree`",
        )


def _is_pointer(contract: Contract, path: str, kind: str) -> bool:
    file = contract.snapshot.tree / path
    if kind != "file" or file.stat().st_size > _MOST_BYTES:
        return False
    return file.read_bytes().startswith(_FIRST)

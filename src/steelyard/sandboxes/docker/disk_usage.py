"""A disk without room -> whose doing that is: the container's, if it holds more than it may, else the machine's.

Measured in blocks once nothing of the container runs any more. The size that engines tell is that of contents, of which
a million files of one byte have next to none: entries are counted while it runs.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any

LEAST_FREE_BYTES = 1 << 20
_ENTRY_BYTES = 4096  # what a name and its inode take at most, wherever they are kept
_BLOCK_BYTES = 512


def is_full(descriptor: int) -> bool:
    """Whether the file system of that folder takes nothing more."""
    found = os.fstatvfs(descriptor)
    return found.f_bavail * found.f_frsize < LEAST_FREE_BYTES


def holds_more(details: Mapping[str, Any], limit_bytes: int) -> bool:
    """Whether a container has more than that on its disk, by what its engine tells of where it keeps it."""
    sizes = (entry.stat(follow_symlinks=False).st_blocks * _BLOCK_BYTES for entry in _below(_upper(details)))
    return _is_more((_ENTRY_BYTES + size for size in sizes), limit_bytes)


def has_too_many(details: Mapping[str, Any], limit_bytes: int) -> bool:
    """Whether a container, which may still run, has more files than a disk of that size has inodes for."""
    return _is_more((1 for _ in _below(_upper(details))), most_entries(limit_bytes))


def most_entries(disk_bytes: int) -> int:
    """As many inodes as a file system of that size has, and enough for a small tree on a tiny one."""
    return max(disk_bytes >> 12, 4096)


def _is_more(parts: Iterable[int], limit: int) -> bool:
    total = 0
    try:
        for part in parts:
            total += part
            if total > limit:
                return True
    except OSError:  # nested deeper than a path can be long, which no honest program does
        return True
    return False


def _upper(details: Mapping[str, Any]) -> str:
    return str(((details.get("GraphDriver") or {}).get("Data") or {}).get("UpperDir") or "")


def _below(top: str) -> Iterator[os.DirEntry[str]]:
    pending = [top] if top else []
    while pending:
        with (
            suppress(FileNotFoundError, NotADirectoryError),
            os.scandir(pending.pop()) as found,
        ):  # gone by now
            for entry in found:
                yield entry
                if entry.is_dir(follow_symlinks=False):
                    pending.append(entry.path)

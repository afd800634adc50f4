"""A folder on disk and the processes that write it -> what both take of that disk."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress

_ENTRY_BYTES = 4096  # what a name and its inode take at most
_BLOCK_BYTES = 512


def is_larger(folder: str, pids: Iterable[int], limit_bytes: int) -> bool:
    """Whether the files below the folder, and deleted ones that are still open, take more than that."""
    total = 0
    for size in _sizes(folder, pids):
        total += size
        if total > limit_bytes:
            return True
    return False


def _sizes(folder: str, pids: Iterable[int]) -> Iterator[int]:
    waiting = [folder]
    while waiting:
        with suppress(OSError), os.scandir(waiting.pop()) as found:  # gone by now, or shut against us
            for entry in found:
                with suppress(OSError):
                    status = entry.stat(follow_symlinks=False)
                    yield _ENTRY_BYTES + status.st_blocks * _BLOCK_BYTES
                    if stat.S_ISDIR(status.st_mode):
                        waiting.append(entry.path)
    yield from _sizes_of_deleted(pids).values()


def _sizes_of_deleted(pids: Iterable[int]) -> dict[tuple[int, int], int]:
    """Files without a name that some process has open. Memory files are among them, and are counted as memory too."""
    found: dict[tuple[int, int], int] = {}
    for pid in pids:
        with suppress(OSError), os.scandir(f"/proc/{pid}/fd") as descriptors:
            for descriptor in descriptors:
                with suppress(OSError):
                    status = os.stat(descriptor.path)  # noqa: PTH116  # of each open file
                    if status.st_nlink == 0 and stat.S_ISREG(status.st_mode):
                        found[status.st_dev, status.st_ino] = status.st_blocks * _BLOCK_BYTES
    return found

"""A disk without room -> whose doing that is: the container's, if it holds more than it may, else the machine's.

Measured in blocks once nothing of the container runs any more. The size that engines tell is that of contents, of which
a million files of one byte have next to none.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

LEAST_FREE_BYTES = 1 << 20
_ENTRY_BYTES = 4096  # what a name and its inode take at most, wherever they are kept
_BLOCK_BYTES = 512


def is_full(descriptor: int) -> bool:
    """Whether the file system of that folder takes nothing more."""
    found = os.fstatvfs(descriptor)
    return found.f_bavail * found.f_frsize < LEAST_FREE_BYTES


def holds_more(told: Mapping[str, Any], limit_bytes: int) -> bool:
    """Whether a container has more than that on its disk, by what its engine tells of where it keeps it."""
    upper = ((told.get("GraphDriver") or {}).get("Data") or {}).get("UpperDir")
    if not upper:
        return False
    try:
        return _more_below(str(upper), limit_bytes)
    except OSError:  # nested deeper than a path can be long: nobody does that by accident
        return True


def _more_below(top: str, limit_bytes: int) -> bool:
    pending, total = [top], 0
    while pending and total <= limit_bytes:
        with os.scandir(pending.pop()) as found:
            for entry in found:
                total += _ENTRY_BYTES + entry.stat(follow_symlinks=False).st_blocks * _BLOCK_BYTES
                if total > limit_bytes:
                    break
                if entry.is_dir(follow_symlinks=False):
                    pending.append(entry.path)
    return total > limit_bytes

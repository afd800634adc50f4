"""Files that a command writes last -> the filter with which init keeps processes that were left behind from writing them after it.

    exit_group        of the command: everything is killed first, so that nothing sees its end and writes afterwards
    open, rename      of such a file, by the command or a descendant: processes that do not descend from the command are killed first
    clone             with CLONE_PARENT is refused: its child would descend from the command while the caller does not wait for it
    execve            init forgets the memory that it reads paths from

Init decides by what descends from what. Code that the command runs in its own process, or keeps running, is not told apart.
"""

from __future__ import annotations

import platform
import struct
from collections.abc import Sequence

from steelyard.sandboxes.seccomp import TABLES, guarded_calls, guarding_program


def guarding_payload(paths: Sequence[str]) -> bytes:
    """Of the frame g; empty on a machine whose system calls are not known here."""
    table = TABLES.get(platform.machine())
    if table is None:
        return b""
    calls, steps = guarded_calls(table), guarding_program(table)
    rows = b"".join(struct.pack("<III", *call[1:]) for call in calls)
    names = b"".join(path.encode() + b"\0" for path in paths)
    return struct.pack("<I", len(calls)) + rows + struct.pack("<I", len(steps)) + steps + names

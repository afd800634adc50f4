"""Files that a command writes last -> the filter with which init keeps tested code from writing them, and what init saw of their writers.

    exit_group        of the command: everything is killed first, so that nothing sees its end and writes afterwards
    open, rename      of such a file, by the command or a program of its own: other processes that could write it are killed first
    open, execve      of a file that the tested code may have written: the process belongs to the tested code from then on
    clone             with CLONE_PARENT is refused: its child would descend from the command while the caller does not wait for it

Code that the command runs in its own process cannot be distinguished from it.
"""

from __future__ import annotations

import platform
import struct
from collections.abc import Sequence
from typing import Literal

from steelyard.sandboxes.base import GuardedFile
from steelyard.sandboxes.seccomp import TABLES, guarded_calls, guarding_program

NO_ERROR = struct.pack("<i", 0)
_WRITER = struct.Struct("<iQ116s")
_WRITERS: dict[int, Literal["unseen", "command", "others", "misled"]] = {
    0: "unseen",
    1: "command",
    2: "others",
    3: "misled",
}


def guarding_payload(paths: Sequence[str], writers: Sequence[str] = ()) -> bytes:
    """Of the frame g; empty on a machine whose system calls are not known here."""
    table = TABLES.get(platform.machine())
    if table is None:
        return b""
    calls, steps = guarded_calls(table), guarding_program(table)
    rows = b"".join(struct.pack("<III", *call[1:]) for call in calls)
    names = b"".join(path.encode(errors="surrogateescape") + b"\0" for path in (*paths, "", *writers))
    return struct.pack("<I", len(calls)) + rows + struct.pack("<I", len(steps)) + steps + names


def unpack_writers(paths: Sequence[str], payload: bytes) -> tuple[GuardedFile, ...]:
    """Of the frame w. Where init does not answer, no writer was seen."""
    rows = _WRITER.iter_unpack(
        payload if len(payload) == _WRITER.size * len(paths) else bytes(_WRITER.size) * len(paths)
    )
    return tuple(
        GuardedFile(path, _WRITERS[state], chain, argv.split(b"\0")[0].decode(errors="replace"))
        for path, (state, chain, argv) in zip(paths, rows, strict=False)
    )

"""stdout -> one that outlives its reader: what `head` does not read is dropped, and the verb ends with its own exit code."""

from __future__ import annotations

import io
import os
import sys
from typing import Any


class _Pipe(io.FileIO):
    """The file descriptor of stdout; a closed pipe behind it takes everything and keeps nothing."""

    def write(self, data: Any, /) -> int:
        try:
            return super().write(data) or 0
        except BrokenPipeError:
            unread = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
            os.dup2(unread, self.fileno())
            os.close(unread)
            return len(data)


def outlive_reader() -> None:
    """Once a process; a terminal, and what tests put in the place of stdout, stay as they are."""
    out = sys.stdout
    if not isinstance(out, io.TextIOWrapper) or isinstance(getattr(out.buffer, "raw", None), _Pipe):
        return
    try:
        fd = out.fileno()
        out.flush()
    except (OSError, ValueError):
        return
    if not os.isatty(fd):
        buffer = io.BufferedWriter(_Pipe(fd, "wb", closefd=False))
        sys.stdout = io.TextIOWrapper(
            buffer, encoding=out.encoding, errors=out.errors, line_buffering=out.line_buffering
        )

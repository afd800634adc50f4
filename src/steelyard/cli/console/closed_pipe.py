"""stdout -> one that never ends a verb: what cannot be written is dropped, and the verb goes on.

A reader such as `head` that has enough is no fault. A full disk is one: `lost_output` says so when the verb has ended.
"""

from __future__ import annotations

import io
import os
import sys
from contextlib import suppress
from typing import Any

CLOSED = "stdout is closed, so nothing was printed"


class _Pipe(io.FileIO):
    """The file descriptor of stdout; after the first write that fails it takes everything and keeps nothing."""

    failed: OSError | None = None

    def write(self, data: Any, /) -> int:
        try:
            return super().write(data) or 0
        except OSError as error:
            if not isinstance(error, BrokenPipeError):
                self.failed = error
            unread = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
            os.dup2(unread, self.fileno())
            os.close(unread)
            return len(data)


def open_standard_streams() -> bool:
    """Give each closed standard stream /dev/null, before an opened file gets its number; whether stdout was closed."""
    closed = [number for number in range(3) if not _is_open(number)]
    for number in closed:
        # The lowest free number is taken, and those below are open by now.
        opened = os.open(os.devnull, os.O_RDONLY if number == 0 else os.O_WRONLY)
        os.set_inheritable(opened, True)  # programs that are started get it too
    if sys.stdout is None:
        sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115  # for the whole process
    if sys.stderr is None:
        sys.stderr = open(2, "w", closefd=False)  # noqa: SIM115  # see above
    return 1 in closed


def _is_open(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return False
    return True


def outlive_reader() -> None:
    """Once for each process. A terminal, and a stdout that tests replaced, stay as they are."""
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


def lost_output() -> str:
    """Why stdout did not get all that was printed; nothing where it did, or where its reader left."""
    with suppress(OSError, ValueError):
        sys.stdout.flush()
    failed = getattr(getattr(getattr(sys.stdout, "buffer", None), "raw", None), "failed", None)
    return "" if failed is None else str(failed.strerror or failed)

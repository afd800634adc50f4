"""A run folder -> whether a live process is writing it.

The writer holds a lock on the folder itself. The kernel drops the lock with the process, so a killed run is never taken for a
running one, and the folder gets no file that its seal would have to cover.
"""

from __future__ import annotations

import fcntl
import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Self

# Before each look: another process that looks holds the lock itself, for a moment.
_PAUSES_S = (0.0, 0.001, 0.005)


class InUse:
    """The writer's lock on a run folder; several writers may hold one each."""

    def __init__(self, folder: Path) -> None:
        self._descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        with suppress(OSError):  # a file system without locks: the run is then shown as interrupted
            fcntl.flock(self._descriptor, fcntl.LOCK_SH)

    def release(self) -> None:
        """Idempotent."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.release()

    def __del__(self) -> None:
        self.release()


def is_in_use(folder: Path) -> bool:
    """Whether any process, this one included, holds the folder."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return all(_is_held(descriptor, pause_s) for pause_s in _PAUSES_S)
    except OSError:
        return False
    finally:
        os.close(descriptor)


def _is_held(descriptor: int, pause_s: float) -> bool:
    if pause_s:
        time.sleep(pause_s)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    return False

"""A folder on a disk -> room on that disk that is kept for what must be written last.

A run is sealed, then graded. A disk that fills up in between would leave a sealed run without a grading; so the room for the
grading is taken before the run, in files without names, which vanish by themselves however this process ends.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TypeVar

from steelyard.errors import InfraFault
from steelyard.filesystem.plain_file import open_nameless

FILES = 4  # the folder of gradings, a grading, a report, and one under way: each takes an inode too
FILE_BYTES = 256 << 10
T = TypeVar("T")


class Reserve:
    """Room that is given up when it is needed, once."""

    def __init__(self, folder: Path) -> None:
        """Raises InfraFault when there is no room even for that."""
        self._held = ExitStack()
        self.is_whole = True
        try:
            folder.mkdir(parents=True, exist_ok=True)
            for _ in range(FILES):
                file = open_nameless(folder)
                self._held.callback(os.close, file)
                os.posix_fallocate(file, 0, FILE_BYTES)
        except OSError as error:
            self.give_up()
            raise InfraFault(f"{folder} cannot hold a run: {error.strerror}") from error

    def give_up(self) -> None:
        self.is_whole = False
        self._held.close()

    def use(self, write: Callable[[], T]) -> T:
        """What `write` returns; it is called once more, with the room that was kept, if it fails."""
        try:
            return write()
        except (OSError, InfraFault):
            self.give_up()
            return write()


class Reserves:
    """Room for the runs of one folder. Room that a run did not need is kept for the next one: to free it costs a write of the disk."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._free: list[Reserve] = []
        self._is_closed = False
        self._lock = threading.Lock()

    @contextmanager
    def one(self) -> Iterator[Reserve]:
        """Raises InfraFault when there is no room for a run."""
        with self._lock:
            found = self._free.pop() if self._free else None
        reserve = found or Reserve(self._folder)
        try:
            yield reserve
        finally:
            with self._lock:
                is_kept = reserve.is_whole and not self._is_closed
                if is_kept:
                    self._free.append(reserve)
            if not is_kept:
                reserve.give_up()

    def close(self) -> None:
        """Free what no run holds; what a run holds is freed when the run ends."""
        with self._lock:
            self._is_closed = True
            free, self._free = self._free, []
        for reserve in free:
            reserve.give_up()

"""A folder on a disk -> room on that disk that is kept for what must be written last.

A run is sealed, then graded. A disk that fills up in between would leave a sealed run without a grading; so the room for the
grading is taken before the run, in files without names, which vanish by themselves however this process ends.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TypeVar

from steelyard.errors import InfraFault

FILES = 4  # the folder of gradings, a grading, a report, and one under way: each takes an inode too
FILE_BYTES = 256 << 10
T = TypeVar("T")


class Reserve:
    """Room that is given up when it is needed, once."""

    def __init__(self, held: ExitStack) -> None:
        self._held = held

    def use(self, write: Callable[[], T]) -> T:
        """What `write` returns; it is called once more, with the room that was kept, if it fails."""
        try:
            return write()
        except (OSError, InfraFault):
            self._held.close()
            return write()


@contextmanager
def reserved(folder: Path) -> Iterator[Reserve]:
    """Raises InfraFault when there is no room even for that."""
    with ExitStack() as held:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            for _ in range(FILES):
                file = held.enter_context(tempfile.TemporaryFile(dir=folder))
                os.posix_fallocate(file.fileno(), 0, FILE_BYTES)
        except OSError as error:
            raise InfraFault(f"{folder} cannot hold a run: {error.strerror}") from error
        yield Reserve(held)

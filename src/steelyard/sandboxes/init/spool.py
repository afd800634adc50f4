"""The beginning of a long stream, up to a limit, in a file on the cache's disk that has no name.

No name: a controller that is killed leaves nothing behind. A full disk ends the spool and not the run.
"""

from __future__ import annotations

import contextlib
import os

from steelyard.filesystem.cache import Cache
from steelyard.filesystem.plain_file import open_nameless


class Spool:
    def __init__(self, most_bytes: int) -> None:
        self._most = most_bytes
        self.size = 0
        self.fd = _nameless()

    def write(self, data: bytes) -> None:
        """As much of `data` as there is room for; after a failure nothing more."""
        rest = memoryview(data)[: self._most - self.size]
        try:
            while self.fd >= 0 and rest:
                written = os.write(self.fd, rest)
                self.size += written
                rest = rest[written:]
        except OSError:
            self._most = self.size

    def __del__(self) -> None:
        if self.fd >= 0:
            with contextlib.suppress(OSError):
                os.close(self.fd)


def _nameless() -> int:
    """A descriptor, or -1 where no file can be made."""
    folder = Cache.default().root / "tmp"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return open_nameless(folder)
    except OSError:
        return -1

"""What an agent prints while it works -> `agent/stdout.txt` and `agent/stderr.txt`, which grow as it prints.

They are for a person or program that follows the run. After the agent has ended, `watch.py` replaces them by the whole output.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Literal, Protocol

from steelyard.agents.base import AGENT_BYTES
from steelyard.evidence.folder.folder import RunFolder

MORE = b"\n... the agent prints more; it is kept and shown here when the agent has ended ...\n"


class StreamFilter(Protocol):
    """Replaces what no record may show in a stream that comes in pieces; it may hold bytes back until the next piece or the end."""

    def feed(self, data: bytes) -> bytes: ...

    def end(self) -> bytes: ...


class LiveOutput:
    """Appends each chunk to its file, up to the bytes that are kept; a disk that refuses ends the copy, never the run.

    `new_filter` makes the filter of one stream; nothing is written that has not passed it.
    """

    def __init__(
        self, folder: RunFolder, suffix: str = "", new_filter: Callable[[], StreamFilter] | None = None
    ) -> None:
        self._folder = folder
        self._suffix = suffix
        self._files: dict[str, int] = {}
        self._room = {"stdout": AGENT_BYTES, "stderr": AGENT_BYTES}
        self._filters = {name: new_filter() for name in self._room} if new_filter else {}

    def write(self, stream: Literal["stdout", "stderr"], data: bytes) -> None:
        self._append(stream, self._filters[stream].feed(data) if self._filters else data)

    def close(self) -> None:
        for name, one in self._filters.items():
            self._append(name, one.end())
        for descriptor in self._files.values():
            os.close(descriptor)
        self._files.clear()

    def _append(self, stream: str, data: bytes) -> None:
        room = self._room[stream]
        if room <= 0 or not data:
            return
        self._room[stream] = room - len(data)
        try:
            if stream not in self._files:
                self._files[stream] = self._open(stream)
            os.write(self._files[stream], data[:room] + (MORE if len(data) > room else b""))
        except OSError:
            self._room[stream] = 0

    def _open(self, stream: str) -> int:
        path = self._folder.file(f"agent/{stream}{self._suffix}.txt")
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
        return os.open(path, flags, 0o600)

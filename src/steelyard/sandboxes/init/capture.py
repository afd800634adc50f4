"""Chunks of a stream, however many -> a bounded `CapturedOutput`: its head, its tail, its size, its digest."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from steelyard.sandboxes.base import CapturedOutput
from steelyard.sandboxes.init.spool import Spool


class Capture:
    """Keeps at most `keep_bytes` of what it is fed: half from the head, half from the tail.

    Of a longer stream it keeps the first `whole_bytes` on disk as well.
    """

    def __init__(self, keep_bytes: int, whole_bytes: int = 0) -> None:
        self._head_room = keep_bytes - keep_bytes // 2
        self._tail_room = keep_bytes // 2
        self._whole_bytes = whole_bytes
        self._spool: Spool | None = None
        self._head = bytearray()
        self._tail = bytearray()
        self._size = 0
        self._digest = hashlib.sha256()

    def feed(self, data: bytes) -> None:
        self._size += len(data)
        self._digest.update(data)
        self._spill(data)
        missing = self._head_room - len(self._head)
        if missing > 0:
            self._head += data[:missing]
            data = data[missing:]
        self._tail += data
        if len(self._tail) > 2 * self._tail_room + 65536:  # trimmed in big steps: linear, not quadratic
            self._trim()

    def _spill(self, data: bytes) -> None:
        """Nothing was trimmed until the stream outgrew its memory, so the spool begins at the beginning."""
        if not self._whole_bytes or self._size <= self._head_room + self._tail_room:
            return
        if self._spool is None:
            self._spool = Spool(self._whole_bytes)
            self._spool.write(bytes(self._head + self._tail))
        self._spool.write(data)

    def _trim(self) -> None:
        del self._tail[: len(self._tail) - self._tail_room]

    def captured(self) -> CapturedOutput:
        if self._size == 0:
            return CapturedOutput()
        if len(self._tail) > self._tail_room:
            self._trim()
        return CapturedOutput(
            bytes(self._head), bytes(self._tail), self._size, self._digest.hexdigest(), self._spool
        )


def join_streams(parts: Iterable[CapturedOutput], keep_bytes: int, whole_bytes: int) -> CapturedOutput:
    """Several streams, one after the other, as one; of a part that was cut, what was kept of it."""
    capture = Capture(keep_bytes, whole_bytes)
    for part in parts:
        for chunk in part.chunks():
            capture.feed(chunk)
    return capture.captured()

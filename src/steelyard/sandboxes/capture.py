"""Chunks of a stream, however many -> a bounded `Captured`: its head, its tail, its size, its digest."""

from __future__ import annotations

import hashlib

from steelyard.sandboxes.base import Captured


class Capture:
    """Keeps at most `keep_bytes` of what it is fed: half from the head, half from the tail."""

    def __init__(self, keep_bytes: int) -> None:
        self._head_room = keep_bytes - keep_bytes // 2
        self._tail_room = keep_bytes // 2
        self._head = bytearray()
        self._tail = bytearray()
        self._size = 0
        self._digest = hashlib.sha256()

    def feed(self, data: bytes) -> None:
        self._size += len(data)
        self._digest.update(data)
        missing = self._head_room - len(self._head)
        if missing > 0:
            self._head += data[:missing]
            data = data[missing:]
        self._tail += data
        if len(self._tail) > 2 * self._tail_room + 65536:  # trimmed in big steps: linear, not quadratic
            self._trim()

    def _trim(self) -> None:
        del self._tail[: len(self._tail) - self._tail_room]

    def captured(self) -> Captured:
        if self._size == 0:
            return Captured()
        if len(self._tail) > self._tail_room:
            self._trim()
        return Captured(bytes(self._head), bytes(self._tail), self._size, self._digest.hexdigest())

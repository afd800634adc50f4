"""Files of tests -> what was read in them, kept for the next grading: only the draw is made anew each time."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")
MAX_FILES = 2048
MAX_BYTES = 8 << 20  # of the files that were read; a reading takes several times as much


class Readings(Generic[T]):
    """The last readings, by the contents of the file."""

    def __init__(self) -> None:
        self._kept: OrderedDict[bytes, tuple[int, T | None]] = OrderedDict()
        self._size = 0
        self._lock = threading.Lock()

    def of(self, source: bytes, read: Callable[[bytes], T | None], kind: str = "") -> T | None:
        """`kind` tells apart readings of the same bytes."""
        key = hashlib.sha256(kind.encode() + b"\0" + source).digest()
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key][1]
        reading = read(source)
        with self._lock:
            if key not in self._kept:
                self._kept[key] = (len(source), reading)
                self._size += len(source)
            while self._kept and (len(self._kept) > MAX_FILES or self._size > MAX_BYTES):
                self._size -= self._kept.popitem(last=False)[1][0]
        return reading

"""A regular expression of the operator and a hostile text -> the matches, or nothing when the search takes too long.

    BoundedSearch("(?P<rule0>[a-z]+@[a-z]+)").find("to ann@work") -> [Match(3, 8, 0)]

Python's regular expressions need quadratic or exponential time for some texts, and hold up every thread meanwhile. So the
search runs in a process of its own (`search_process.py`), which ends when its time is over.
"""

from __future__ import annotations

import functools
import json
import struct
import subprocess
import sys
import threading
import weakref
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

SEARCH_MS = 5000  # of one text
LATER_MS = 250  # of one text, after several took too long
_MOST_LONG_SEARCHES = 3
_CACHED_CHARS = 64  # shorter texts are mostly names, which are seen again and again
_PROGRAM = Path(__file__).with_name("search_process.py")


class Match(NamedTuple):
    start: int
    length: int
    rule: int


class BoundedSearch:
    """Any thread may search; one at a time does."""

    def __init__(self, pattern: str, time_ms: int = SEARCH_MS) -> None:
        self._pattern = pattern
        self._time_ms = time_ms
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._long_searches = 0
        self._find_short = functools.lru_cache(4096)(self._find)

    def find(self, text: str) -> list[Match] | None:
        """None: it took too long."""
        return self._find_short(text) if len(text) < _CACHED_CHARS else self._find(text)

    def _find(self, text: str) -> list[Match] | None:
        data = text.encode("utf-8", "surrogatepass")
        with self._lock:
            is_new = self._long_searches < _MOST_LONG_SEARCHES
            time_ms = self._time_ms if is_new else LATER_MS
            answer = self._ask(struct.pack("<II", len(data), time_ms) + data)
            self._long_searches += not answer
        return [Match(*one) for one in json.loads(answer)] if answer else None

    def _ask(self, request: bytes) -> bytes:
        process = self._process or self._start()
        if process.stdin is None or process.stdout is None:
            return b""
        with suppress(BrokenPipeError):
            process.stdin.write(request)
            process.stdin.flush()
        answer = process.stdout.readline()
        if not answer.endswith(b"\n"):
            _end(process)
            self._process = None
            return b""
        return answer

    def _start(self) -> subprocess.Popen[bytes]:
        argv = [sys.executable, "-I", "-S", str(_PROGRAM)]
        # Our own program
        self._process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        weakref.finalize(self, _end, self._process)
        if self._process.stdin is not None:
            self._process.stdin.write(json.dumps(self._pattern).encode() + b"\n")
        return self._process


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with suppress(OSError):
                pipe.close()

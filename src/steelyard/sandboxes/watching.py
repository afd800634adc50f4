"""Process trees without a control group -> the sandbox of the one that uses too much memory is told so.

One thread a controller, looking a few times a second. It sees the sum, which no rlimit does, but late: what
grows and shrinks between two looks stays unseen.
"""

from __future__ import annotations

import itertools
import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

_EVERY_S = 0.2
_PAGE = os.sysconf("SC_PAGE_SIZE")


class _Watched(NamedTuple):
    pid: int
    limit_bytes: int
    exceeded: Callable[[], None]


_watched: dict[int, _Watched] = {}
_numbers = itertools.count()
_lock = threading.Lock()
_thread: list[threading.Thread] = []


def watch_memory(pid: int, limit_bytes: int, exceeded: Callable[[], None]) -> Callable[[], None]:
    """Call `exceeded` whenever the tree under `pid` is over its limit; call the result to end that."""
    number = next(_numbers)
    with _lock:
        _watched[number] = _Watched(pid, limit_bytes, exceeded)
        if not _thread or not _thread[0].is_alive():
            _thread[:] = [threading.Thread(target=_look, name="steelyard-memory", daemon=True)]
            _thread[0].start()
    return lambda: _forget(number)


def _forget(number: int) -> None:
    with _lock:
        _watched.pop(number, None)


def _look() -> None:
    while True:
        with _lock:
            current = list(_watched.values())
            if not current:
                _thread.clear()
                return
        for watched in current:
            if tree_memory_bytes(watched.pid) > watched.limit_bytes:
                watched.exceeded()
        time.sleep(_EVERY_S)


def tree_memory_bytes(pid: int) -> int:
    """Resident memory of a process and all its descendants; shared pages count for each."""
    total = 0
    for member in descendants(pid):
        with suppress(OSError, ValueError, IndexError):
            resident, shared = Path(f"/proc/{member}/statm").read_text().split()[1:3]
            total += (int(resident) - int(shared)) * _PAGE
    return total


def descendants(pid: int) -> list[int]:
    """The process and everything below it. Orphans are found too: they hang under init."""
    found, waiting = [], [pid]
    while waiting:
        here = waiting.pop()
        found.append(here)
        with suppress(OSError):
            for task in Path(f"/proc/{here}/task").iterdir():
                waiting += [int(child) for child in (task / "children").read_text().split()]
    return found

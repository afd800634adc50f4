"""Process trees without a control group -> the sandbox of the one that uses too much memory is told so.

One thread a controller, looking a few times a second. It sees the sum with everything that is shared, which no rlimit does,
but late: what grows and shrinks between two looks stays unseen.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from steelyard.sandboxes.shared_memory import exact_bytes, upper_bound_bytes

_EVERY_S = 0.2


class Watched(NamedTuple):
    """A process tree. `elsewhere` tells of memory that no process has open or mapped."""

    pid: int
    limit_bytes: int
    exceeded: Callable[[], None]
    elsewhere: Callable[[], int] = lambda: 0


_watched: dict[int, Watched] = {}
_numbers = itertools.count()
_lock = threading.Lock()
_thread: list[threading.Thread] = []


def watch_memory(watched: Watched) -> Callable[[], None]:
    """Call `exceeded` whenever the tree is over its limit; call the result to end that."""
    number = next(_numbers)
    with _lock:
        _watched[number] = watched
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
            with suppress(Exception):  # of one sandbox on its way out; the others are still to be watched
                if is_exceeded(watched):
                    watched.exceeded()
        time.sleep(_EVERY_S)


def is_exceeded(watched: Watched) -> bool:
    pids, elsewhere = descendants(watched.pid), watched.elsewhere()
    if upper_bound_bytes(pids) + elsewhere <= watched.limit_bytes:
        return False
    return exact_bytes(pids) + elsewhere > watched.limit_bytes


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

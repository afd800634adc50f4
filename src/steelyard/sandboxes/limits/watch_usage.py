"""Process trees without a control group, folders without a quota -> a call for each sandbox that exceeds its limit.

One thread a controller, looking a few times a second. It sees the sum with everything that is shared, which no rlimit does,
but late: what grows and shrinks between two looks stays unseen. A look that takes long is taken less often.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from steelyard.deferred.named_tuple import NamedTuple
from steelyard.sandboxes.limits import disk_usage, shared_memory

_EVERY_S = 0.2
_SHARE = 10  # a look may take this part of the time


class WatchedTree(NamedTuple):
    """A process tree. `elsewhere` tells of memory that no process has open or mapped."""

    pid: int
    limit_bytes: int
    exceeded: Callable[[], None]
    elsewhere: Callable[[], int] = lambda: 0


class _Look(NamedTuple):
    is_over: Callable[[], bool]
    exceeded: Callable[[], None]


_looks: dict[int, _Look] = {}
_numbers = itertools.count()
_lock = threading.Lock()
_thread: list[threading.Thread] = []


def watch_memory(watched: WatchedTree) -> Callable[[], None]:
    """Call `exceeded` whenever the tree is over its limit; call the result to end that."""
    return _watch(_Look(lambda: is_exceeded(watched), watched.exceeded))


def watch_disk(watched: WatchedTree, folder: Path) -> Callable[[], None]:
    """The same for what the tree writes below the folder."""
    return _watch(
        _Look(
            lambda: disk_usage.is_larger(str(folder), descendants(watched.pid), watched.limit_bytes),
            watched.exceeded,
        )
    )


def _watch(look: _Look) -> Callable[[], None]:
    number = next(_numbers)
    with _lock:
        _looks[number] = look
        if not _thread or not _thread[0].is_alive():
            _thread[:] = [threading.Thread(target=_look, name="steelyard-watch", daemon=True)]
            _thread[0].start()
    return lambda: _forget(number)


def _forget(number: int) -> None:
    with _lock:
        _looks.pop(number, None)


def _look() -> None:
    due: dict[int, float] = {}
    while True:
        with _lock:
            current = dict(_looks)
            if not current:
                _thread.clear()
                return
        due = {number: due.get(number, 0.0) for number in current}
        for number, look in current.items():
            start = time.monotonic()
            if start < due[number]:
                continue
            with suppress(Exception):  # of one sandbox on its way out; the others are still to be watched
                if look.is_over():
                    look.exceeded()
            due[number] = time.monotonic() + _SHARE * (time.monotonic() - start)
        time.sleep(_EVERY_S)


def is_exceeded(watched: WatchedTree) -> bool:
    pids, elsewhere = descendants(watched.pid), watched.elsewhere()
    if shared_memory.upper_bound_bytes(pids) + elsewhere <= watched.limit_bytes:
        return False
    return shared_memory.exact_bytes(pids) + elsewhere > watched.limit_bytes


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

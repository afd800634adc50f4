"""Memory that sandboxes may take -> who may start now.

The sum over the sandboxes that are alive stays below what this machine has; who does not fit waits its turn.
Two exceptions keep it from ever standing still: a sandbox alone is always admitted, and so is a second one of
a thread that already has one (a bench beside its agent, a split oracle). Threads that work for one are counted as it.
"""

from __future__ import annotations

import contextvars
import functools
import os
import threading
from collections import deque
from contextlib import suppress
from pathlib import Path

WORKS_FOR: contextvars.ContextVar[int] = contextvars.ContextVar("works_for", default=0)  # a thread's identity


class Admission:
    def __init__(self, total_bytes: int) -> None:
        self._total = total_bytes
        self._used: dict[int, tuple[int, int]] = {}  # ticket -> bytes, thread
        self._queue: deque[int] = deque()
        self._last = 0
        self._changed = threading.Condition()

    def enter(self, size_bytes: int) -> int:
        """Wait until there is room; the ticket to leave with."""
        thread = WORKS_FOR.get() or threading.get_ident()
        with self._changed:
            self._last += 1
            ticket = self._last
            if not self._has_one(thread):
                self._queue.append(ticket)
                try:
                    self._changed.wait_for(
                        lambda: self._has_one(thread) or (self._queue[0] == ticket and self._fits(size_bytes))
                    )
                finally:
                    self._queue.remove(ticket)
            self._used[ticket] = (size_bytes, thread)
            self._changed.notify_all()
            return ticket

    def leave(self, ticket: int) -> None:
        with self._changed:
            self._used.pop(ticket, None)
            self._changed.notify_all()

    def _has_one(self, thread: int) -> bool:
        return any(holder == thread for _, holder in self._used.values())

    def _fits(self, size_bytes: int) -> bool:
        return not self._used or sum(used for used, _ in self._used.values()) + size_bytes <= self._total


@functools.cache
def machine_memory_bytes() -> int:
    """What there is for all: the machine's memory, or our own control group's if that is less."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for limit in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        with suppress(OSError, ValueError):
            total = min(total, int(Path(limit).read_text()))
    return total


@functools.cache
def admission() -> Admission:
    return Admission(int(machine_memory_bytes() * 0.9))

"""Memory and CPUs that sandboxes may take -> which sandbox may start now, over all processes of this user.

The memory of the sandboxes that are alive stays below what this machine has, and their CPUs below four times what it has:
memory is taken, a CPU is shared, and agents wait for models most of the time. A sandbox that does not fit waits in line.
Two exceptions prevent a deadlock: a sandbox alone is always admitted, and so is a second one of a thread that already has one
(a bench beside its agent, a split oracle). Threads that work for another thread count as that thread.
"""

from __future__ import annotations

import contextvars
import functools
import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from steelyard.sandboxes.shared_register import Entry, Register, SandboxNeed, shared_folder

WORKS_FOR: contextvars.ContextVar[int] = contextvars.ContextVar("works_for", default=0)  # a thread's identity
# Called with the reason when a sandbox of this thread has to wait.
ON_WAIT: contextvars.ContextVar[Callable[[str], None] | None] = contextvars.ContextVar(
    "on_wait", default=None
)

MEMORY_SHARE = 0.9
CPU_OVERCOMMIT = 4
POLL_S = 0.2  # other processes cannot wake this one
QUIET_S = 2.0  # a shorter wait is not worth a message
_GIB = 1 << 30


class Admission:
    """`total` is what all sandboxes together may take; the register says what they take now."""

    def __init__(
        self, total: SandboxNeed, register: Register, *, poll_s: float = POLL_S, quiet_s: float = QUIET_S
    ) -> None:
        self._total = total
        self._register = register
        self._poll_s, self._quiet_s = poll_s, quiet_s
        self._entries: dict[int, tuple[Entry, int]] = {}  # ticket -> entry, thread
        self._last = 0
        self._changed = threading.Condition()

    def enter(self, size_bytes: int, cpus: float = 0.0) -> int:
        """Wait until there is room; the ticket to leave with."""
        thread = WORKS_FOR.get() or threading.get_ident()
        need = SandboxNeed(size_bytes, cpus)
        with self._changed:
            waits = not self._has_one(thread)
            with self._register.locked():
                entry = self._register.add("waiting" if waits else "holding", need)
                is_in = not waits or self._hold_if_free(entry)
            if not is_in:
                self._wait(entry, thread)
            self._last += 1
            self._entries[self._last] = (entry, thread)
            self._changed.notify_all()
            return self._last

    def leave(self, ticket: int) -> None:
        with self._changed:
            entry, _ = self._entries.pop(ticket, (None, 0))
            if entry is not None:
                with self._register.locked():
                    self._register.remove(entry)
            self._changed.notify_all()

    def _hold_if_free(self, entry: Entry) -> bool:
        """Mostly there is room at once: then the register is locked once, not twice."""
        try:
            is_free = not self._missing(entry)
            if is_free:
                self._register.hold(entry)
        except BaseException:
            self._register.remove(entry)
            raise
        return is_free

    def _wait(self, entry: Entry, thread: int) -> None:
        on_wait, begun = ON_WAIT.get(), time.monotonic()
        try:
            while why := self._obstacle(entry, thread):
                if on_wait is not None and time.monotonic() - begun >= self._quiet_s:
                    on_wait(why)
                    on_wait = None
                self._changed.wait(self._poll_s)
        except BaseException:
            with self._register.locked():
                self._register.remove(entry)
            raise

    def _obstacle(self, entry: Entry, thread: int) -> str:
        """Why the entry has to wait; empty once it holds what it needs."""
        with self._register.locked():
            why = "" if self._has_one(thread) else self._missing(entry)
            if not why:
                self._register.hold(entry)
            return why

    def _missing(self, entry: Entry) -> str:
        if ahead := self._register.ahead_of(entry):
            return (
                f"{ahead} other sandboxes wait before this one"
                if ahead > 1
                else "1 other sandbox waits before this one"
            )
        held = self._register.held()
        used = SandboxNeed(sum(one.size_bytes for one in held), sum(one.cpus for one in held))
        taken = f"{len(held)} running sandbox{'es' if len(held) != 1 else ''} of this user"
        if held and used.size_bytes + entry.need.size_bytes > self._total.size_bytes:
            return (
                f"waiting for memory: {entry.need.size_bytes / _GIB:.1f} GiB wanted, and {taken} may take "
                f"{used.size_bytes / _GIB:.1f} of {self._total.size_bytes / _GIB:.1f} GiB"
            )
        if held and used.cpus + entry.need.cpus > self._total.cpus:
            return (
                f"waiting for CPUs: {entry.need.cpus:g} wanted, and {taken} may take "
                f"{used.cpus:g} of {self._total.cpus:g}"
            )
        return ""

    def _has_one(self, thread: int) -> bool:
        return any(holder == thread for _, holder in self._entries.values())


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
    total = SandboxNeed(
        int(machine_memory_bytes() * MEMORY_SHARE), len(os.sched_getaffinity(0)) * CPU_OVERCOMMIT
    )
    return Admission(total, Register(shared_folder()))

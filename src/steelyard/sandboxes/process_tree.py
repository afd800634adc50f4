"""Process 1 of a sandbox, as seen from this machine -> its processes, what they use, and a way to stop and continue them.

    ProcessTree(pid, groups, disk)      `groups` are its control groups, `disk` a descriptor of its workspace
    processes()                         every process below process 1, with its words
    usage()                             CPU seconds since the start, memory, number of processes, bytes on its disk
    freeze(), thaw()                    SIGSTOP and SIGCONT to all of them; process 1 goes on, so that it can still kill
    kill(keys)                          SIGKILL to these processes and to everything below them

A process that starts and ends between two looks is not seen. A stopped process dies by SIGKILL as any other, and with
process 1, so that a controller that is killed leaves nothing behind.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from steelyard.deferred.data_class import dataclass
from steelyard.deferred.named_tuple import NamedTuple
from steelyard.sandboxes.limits import shared_memory
from steelyard.sandboxes.limits.watch_usage import descendants

MOST_WORD_BYTES = 4096  # of the words of one process
_TICKS = os.sysconf("SC_CLK_TCK")
_FREEZE_S = (
    30.0  # after which a tree that goes on forking counts as not frozen; a busy machine may need seconds
)
_STOPPED = frozenset("TtZX")
# A process that is stopped while it forks has its child after the list of processes was read, and only then looks stopped:
# the second look finds the child.
_LOOKS = 2


class Process(NamedTuple):
    """`key` names this process and no later one with its number."""

    pid: int
    key: str
    parent: str
    argv: tuple[str, ...]


class Usage(NamedTuple):
    """None: this machine does not say."""

    cpu_s: float | None
    memory_bytes: int | None
    processes: int
    disk_bytes: int | None


class _Stat(NamedTuple):
    parent: int
    state: str
    ticks: int  # its own, and those of children that it has waited for
    started: int


@dataclass(slots=True)
class ProcessTree:
    pid: int
    groups: tuple[Path, ...] = ()
    disk: int | None = None

    def processes(self) -> list[Process]:
        """Those that run now, without process 1."""
        found = {pid: stat for pid in descendants(self.pid) if (stat := _stat(pid)) is not None}
        return [
            Process(pid, _key(pid, stat), _key(stat.parent, found.get(stat.parent)), _argv(pid))
            for pid, stat in found.items()
            if pid != self.pid and stat.state not in "ZX"
        ]

    def usage(self) -> Usage:
        pids = descendants(self.pid)
        stats = [stat for pid in pids if (stat := _stat(pid)) is not None]
        return Usage(
            cpu_s=round(sum(stat.ticks for stat in stats) / _TICKS, 2) if stats else None,
            memory_bytes=self._memory_bytes(pids),
            processes=sum(stat.state not in "ZX" for stat in stats[1:]),
            disk_bytes=self._disk_bytes(),
        )

    def freeze(self) -> bool:
        """Stop every process but process 1; whether all are stopped now."""
        deadline = time.monotonic() + _FREEZE_S
        looks = 0  # in a row that found every process stopped
        while looks < _LOOKS:
            running = list(self._running())
            looks = 0 if running else looks + 1
            if running and time.monotonic() > deadline:
                return False
            for pid in running:
                self._signal(pid, signal.SIGSTOP)
            if running:
                time.sleep(0.001)
        return True

    def thaw(self) -> None:
        for pid in descendants(self.pid)[1:]:
            self._signal(pid, signal.SIGCONT)

    def kill(self, keys: Collection[str]) -> int:
        """How many have ended. They are stopped first, so that none starts another meanwhile."""
        chosen: dict[str, int] = {}
        deadline = time.monotonic() + _FREEZE_S
        looks = 0  # in a row that found no other process, and these stopped
        while looks < _LOOKS and time.monotonic() < deadline:
            more = [one for one in self.processes() if _is_below(one, keys, chosen)]
            for one in more:
                chosen[one.key] = one.pid
                self._signal(one.pid, signal.SIGSTOP)
            looks = 0 if more or not self._are_stopped(chosen) else looks + 1
            if looks == 0:
                time.sleep(0.001)
        for pid in chosen.values():
            self._signal(pid, signal.SIGKILL)
        while (left := {one.key for one in self.processes()} & chosen.keys()) and time.monotonic() < deadline:
            time.sleep(0.01)
        return len(chosen) - len(left)

    def _are_stopped(self, chosen: Mapping[str, int]) -> bool:
        stats = {key: _stat(pid) for key, pid in chosen.items()}
        return not any(
            stat is not None and _key(chosen[key], stat) == key and stat.state not in _STOPPED
            for key, stat in stats.items()
        )

    def _running(self) -> Iterator[int]:
        for pid in descendants(self.pid)[1:]:
            stat = _stat(pid)
            if stat is not None and stat.state not in _STOPPED:
                yield pid

    def _signal(self, pid: int, number: signal.Signals) -> None:
        """To a process of this sandbox, and to no other that got its number meanwhile."""
        with suppress(OSError):
            pidfd = os.pidfd_open(pid)
            try:
                if self._is_inside(pid):
                    signal.pidfd_send_signal(pidfd, number)
            finally:
                os.close(pidfd)

    def _is_inside(self, pid: int) -> bool:
        """Whether the process is below process 1 still, parent by parent."""
        for _ in range(1000):
            if pid == self.pid:
                return True
            stat = _stat(pid)
            if stat is None or stat.parent <= 1:
                return False
            pid = stat.parent
        return False

    def _memory_bytes(self, pids: list[int]) -> int | None:
        for group in self.groups:
            for name in ("memory.current", "memory.usage_in_bytes"):
                with suppress(OSError, ValueError):
                    return int((group / name).read_text())
        with suppress(OSError, ValueError):
            return shared_memory.upper_bound_bytes(pids)
        return None

    def _disk_bytes(self) -> int | None:
        if self.disk is None:
            return None
        with suppress(OSError):
            room = os.fstatvfs(self.disk)
            return (room.f_blocks - room.f_bfree) * room.f_frsize
        return None


def _is_below(process: Process, keys: Collection[str], chosen: Collection[str]) -> bool:
    """Whether it is one of `keys` or a child of one that is chosen, and not chosen yet."""
    return process.key not in chosen and (process.key in keys or process.parent in chosen)


def _stat(pid: int) -> _Stat | None:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123  # called thousands of times
            fields = file.read().rpartition(b")")[2].split()
        state = fields[0].decode()
        if state in "ZX" and int(fields[17]) > 1:
            state = _state_of_threads(pid)
        return _Stat(int(fields[1]), state, sum(map(int, fields[11:15])), int(fields[19]))
    except (OSError, ValueError, IndexError):
        return None


def _state_of_threads(pid: int) -> str:
    """Of a process whose first thread has ended: such a process looks dead, but its other threads go on."""
    states = set()
    for thread in os.listdir(f"/proc/{pid}/task"):  # noqa: PTH208
        with suppress(OSError), open(f"/proc/{pid}/task/{thread}/stat", "rb") as file:  # noqa: PTH123
            states.add(file.read().rpartition(b")")[2].split()[0].decode())
    living = states - set("ZX")
    return min(living - _STOPPED or living or {"Z"})


def _key(pid: int, stat: _Stat | None) -> str:
    return f"{pid}-{stat.started}" if stat is not None else ""


def _argv(pid: int) -> tuple[str, ...]:
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:  # noqa: PTH123
            data = file.read(MOST_WORD_BYTES)
    except OSError:
        return ()
    return tuple(os.fsdecode(word) for word in data.rstrip(b"\0").split(b"\0")) if data else ()

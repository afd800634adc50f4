"""Who made a temporary thing -> whether it is a leftover.

A name that starts with an owner tag can be swept once its maker is gone, even after kill -9:

    3f2a91c0-4026531836-4711-880412[-anything]
    boot     pid space  pid  start time in clock ticks

A tag of another boot is stale. A tag of another pid space on this boot cannot be judged from here, so it stays.
"""

from __future__ import annotations

import functools
import os
from pathlib import Path

from steelyard.deferred.pattern import deferred_pattern
from steelyard.errors import OperatorFault

# No passwd entry on purpose: the uid that agents' commands really have when Steelyard is run by root.
RUN_UID = 60700

_TAG = deferred_pattern(r"^([0-9a-f]{8})-(\d+)-(\d+)-(\d+)(?:-|$)")


def run_uid() -> int:
    """The uid that owns snapshots and runs commands: an ordinary user is its own."""
    if os.geteuid() != 0:
        return os.geteuid()
    asked = os.environ.get("STEELYARD_RUN_UID", str(RUN_UID))
    if not asked.isdecimal() or int(asked) == 0:
        raise OperatorFault(f"STEELYARD_RUN_UID must be a user id other than 0, not {asked!r}")
    return int(asked)


def owner_tag() -> str:
    """A name of this process that no other process ever has."""
    pid = os.getpid()
    return f"{boot_tag()}-{_pid_space()}-{pid}-{_started(pid)}"


def is_stale(tag: str) -> bool:
    """Whether the maker of this name is certainly gone; a folder without a tag is never swept."""
    found = _TAG.match(tag)
    if found is None:
        return False
    boot, space, pid, started = found.groups()
    if boot != boot_tag():
        return True
    return space == _pid_space() and started != _started(int(pid))


@functools.cache
def boot_tag() -> str:
    """The beginning of a random number that the kernel draws when the machine starts."""
    return Path("/proc/sys/kernel/random/boot_id").read_text()[:8]


def _pid_space() -> str:
    return str(os.stat("/proc/self/ns/pid").st_ino)  # noqa: PTH116  # a hundred times in a sweep


def _started(pid: int) -> str | None:
    """The start time of a live process; pids are reused, start times of one pid are not."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123  # as above
            stat = file.read()
    except (FileNotFoundError, ProcessLookupError):
        return None
    fields = stat[stat.rindex(b")") + 2 :].split()  # the name before it may hold spaces and brackets
    return None if fields[0] in (b"Z", b"X") else fields[19].decode()

"""Limits -> control groups of one sandbox, whichever version this host has.

    v1   /sys/fs/cgroup/{memory,pids,cpu}/steelyard-<owner tag>-<n>
    v2   <a parent we may write, with the controllers>/steelyard-<owner tag>-<n>

Found by doing: a group is made and a limit written, or there is none here. A group outlives its processes, so
its name contains the tag of its owner, and the next controller removes the groups of owners that are gone.
"""

from __future__ import annotations

import errno
import functools
import os
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Literal

from steelyard.deferred.named_tuple import NamedTuple

PREFIX = "steelyard-"
_TRIAL = "trial-"  # a group made only to see whether it can be
_PERIOD_US = 100_000
_V1_CONTROLLERS = {"memory": "memory", "processes": "pids", "cpu": "cpu"}


class Host(NamedTuple):
    """Where groups can be made on this host: a parent folder for each limit that can be enforced."""

    version: Literal[0, 1, 2]
    parents: Mapping[str, Path]


class GroupLimits(NamedTuple):
    memory_bytes: int
    processes: int
    cpu: float


class Counters(NamedTuple):
    oom_kills: int = 0
    peak_memory_bytes: int | None = None
    processes_refused: int = 0


@functools.cache
def host() -> Host:
    """What this host lets us do, tried once."""
    return look(Path("/sys/fs/cgroup"), Path("/proc/self/cgroup"))


def look(mounted: Path, own: Path) -> Host:
    if (mounted / "cgroup.controllers").exists():
        parents = _v2_parents(mounted, own)
        return Host(2 if parents else 0, parents)
    parents = {
        limit: mounted / controller
        for limit, controller in _V1_CONTROLLERS.items()
        if _can_make_group(mounted / controller)
    }
    return Host(1 if parents else 0, parents)


def _can_make_group(parent: Path) -> bool:
    trial = parent / f"{PREFIX}{_TRIAL}{os.getpid()}"
    try:
        trial.mkdir()
    except FileExistsError:
        return True  # another thread tries it at this moment
    except OSError:
        return False
    with suppress(OSError):  # another process may have removed it already
        trial.rmdir()
    return True


def _v2_parents(mounted: Path, own: Path) -> dict[str, Path]:
    """The nearest ancestor of our own group under which groups with limits can be made."""
    line = next((row for row in own.read_text().splitlines() if row.startswith("0::")), "0::/")
    here = mounted / line[3:].strip("/")
    for parent in (here, *here.parents):
        found = _v2_limits(parent)
        if found:
            return dict.fromkeys(found, parent)
        if parent == mounted:
            break
    return {}


def _v2_limits(parent: Path) -> list[str]:
    control = parent / "cgroup.subtree_control"
    try:
        handed_on = control.read_text().split()
        if not set(_V1_CONTROLLERS.values()) <= set(handed_on):
            # Only the root, or a group without processes of its own, may hand them on
            with suppress(OSError):
                control.write_text("+memory +pids +cpu")
            handed_on = control.read_text().split()
    except OSError:
        return []
    if "memory" not in handed_on or not _can_make_group(parent):
        return []
    return [limit for limit, controller in _V1_CONTROLLERS.items() if controller in handed_on]


def make(name: str, on: Host) -> list[Path]:
    """Make the groups of one sandbox, without limits yet; the folders to join."""
    made: list[Path] = []
    try:
        for folder in folders(name, on):
            folder.mkdir()
            made.append(folder)
    except OSError:
        remove(made)
        raise
    return made


def folders(name: str, on: Host) -> list[Path]:
    """Where the groups of that name are."""
    return [parent / f"{PREFIX}{name}" for parent in dict.fromkeys(on.parents.values())]


def limit(made: list[Path], wanted: GroupLimits, on: Host) -> None:
    for what, parent in on.parents.items():
        folder = next(folder for folder in made if folder.parent == parent)
        _limit(folder, what, wanted, on.version)


def _limit(folder: Path, what: str, wanted: GroupLimits, version: int) -> None:
    quota_us = max(int(wanted.cpu * _PERIOD_US), 1000)
    if what == "processes":
        _write(folder, "pids.max", wanted.processes)
    elif what == "cpu" and version == 1:
        _write(folder, "cpu.cfs_period_us", _PERIOD_US)
        _write(folder, "cpu.cfs_quota_us", quota_us)
    elif what == "cpu":
        _write(folder, "cpu.max", f"{quota_us} {_PERIOD_US}")
    elif version == 1:
        _write(folder, "memory.limit_in_bytes", wanted.memory_bytes)
        # Without swap accounting there is no such file, and swap is the host's matter
        with suppress(OSError):
            _write(folder, "memory.memsw.limit_in_bytes", wanted.memory_bytes)
    else:
        _write(folder, "memory.max", wanted.memory_bytes)
        with suppress(OSError):
            _write(folder, "memory.swap.max", 0)


def join(made: list[Path]) -> None:
    """Move this process, and with it all that it will start."""
    for folder in made:
        _write(folder, "cgroup.procs", 0)


def _write(folder: Path, name: str, value: int | str) -> None:
    """By descriptor: a file object takes four system calls more, and each sandbox writes nine of these files."""
    descriptor = os.open(f"{folder}/{name}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
    try:
        os.write(descriptor, str(value).encode())
    finally:
        os.close(descriptor)


def counters(made: list[Path]) -> Counters:
    """What the kernel counted; whatever cannot be read is 0 or None."""
    oom = refused = 0
    peak: int | None = None
    for folder in made:
        oom += _field(f"{folder}/memory.oom_control", "oom_kill") + _field(
            f"{folder}/memory.events", "oom_kill"
        )
        refused += _field(f"{folder}/pids.events", "max")
        for name in ("memory.max_usage_in_bytes", "memory.peak"):
            with suppress(ValueError):
                peak = int(_read(f"{folder}/{name}"))
    return Counters(oom, peak, refused)


def _field(path: str, name: str) -> int:
    rows = [row.split() for row in _read(path).splitlines()]
    return next((int(row[1]) for row in rows if len(row) == 2 and row[0] == name), 0)


def _read(path: str) -> str:
    """What the kernel says in a small file; nothing where there is none. Most groups lack most of these files."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        return os.read(descriptor, 4096).decode()
    except OSError:
        return ""
    finally:
        os.close(descriptor)


def remove(made: list[Path], patience_s: float = 1.0) -> None:
    """Remove groups; a process that just died may hold one for a moment."""
    deadline = time.monotonic() + patience_s
    for folder in made:
        while True:
            try:
                folder.rmdir()
            except FileNotFoundError:
                break
            except OSError as error:
                if error.errno != errno.EBUSY or time.monotonic() > deadline:
                    raise
                time.sleep(0.002)
            else:
                break


def remove_all(tag: str) -> None:
    """Remove every group of one owner."""
    for folder in _groups(lambda name: name == tag or name.startswith(f"{tag}-")):
        with suppress(OSError):
            remove([folder])


def sweep(is_stale: Callable[[str], bool]) -> list[Path]:
    """Remove the groups of dead owners that hold no process; the folders that went."""
    swept = []
    for folder in _groups(lambda name: is_stale(name) or name.startswith(_TRIAL)):
        with suppress(OSError):
            remove([folder], patience_s=0)
            swept.append(folder)
    return swept


def _groups(chosen: Callable[[str], bool]) -> list[Path]:
    parents = dict.fromkeys(host().parents.values())
    found = []
    for parent in parents:
        with suppress(OSError):
            found += [
                p
                for p in parent.iterdir()
                if p.name.startswith(PREFIX) and chosen(p.name.removeprefix(PREFIX))
            ]
    return found

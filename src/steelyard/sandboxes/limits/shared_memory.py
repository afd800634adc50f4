"""Processes -> the memory that they hold, each shared page once: what a control group would charge them for.

Three places hold memory beside a process's own pages: shared mappings, memory files without a mapping (memfd), and System V
segments, of which only the sandbox's init can tell. The files of a tmpfs are not counted: its size bounds them.

    cheap    own pages + shared pages of every process + memory files      too much, never too little
    exact    proportional own pages + each memory object once              asked for when the cheap sum is over the limit
"""

from __future__ import annotations

import functools
import os
from collections import defaultdict
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

_KB = 1024
_BLOCK_BYTES = 512
Object = tuple[int, int]  # device and inode of a memory object


def upper_bound_bytes(pids: Iterable[int]) -> int:
    """Own and shared pages of each process, and every memory file that one of them has open."""
    members = list(pids)
    return sum(map(_resident_bytes, members)) + sum(_open_objects(members).values())


def exact_bytes(pids: Iterable[int]) -> int:
    """Own pages shared after a fork are divided among those who share them; an object counts once."""
    members = list(pids)
    objects, own = defaultdict(int, _open_objects(members)), 0
    mapped: dict[Object, int] = defaultdict(int)
    for pid in members:
        try:
            own += _read_mappings(pid, mapped)
        except (OSError, ValueError):  # gone by now, or shut against us: then all of it counts
            own += _resident_bytes(pid)
    for one, size in mapped.items():
        objects[one] = max(objects[one], size)
    return own + sum(objects.values())


def _resident_bytes(pid: int) -> int:
    total = 0
    with suppress(OSError, ValueError, IndexError):
        for line in Path(f"/proc/{pid}/status").read_text(errors="replace").splitlines():
            if line.startswith(("RssAnon:", "RssShmem:")):
                total += int(line.split()[1]) * _KB
    return total


def _open_objects(pids: Iterable[int]) -> dict[Object, int]:
    found: dict[Object, int] = {}
    for pid in pids:
        with suppress(OSError), os.scandir(f"/proc/{pid}/fd") as descriptors:
            for descriptor in descriptors:
                with suppress(OSError):
                    status = os.stat(descriptor.path)  # noqa: PTH116  # of each open file, a few times a second
                    if status.st_dev == _device_of_memory_files():
                        found[status.st_dev, status.st_ino] = status.st_blocks * _BLOCK_BYTES
    return found


def _read_mappings(pid: int, mapped: dict[Object, int]) -> int:
    """Own pages of one process in bytes; what it maps of memory objects is added to `mapped`."""
    own, here = 0, None
    is_object = False
    for line in Path(f"/proc/{pid}/smaps").read_text(errors="replace").splitlines():
        first, _, rest = line.partition(" ")
        if not first.endswith(":"):
            _, _, device, inode, *_ = rest.split()
            major, minor = (int(part, 16) for part in device.split(":"))
            here = os.makedev(major, minor), int(inode)
            is_object = int(inode) != 0 and here[0] == _device_of_memory_files()
            shared = 0
        elif first == "Pss:":
            shared = int(rest.split()[0]) * _KB
        elif first == "Pss_Dirty:" or here is None:
            continue
        elif first == "Anonymous:":
            anonymous = int(rest.split()[0]) * _KB
            if is_object:
                mapped[here] += shared
            elif anonymous:
                own += min(shared, anonymous)
    return own


@functools.cache
def _device_of_memory_files() -> int:
    """All of them live on one file system inside the kernel."""
    descriptor = os.memfd_create("device", os.MFD_CLOEXEC)
    try:
        return os.fstat(descriptor).st_dev
    finally:
        os.close(descriptor)

"""Directories -> notices of what changes in them, by the kernel's inotify.

A notice names a directory (by the number of its watch) and a name in it. The kernel queues it before the system call
that made the change returns; when its queue is full it drops notices and says so.
"""

from __future__ import annotations

import ctypes
import errno
import functools
import os
import struct

from steelyard.deferred.named_tuple import NamedTuple

CREATE, DELETE, MOVED_FROM, MOVED_TO = 0x100, 0x200, 0x40, 0x80
MODIFY, ATTRIB, CLOSE_WRITE = 0x2, 0x4, 0x8
OVERFLOW, IGNORED, IS_DIR = 0x4000, 0x8000, 0x40000000
STRUCTURE = CREATE | MOVED_TO
EVERYTHING = CREATE | DELETE | MOVED_FROM | MOVED_TO | MODIFY | ATTRIB | CLOSE_WRITE
_ONLY_DIR = 0x01000000
_EXCLUDE_UNLINKED = 0x04000000
_HEAD = struct.Struct("iIII")
_READ_BYTES = 1 << 18


class Notice(NamedTuple):
    watch: int
    mask: int
    name: bytes


@functools.cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


class Inotify:
    """One queue of notices."""

    def __init__(self) -> None:
        self.fd = _libc().inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if self.fd < 0:
            raise OSError(ctypes.get_errno(), "inotify_init1")

    def add(self, directory: int, mask: int) -> int:
        """Watch what a descriptor refers to, whatever its path leads to by now."""
        path = f"/proc/self/fd/{directory}".encode()
        watch = _libc().inotify_add_watch(self.fd, path, mask | _ONLY_DIR | _EXCLUDE_UNLINKED)
        if watch < 0:
            raise OSError(ctypes.get_errno(), "inotify_add_watch")
        return int(watch)

    def remove(self, watch: int) -> None:
        """A watch that is gone already is no error."""
        _libc().inotify_rm_watch(self.fd, watch)

    def read(self) -> list[Notice]:
        """What is queued now; nothing when the queue is empty."""
        try:
            data = os.read(self.fd, _READ_BYTES)
        except OSError as error:
            if error.errno in {errno.EAGAIN, errno.EINTR}:
                return []
            raise
        notices, at = [], 0
        while at < len(data):
            watch, mask, _, length = _HEAD.unpack_from(data, at)
            at += _HEAD.size
            notices.append(Notice(watch, mask, data[at : at + length].rstrip(b"\0")))
            at += length
        return notices

    def close(self) -> None:
        os.close(self.fd)

"""A tree that its owner changes while it is read -> what stands at one path right now.

No link is followed on the way to a directory. Nothing is altered: what a mode forbids is not read. A
file that changes while it is read gives some mixture; the notice of that change leads to another look.
"""

from __future__ import annotations

import os
import stat
import time
from contextlib import suppress

from steelyard.deferred.named_tuple import NamedTuple
from steelyard.evidence.change.walk import kind_of
from steelyard.filesystem.open_beneath import open_beneath
from steelyard.filesystem.tree import Entry

HASHED_BYTES = 32 << 20  # a larger file has its size recorded, not its digest
_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
# Two changes within one tick of a coarse clock have one time: a status as young as this proves nothing.
_YOUNG_NS = 50_000_000
_PART_BYTES = 1 << 20


class Look(NamedTuple):
    """What was found at one path: `entry` without a digest, the content, and a mark that changes with the inode."""

    entry: Entry | None
    data: bytes | None  # of a file, unless it is too large or cannot be read
    mark: tuple[int, int, int, int] | None


class RunningTree:
    """Reads one view of a live tree by descriptors relative to its root."""

    def __init__(self, root: int, *, all_modes: bool) -> None:
        self._root = root
        self._all_modes = all_modes
        self._held: tuple[str, int | None] | None = None  # the folder of the last look; None: there is none

    def open_folder(self, path: str) -> int:
        """A descriptor of a directory; the caller closes it. Raises OSError where there is none."""
        return open_beneath(self._root, path)

    def names(self, path: str, most: int) -> list[str]:
        """What a directory holds, at most so many names; nothing where there is none."""
        found: list[str] = []
        with suppress(OSError):
            folder = self.open_folder(path)
            try:
                with os.scandir(folder) as entries:
                    for entry in entries:
                        if len(found) >= most:
                            break
                        found.append(entry.name)
            finally:
                os.close(folder)
        return found

    def is_folder(self, path: str) -> bool:
        try:
            os.close(self.open_folder(path))
        except OSError:
            return False
        return True

    def look(self, path: str, known: tuple[int, int, int, int] | None = None) -> Look | None:
        """What stands at `path`; None when its mark is still `known`, so that nothing has to be read."""
        folder_path, _, name = path.rpartition("/")
        folder = self._hold(folder_path)
        if folder is None:
            return Look(None, None, None)
        try:
            return self._look(folder, name, known)
        except OSError:
            return Look(None, None, None)  # it vanished in this moment

    def _hold(self, path: str) -> int | None:
        """The folder at `path`, which stays open for the next look, because changes often come from one folder."""
        if self._held is not None and self._held[0] == path:
            return self._held[1]
        self.release()
        try:
            self._held = (path, self.open_folder(path))
        except OSError:
            self._held = (path, None)
        return self._held[1]

    def release(self) -> None:
        """Forget the folder of the last look: by now it may have another name."""
        held, self._held = self._held, None
        if held is not None and held[1] is not None:
            os.close(held[1])

    def _look(self, folder: int, name: str, known: tuple[int, int, int, int] | None) -> Look | None:
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
        mark = _mark(status)
        if mark is not None and mark == known:
            return None
        kind = kind_of(status)
        if kind == "symlink":
            return Look(Entry("symlink", target=os.readlink(name, dir_fd=folder)), None, mark)
        if kind == "dir":
            return Look(Entry("dir"), None, mark)
        if kind == "special":
            return Look(None, None, None)  # a FIFO, socket or device is never imported
        data = _content(folder, name) if status.st_size <= HASHED_BYTES else None
        size = status.st_size if data is None else len(data)
        return Look(Entry("file", self._mode(status), size), data, mark)

    def _mode(self, status: os.stat_result) -> str:
        if self._all_modes:
            return f"{status.st_mode & 0o777:03o}"
        return "755" if status.st_mode & 0o100 else "644"


def _mark(status: os.stat_result) -> tuple[int, int, int, int] | None:
    """None for a status so recent that the next change could have the same times."""
    if time.time_ns() - status.st_ctime_ns < _YOUNG_NS:
        return None
    return (status.st_ino, status.st_size, status.st_ctime_ns, status.st_mode)


def _content(folder: int, name: str) -> bytes | None:
    try:
        fd = os.open(name, _OPEN, dir_fd=folder)
    except PermissionError:
        return None
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            return None
        parts = []
        while part := os.read(fd, _PART_BYTES):
            parts.append(part)
            if len(part) == _PART_BYTES and not _is_worth_reading(os.fstat(fd)):
                return None
        return b"".join(parts)
    finally:
        os.close(fd)


def _is_worth_reading(status: os.stat_result) -> bool:
    """A deleted file takes up the agent's disk for as long as it is open here: the rest of it is not read."""
    return status.st_nlink > 0 and status.st_size <= HASHED_BYTES

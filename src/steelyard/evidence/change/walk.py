"""A directory descriptor of a hostile tree -> names, kinds and bytes, following nothing.

Directories are opened one component at a time with O_NOFOLLOW, so a path may be longer than PATH_MAX and
never leads through a link. Everything in the tree is dead; what a mode forbids is opened as its owner.
"""

from __future__ import annotations

import errno
import os
import stat
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import Literal

Kind = Literal["file", "symlink", "dir", "special"]
_KINDS: dict[int, Kind] = {stat.S_IFREG: "file", stat.S_IFLNK: "symlink", stat.S_IFDIR: "dir"}
# O_NONBLOCK: opening a FIFO would otherwise wait for a writer for ever.
_SAFELY = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
_HELD = 16
_OURS = {errno.EIO, errno.EMFILE, errno.ENFILE, errno.ENOMEM}


def kind_of(status: os.stat_result) -> Kind:
    return _KINDS.get(stat.S_IFMT(status.st_mode), "special")


class Tree:
    """One view of a tree. Holds at most `_HELD` directories open, however deep it is."""

    def __init__(self, root: int, *, all_modes: bool = False) -> None:
        # Whether every permission means something, or only its owner's execute bit
        self.all_modes = all_modes
        self._root = _open(root, ".", os.O_DIRECTORY)
        self._trail: deque[tuple[str, int]] = deque()  # open ancestors of the last directory, outermost first

    def directory(self, path: str) -> int:
        """A descriptor of the directory at `path` ("" is the root); valid until the next call."""
        if self._trail and self._trail[-1][0] == path:
            return self._trail[-1][1]
        while self._trail and not f"{path}/".startswith(f"{self._trail[-1][0]}/"):
            os.close(self._trail.pop()[1])
        at, fd = self._trail[-1] if self._trail else ("", self._root)
        for part in path[len(at) :].split("/"):
            if part:
                at = f"{at}/{part}" if at else part
                fd = _open(fd, part, os.O_DIRECTORY)
                self._trail.append((at, fd))
                if len(self._trail) > _HELD:
                    os.close(self._trail.popleft()[1])
        return fd

    def names(self, path: str, most: int | None = None) -> set[str]:
        """What the directory holds, in no order; at most `most` names, so that none can exhaust our memory."""
        with os.scandir(self.directory(path)) as entries:
            return {entry.name for entry in islice(entries, most)}

    def status(self, folder: str, name: str) -> os.stat_result:
        return os.stat(name, dir_fd=self.directory(folder), follow_symlinks=False)

    def target(self, folder: str, name: str) -> str:
        return os.readlink(name, dir_fd=self.directory(folder))

    @contextmanager
    def file(self, folder: str, name: str) -> Iterator[int]:
        """A descriptor of a regular file, and of nothing else."""
        fd = _open(self.directory(folder), name, 0)
        try:
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                raise OSError(errno.EINVAL, "not a regular file")
            yield fd
        finally:
            os.close(fd)

    def has_attribute(self, path: str, name: str) -> bool:
        try:
            os.getxattr(self.directory(path), name)
        except OSError as error:
            # Anything but a clear no counts as yes: the caller then compares in full.
            return error.errno not in {errno.ENODATA, errno.ENOTSUP}
        return True

    def close(self) -> None:
        for _, fd in self._trail:
            os.close(fd)
        self._trail.clear()
        os.close(self._root)


def _open(parent: int, name: str, flags: int) -> int:
    """Open without following; a mode that shuts its owner out is changed first, never the kind."""
    try:
        fd = os.open(name, _SAFELY | flags, dir_fd=parent)
    except PermissionError:
        fd = _open_locked(parent, name, flags)
    if flags & os.O_DIRECTORY and os.geteuid() != 0 and os.fstat(fd).st_mode & 0o500 != 0o500:
        with suppress(OSError):  # without x the names can be listed but not looked at
            os.fchmod(fd, _unlocked(os.fstat(fd)))
    return fd


def _open_locked(parent: int, name: str, flags: int) -> int:
    if name == ".":
        os.fchmod(parent, _unlocked(os.fstat(parent)))
        return os.open(name, _SAFELY | flags, dir_fd=parent)
    handle = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
    try:
        if kind_of(os.fstat(handle)) not in {"file", "dir"}:
            raise OSError(errno.EINVAL, "not a file or a directory")
        here = f"/proc/self/fd/{handle}"  # exactly the inode that was looked at
        Path(here).chmod(_unlocked(os.fstat(handle)))
        return os.open(here, (_SAFELY | flags) & ~os.O_NOFOLLOW)
    finally:
        os.close(handle)


def _unlocked(status: os.stat_result) -> int:
    return stat.S_IMODE(status.st_mode) | (0o700 if stat.S_ISDIR(status.st_mode) else 0o400)


def same_bytes(one: int, other: int) -> bool:
    while True:
        left, right = os.read(one, 1 << 18), os.read(other, 1 << 18)
        if left != right:  # both are regular and of one size, so reads are never short in different places
            return False
        if not left:
            return True


def is_ours(error: OSError) -> bool:
    """Whether this machine failed, rather than the tree being odd."""
    return error.errno in _OURS

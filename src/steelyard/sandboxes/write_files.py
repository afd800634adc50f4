"""Paths as data -> entries in a directory tree, by descriptors, following nothing.

The tree may be hostile: a parent may be a symlink to somewhere else, the path itself a directory or a fifo.
A parent that is not a real directory is removed and made one; whatever stands at the path is replaced.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
from collections.abc import Iterable
from contextlib import suppress
from typing import Self

from steelyard.deferred.named_tuple import NamedTuple
from steelyard.sandboxes.file_overlay import FileOverlay

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_KEPT_OPEN = 64
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class Owner(NamedTuple):
    uid: int
    gid: int


def write_files(root: int, pieces: Iterable[FileOverlay], owner: Owner | None) -> None:
    """Put every piece under the directory descriptor `root`, in order; without an owner it is the caller's."""
    with Parents(root, owner) as parents:
        for piece in pieces:
            if piece.kind == "read_only":
                continue
            *above, name = parts(piece.path)
            if piece.kind == "gone":
                parents.leave(above)
                _remove_path(root, above, name)
            else:
                _put(parents.reach(above), name, piece, owner)


def parts(path: str) -> list[str]:
    """The names on the way to a path below; ValueError for one that could lead anywhere else."""
    names = path.split("/")
    if any(name in {"", ".", ".."} or "\0" in name for name in names):
        raise ValueError(f"not a plain relative path: {path!r}")
    return names


def open_folder(root: int, names: Iterable[str]) -> int:
    """A descriptor of the folder at `names` below the descriptor `root`; no name on the way may be a symlink."""
    here = os.open(".", _DIRECTORY, dir_fd=root)
    for name in names:
        try:
            below = os.open(name, _DIRECTORY, dir_fd=here)
        finally:
            os.close(here)
        here = below
    return here


class Parents:
    """The open folders above the last piece: the next is mostly a neighbour.

    Walking down from the root for every piece would be quadratic in the depth, and an agent chooses the depth.
    Only the lowest few stay open, because it may choose more than there are descriptors.
    """

    def __init__(self, root: int, owner: Owner | None) -> None:
        self._root = root
        self._owner = owner
        self._names: list[str] = []
        self._open: dict[int, int] = {}  # depth -> descriptor

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self._close_below(0)

    def reach(self, names: list[str]) -> int:
        """A descriptor of that folder, made of real directories all the way down; it stays ours."""
        self.leave(names)
        for name in names[len(self._names) :]:
            depth = len(self._names)
            below = _real_directory(self._open.get(depth, self._root), name, self._owner)
            self._names.append(name)
            self._open[depth + 1] = below
            if depth >= _KEPT_OPEN:
                os.close(self._open.pop(depth + 1 - _KEPT_OPEN))
        return self._open.get(len(self._names), self._root)

    def leave(self, names: list[str]) -> None:
        """Go up to the last folder that is also above `names`, or to the root if that one is closed."""
        common = min(len(self._names), len(names))
        if self._names[:common] != names[:common]:  # neighbours mostly are equal, and that is fast to see
            pairs = zip(self._names, names, strict=False)
            common = next(depth for depth, (old, new) in enumerate(pairs) if old != new)
        self._close_below(common if common in self._open else 0)

    def _close_below(self, depth: int) -> None:
        for level in [level for level in self._open if level > depth]:
            os.close(self._open.pop(level))
        del self._names[depth:]


def _real_directory(parent: int, name: str, owner: Owner | None) -> int:
    with suppress(FileNotFoundError):
        if not stat.S_ISDIR(os.lstat(name, dir_fd=parent).st_mode):
            os.unlink(name, dir_fd=parent)
    try:
        return os.open(name, _DIRECTORY, dir_fd=parent)
    except FileNotFoundError:
        _make_directory(parent, name, owner)
        return os.open(name, _DIRECTORY, dir_fd=parent)


def _make_directory(parent: int, name: str, owner: Owner | None) -> None:
    os.mkdir(name, 0o755, dir_fd=parent)
    _give(parent, name, owner)


def _give(parent: int, name: str, owner: Owner | None) -> None:
    if owner is not None:
        os.chown(name, owner.uid, owner.gid, dir_fd=parent, follow_symlinks=False)


def _put(parent: int, name: str, piece: FileOverlay, owner: Owner | None) -> None:
    if piece.kind == "dir":
        os.close(_real_directory(parent, name, owner))
        return
    remove(parent, name)
    if piece.kind == "symlink":
        os.symlink(piece.target, name, dir_fd=parent)
    else:
        _copy(parent, name, piece)
    _give(parent, name, owner)


def _copy(parent: int, name: str, piece: FileOverlay) -> None:
    made = os.open(name, _NEW_FILE, 0o600, dir_fd=parent)
    with os.fdopen(made, "wb") as file:
        if piece.source is not None:
            with piece.source.open("rb") as source:
                shutil.copyfileobj(source, file, 1 << 20)
        os.fchmod(file.fileno(), int(piece.mode, 8))


def _remove_path(root: int, parents: list[str], name: str) -> None:
    """Below a symlink nothing is ours, and so there is nothing to remove."""
    here = os.open(".", _DIRECTORY, dir_fd=root)
    try:
        for part in parents:
            below = os.open(part, _DIRECTORY, dir_fd=here)
            os.close(here)
            here = below
        remove(here, name)
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        if error.errno != errno.ELOOP:  # a symlink on the way
            raise
    finally:
        os.close(here)


def remove(parent: int, name: str) -> None:
    try:
        mode = os.lstat(name, dir_fd=parent).st_mode
    except FileNotFoundError:
        return
    if stat.S_ISDIR(mode):
        shutil.rmtree(name, dir_fd=parent)
    else:
        os.unlink(name, dir_fd=parent)

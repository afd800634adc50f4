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
from typing import NamedTuple

from steelyard.sandboxes.base import Laid

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class Owner(NamedTuple):
    uid: int
    gid: int


def lay(root: int, pieces: Iterable[Laid], owner: Owner | None) -> None:
    """Put every piece under the directory descriptor `root`, in order; without an owner it is the caller's."""
    for piece in pieces:
        *parents, name = _parts(piece.path)
        if piece.kind == "gone":
            _remove_path(root, parents, name)
            continue
        parent = _make_parents(root, parents, owner)
        try:
            _put(parent, name, piece, owner)
        finally:
            os.close(parent)


def _parts(path: str) -> list[str]:
    parts = path.split("/")
    if any(part in {"", ".", ".."} or "\0" in part for part in parts):
        raise ValueError(f"not a plain relative path: {path!r}")
    return parts


def _make_parents(root: int, parents: list[str], owner: Owner | None) -> int:
    """A descriptor of the parent, made of real directories all the way down."""
    here = os.open(".", _DIRECTORY, dir_fd=root)
    for name in parents:
        try:
            below = _real_directory(here, name, owner)
        finally:
            os.close(here)
        here = below
    return here


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


def _put(parent: int, name: str, piece: Laid, owner: Owner | None) -> None:
    if piece.kind == "dir":
        os.close(_real_directory(parent, name, owner))
        return
    _remove(parent, name)
    if piece.kind == "symlink":
        os.symlink(piece.target, name, dir_fd=parent)
    else:
        _copy(parent, name, piece)
    _give(parent, name, owner)


def _copy(parent: int, name: str, piece: Laid) -> None:
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
        _remove(here, name)
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        if error.errno != errno.ELOOP:  # a symlink on the way
            raise
    finally:
        os.close(here)


def _remove(parent: int, name: str) -> None:
    try:
        mode = os.lstat(name, dir_fd=parent).st_mode
    except FileNotFoundError:
        return
    if stat.S_ISDIR(mode):
        shutil.rmtree(name, dir_fd=parent)
    else:
        os.unlink(name, dir_fd=parent)

"""A folder -> items. Nothing is followed; every `.git` stays behind; only the owner's x bit is a mode."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from steelyard.contract.snapshot.materialise import CHUNK_BYTES, Item, refusal
from steelyard.filesystem.tree import printable

GIT = frozenset({".git"})
# Folders of a work tree that are not sources: byte code differs between two machines.
WORKED_IN = GIT | {"__pycache__"}


def tree_items(folder: Path, prefix: str = "", *, leave: frozenset[str] = GIT) -> Iterator[Item]:
    """Every path below `folder`, in byte order, but those called one of `leave`."""
    try:
        found = sorted(os.scandir(folder / prefix), key=lambda entry: os.fsencode(entry.name))
    except OSError as error:
        raise _unreadable(prefix or ".", error) from error
    for entry in found:
        if entry.name in leave:
            continue
        path = prefix + entry.name
        if entry.is_symlink():
            yield Item(path, "symlink", target=os.readlink(entry.path))  # noqa: PTH115  # Path would tidy the bytes
        elif entry.is_dir(follow_symlinks=False):
            yield Item(path, "dir")
            yield from tree_items(folder, f"{path}/", leave=leave)
        elif entry.is_file(follow_symlinks=False):
            executable = bool(entry.stat(follow_symlinks=False).st_mode & stat.S_IXUSR)
            yield Item(path, "file", executable=executable, chunks=_chunks(Path(entry.path), path))
        else:
            raise refusal(f"{printable(path)} is a FIFO, a socket or a device", field="repository.tree")


def _chunks(place: Path, path: str) -> Iterator[bytes]:
    try:
        # O_NONBLOCK: a file replaced by a FIFO since the listing must not hang us
        descriptor = os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise _unreadable(path, error) from error
    with os.fdopen(descriptor, "rb") as file:
        yield from iter(lambda: file.read(CHUNK_BYTES), b"")


def _unreadable(path: str, error: OSError) -> Exception:
    return refusal(f"{printable(path)} cannot be read: {error.strerror}", field="repository.tree")

"""A directory and a path below it -> a descriptor of the directory at that path, with no link on the way.

The kernel walks the path in one call (openat2). Where it has no such call, each component is opened alone: a path of
1,500 components takes 3,000 calls then, and an agent that makes such a tree decides how long its observer works.
"""

from __future__ import annotations

import ctypes
import errno
import functools
import os
from collections.abc import Iterator

_FOLDER = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY | os.O_DIRECTORY
_OPENAT2 = 437  # the same number on every architecture
_NO_LINKS_AND_BENEATH = 0x02 | 0x04 | 0x08
_PATH_BYTES = 4000  # the kernel takes 4,095 in one call
_UNKNOWN_CALL = frozenset({errno.ENOSYS, errno.EPERM})  # of an old kernel, or of a filter around this process


class _How(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


def open_beneath(root: int, path: str, *, in_one_call: bool | None = None) -> int:
    """A descriptor of a directory; the caller closes it. Raises OSError where there is none.

    `in_one_call` is what this kernel can do, unless it is given.
    """
    opened = os.open(".", _FOLDER, dir_fd=root)
    for piece in _pieces(os.fsencode(path), _kernel_walks() if in_one_call is None else in_one_call):
        try:
            inner = _open_piece(opened, piece)
        finally:
            os.close(opened)
        opened = inner
    return opened


def _pieces(path: bytes, in_one_call: bool) -> Iterator[bytes]:  # noqa: FBT001  # private, called once
    """The path in parts that are short enough for one call, or the components alone."""
    if not path:
        return
    if not in_one_call:
        yield from path.split(b"/")
        return
    while len(path) > _PATH_BYTES:
        piece, _, _ = path[:_PATH_BYTES].rpartition(b"/")
        yield piece
        path = path[len(piece) + 1 :]
    yield path


def _open_piece(folder: int, piece: bytes) -> int:
    return _openat2(folder, piece) if b"/" in piece else os.open(piece, _FOLDER, dir_fd=folder)


def _openat2(folder: int, path: bytes) -> int:
    how = _How(_FOLDER, 0, _NO_LINKS_AND_BENEATH)
    arguments = (
        ctypes.c_long(folder),
        ctypes.c_char_p(path),
        ctypes.byref(how),
        ctypes.c_size_t(ctypes.sizeof(how)),
    )
    opened = int(_libc().syscall(ctypes.c_long(_OPENAT2), *arguments))
    if opened < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), path)
    return opened


@functools.cache
def _kernel_walks() -> bool:
    here = os.open("/", _FOLDER)
    try:
        os.close(_openat2(here, b"."))
    except OSError as error:
        return error.errno not in _UNKNOWN_CALL
    finally:
        os.close(here)
    return True


@functools.cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)

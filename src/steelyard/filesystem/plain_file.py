"""A path -> the open regular file that stands there, and nothing else: no link is followed, no FIFO waited for."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO


def open_plain(path: Path | str) -> BinaryIO:
    stream = os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb")
    if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
        stream.close()
        raise OSError(errno.EINVAL, "not a regular file")
    return stream


def read_plain(path: Path | str) -> bytes:
    with open_plain(path) as stream:
        return stream.read()

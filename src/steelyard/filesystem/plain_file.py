"""A path -> the open regular file that stands there, and nothing else: no link is followed, no FIFO waited for.

And a folder -> an open file in it without a name.
"""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from contextlib import suppress
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


def open_nameless(folder: Path) -> int:
    """A descriptor of a new file in `folder` without a name: it is gone with its last descriptor."""
    with suppress(OSError):  # a file system that has no such files, which `tempfile` does without
        return os.open(folder, os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o600)
    with tempfile.TemporaryFile(dir=folder) as file:
        return os.dup(file.fileno())

"""A user of an image -> its numbers and its home, as the image's own /etc/passwd has them.

ann     ann:x:1000:1000::/home/ann:/bin/sh    uid 1000, gid 1000, HOME=/home/ann
1234    in no line                            uid 1234, gid 0, HOME=/

Read from the image before anything but init runs, so no tested program has written it.
"""

from __future__ import annotations

import os
from typing import NamedTuple

MOST_BYTES = 1 << 20
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_FIELDS = 7


class Person(NamedTuple):
    name: str
    uid: int
    gid: int
    home: str


ROOT = Person("root", 0, 0, "/root")


def person(root: int, user: str) -> Person:
    """`user` is a name or a number of the system at the descriptor `root`, with or without a `:group`."""
    wanted = user.partition(":")[0]
    if wanted in {"", "root", "0"}:
        return ROOT
    for line in _passwd(root).split("\n"):
        fields = line.split(":")
        if len(fields) == _FIELDS and wanted in (fields[0], fields[2]) and _are_ids(fields[2:4]):
            return Person(fields[0], int(fields[2]), int(fields[3]), fields[5] or "/")
    return Person(wanted, int(wanted) if wanted.isdecimal() else 0, 0, "/")


def _are_ids(texts: list[str]) -> bool:
    return all(text.isascii() and text.isdecimal() and len(text) <= 10 for text in texts)


def _passwd(root: int) -> str:
    """Nothing where there is none that is a file."""
    try:
        folder = os.open("etc", _FOLDER, dir_fd=root)
        try:
            file = os.open("passwd", _FILE, dir_fd=folder)
        finally:
            os.close(folder)
        with os.fdopen(file, "rb") as stream:
            return stream.read(MOST_BYTES).decode(errors="replace")
    except OSError:
        return ""

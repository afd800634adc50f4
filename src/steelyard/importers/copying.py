"""A foreign folder -> a copy in a contract's folder, or why not.

Files, folders and links that stay inside; a FIFO, a device, a link that leads out, too much of anything is refused.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from steelyard.filesystem.tree import printable
from steelyard.importers.reading import fault
from steelyard.importers.task import FileCopy

MOST_FILES = 20_000
MOST_TOTAL_BYTES = 2 << 30
MOST_DEPTH = 100


@dataclass
class Room:
    """What one task may still bring."""

    files: int = MOST_FILES
    size_bytes: int = MOST_TOTAL_BYTES

    def take(self, where: str, *, files: int = 0, size_bytes: int = 0) -> None:
        self.files -= files
        self.size_bytes -= size_bytes
        if self.files < 0:
            raise fault(printable(where), "", f"the task has more than {MOST_FILES} files")
        if self.size_bytes < 0:
            raise fault(printable(where), "", f"the task is larger than {MOST_TOTAL_BYTES >> 30} GiB")


def copy(copied: FileCopy, to: Path, room: Room) -> None:
    """Copy a file or a folder; raises ContractFault for what must not be in a contract."""
    try:
        _inside(copied.source, copied.root)
        if stat.S_ISDIR(copied.source.stat().st_mode):
            _copy_folder(copied, to, room)
        else:
            to.parent.mkdir(parents=True, exist_ok=True)
            _copy_file(os.path.realpath(copied.source), str(to), room)
    except OSError as error:
        where = printable(os.fsdecode(error.filename or str(copied.source)))
        raise fault(where, "", f"cannot be copied: {error.strerror}") from error


def _copy_folder(copied: FileCopy, to: Path, room: Room) -> None:
    to.mkdir(parents=True, exist_ok=True)
    for entry, name in walk_files(copied.source, copied.leave):
        here = f"{to}/{name}"
        if entry.is_symlink():
            room.take(entry.path, files=1)
            _copy_link(entry, name, copied.source, to)
        elif entry.is_dir(follow_symlinks=False):
            room.take(entry.path, files=1)
            Path(here).mkdir(exist_ok=True)
        else:
            _copy_file(entry.path, here, room)


def walk_files(top: Path, leave: frozenset[str]) -> Iterator[tuple[os.DirEntry[str], str]]:
    """Folders before what is in them, nothing followed, in one order on every machine."""
    pending = [(str(top), "", 0)]
    while pending:
        folder, prefix, depth = pending.pop()
        if depth > MOST_DEPTH:
            raise fault(printable(folder), "", f"nested deeper than {MOST_DEPTH} folders")
        with os.scandir(folder) as found:
            entries = sorted((entry for entry in found if entry.name not in leave), key=lambda one: one.name)
        for entry in entries:
            if printable(entry.name) != entry.name:
                raise fault(printable(entry.path), "", "has a name that cannot be printed")
            yield entry, prefix + entry.name
            if entry.is_dir(follow_symlinks=False):
                pending.append((entry.path, f"{prefix}{entry.name}/", depth + 1))


def _copy_file(source: str, to: str, room: Room) -> None:
    """The bytes, and of the mode whether its owner may run it."""
    # O_NONBLOCK: a FIFO must not hang us
    descriptor = os.open(source, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        mode = os.fstat(descriptor).st_mode
        if not stat.S_ISREG(mode):
            raise fault(printable(source), "", "is not a file, a folder or a link")
        room.take(source, files=1)
        with open(to, "wb") as copied:  # noqa: PTH123  # a Path for each of many files is slow
            for chunk in iter(lambda: file.read(1 << 20), b""):
                room.take(source, size_bytes=len(chunk))
                copied.write(chunk)
            os.fchmod(copied.fileno(), 0o755 if mode & stat.S_IXUSR else 0o644)


def _copy_link(entry: os.DirEntry[str], name: str, top: Path, to: Path) -> None:
    """A link that means the same in the copy: relative, and to something beside it in the same folder."""
    target = os.readlink(entry.path)  # noqa: PTH115  # Path would tidy the bytes
    led = os.path.normpath(f"{os.path.dirname(name)}/./{target}" if os.path.dirname(name) else target)  # noqa: PTH120  # text
    if target.startswith("/") or led.split("/")[0] == "..":
        raise fault(printable(entry.path), "", "leads out of its folder")
    _inside(Path(entry.path), top)
    here = to / name
    here.unlink(missing_ok=True)
    here.symlink_to(target)


def _inside(path: Path, root: Path) -> None:
    try:
        real = os.path.realpath(path, strict=True)
    except OSError as error:
        raise fault(printable(str(path)), "", f"leads nowhere: {error.strerror}") from error
    top = os.path.realpath(root)
    if real != top and not real.startswith(f"{top.rstrip('/')}/"):
        raise fault(printable(str(path)), "", "leads out of its folder")

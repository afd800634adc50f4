r"""A folder of the cache -> whether it still holds what was published.

    <folder>/.contents     one line for each path below the folder, in byte order:

    f 644 0 12 1577836800000000000 <sha256> - tree/a.py
    l 777 0 7 1577836800000000000 <sha256 of the target> - tree/link
    d 755 0 0 0 - - tree/lib                       the time of a directory says nothing about what is in it
    c 0 0 0 0 0:0 - workspace/deleted              an overlay's whiteout

    kind, mode, owner, size, time of the last change in ns, digest, digest of the extended attributes, path

Every byte is read once after each start of the machine. After that the size, times, inode, mode and owner of every path are
compared with what they were before the bytes were read: the kernel sets the change time of a file, and no program can set it
back. Other processes learn that from a note in the folder's lock file, which is believed if only this user can write it:

    <root>/locks/<kind>.<key>     <first 8 digits of the boot's id> <stamp of the folder>

After a power cut a file may have lost its bytes and kept its times, so a note of another boot says nothing.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
import struct
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from steelyard.deferred.named_tuple import NamedTuple
from steelyard.filesystem.owner import boot_tag
from steelyard.filesystem.tree import printable

CONTENTS = ".contents"
_RECORD = CONTENTS.encode()
_CHUNK_BYTES = 1 << 20
# A file that changes twice within one tick of the kernel's clock has the same change time after both.
_TICK_NS = 20_000_000
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_UNLISTED = {errno.EACCES, errno.ENAMETOOLONG}  # its owner closed it, or its path is too long
_PACK = struct.Struct("<IIQQqq").pack
_KINDS = {
    stat.S_IFREG: "f",
    stat.S_IFLNK: "l",
    stat.S_IFDIR: "d",
    stat.S_IFCHR: "c",
    stat.S_IFBLK: "b",
    stat.S_IFIFO: "p",
    stat.S_IFSOCK: "s",
}


class PathStatus(NamedTuple):
    """One path below a folder. A directory that cannot be listed has an error number."""

    path: bytes
    place: bytes
    status: os.stat_result
    error: int = 0


class FolderCheck(NamedTuple):
    """`stamp` names this very state of the folder; `wrong` says what is not as it was published."""

    stamp: bytes
    wrong: str | None


_checked: dict[str, bytes] = {}  # folder -> the stamp under which every byte was as published


def record_contents(folder: Path) -> None:
    """Write down what the folder holds, before it is published."""
    (folder / CONTENTS).write_bytes(b"".join(line for _, line in sorted(_lines(folder))))


def check_contents(folder: Path) -> FolderCheck:
    """Compare a folder of the cache with its record: by content the first time since the machine started, by stamp afterwards."""
    started_ns = time.time_ns()
    try:
        stamp, newest_ns = _stamp(folder)
        if _checked.get(str(folder)) == stamp:
            return FolderCheck(stamp, None)
        is_noted = _noted(lock_of(folder)) == _note(stamp)
        wrong = None if is_noted else _difference(folder)
    except OSError as error:
        return FolderCheck(b"", f"{error.strerror}: {printable(str(error.filename or folder))}")
    if wrong is None and newest_ns < started_ns - _TICK_NS:
        _checked[str(folder)] = stamp
        if not is_noted:
            _write_note(lock_of(folder), _note(stamp))
    return FolderCheck(stamp, wrong)


def contents_digest(folder: Path) -> str:
    """The digest of the record: of every path, content, mode, owner and time."""
    return hashlib.sha256((folder / CONTENTS).read_bytes()).hexdigest()


def tree_digest(folder: Path, leave: frozenset[str] = frozenset()) -> str:
    """The digest of a folder that is not the cache's: every path, kind, mode and content, no owner and no time."""
    digest = hashlib.sha256()
    for path, line in sorted(_lines(folder, frozenset(map(os.fsencode, leave)))):
        kind, mode, _, size, _, content, _, _ = line.split(b" ", 7)
        digest.update(b" ".join((kind, mode, size, content, path)) + b"\n")
    return digest.hexdigest()


def stamp(folder: Path) -> str:
    """Names this very state of a folder: the size, times, inode, mode and owner of every path."""
    return _stamp(folder)[0].hex()


def read_or_remember(folder: Path, note: Path, read: Callable[[], str]) -> str:
    """What `read` finds in a folder; what it found the last time, if no file has changed since by what the kernel says.

    `note` is a file of its own in the cache's `locks`; all answers have the same length.
    """
    started_ns = time.time_ns()
    try:
        stamp, newest_ns = _stamp(folder)
    except OSError:
        return read()
    known, noted = _note(stamp), _noted(note)
    if noted.startswith(known) and noted.endswith(b"\n") and len(noted) > len(known):
        return noted[len(known) :].decode().strip()
    found = read()
    if newest_ns < started_ns - _TICK_NS:
        _write_note(note, known + f"{found}\n".encode())
    return found


def lock_of(folder: Path) -> Path:
    """The lock file of a folder of the cache."""
    return folder.parent.parent / "locks" / f"{folder.parent.name}.{folder.name}"


def _note(stamp: bytes) -> bytes:
    return f"{boot_tag()} {stamp.hex()}\n".encode()


def _noted(note: Path) -> bytes:
    """What a process of this user noted; nothing where others can write it."""
    try:
        descriptor = os.open(note, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        status = os.fstat(descriptor)
        is_ours = status.st_uid == os.geteuid() and not status.st_mode & _OTHERS_WRITE
        return os.read(descriptor, 1000) if is_ours else b""
    finally:
        os.close(descriptor)


def _write_note(note: Path, text: bytes) -> None:
    """All notes of a file have the same length. A process that finds half of one reads every byte itself."""
    with suppress(OSError):  # a cache that this user may only read
        flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        descriptor = os.open(note, flags, 0o644)
        try:
            os.pwrite(descriptor, text, 0)
        finally:
            os.close(descriptor)


def _difference(folder: Path) -> str | None:
    try:
        recorded = (folder / CONTENTS).read_bytes()
    except FileNotFoundError:
        return "there is no record of its contents"
    found = dict(_lines(folder))
    if recorded == b"".join(found[path] for path in sorted(found)):
        return None
    known = set(recorded.splitlines(keepends=True))
    changed = [path for path, line in found.items() if line not in known]
    if changed:
        return f"{_shown_path(min(changed))} differs from the record"
    gone = known - set(found.values())
    if gone:
        return f"{_shown_path(min(line.split(b' ', 7)[-1].rstrip() for line in gone))} is missing"
    return "the record of its contents is damaged"


def _shown_path(path: bytes) -> str:
    return printable(os.fsdecode(path))


def _stamp(folder: Path) -> tuple[bytes, int]:
    """A digest of what the kernel says about every path, and the newest change time. In one loop: it is run often."""
    own = folder.stat()
    parts = [f"{own.st_dev} {own.st_ino}".encode()]
    newest_ns, waiting = 0, [(b"", os.fsencode(folder))]
    while waiting:
        prefix, place = waiting.pop()
        parts.append(prefix)
        try:
            with os.scandir(place) as entries:
                listed = sorted(entries, key=_name)
        except OSError as error:
            if error.errno not in _UNLISTED:
                raise
            listed = []
        for entry in listed:
            status = entry.stat(follow_symlinks=False)
            changed_ns = status.st_ctime_ns
            newest_ns = max(newest_ns, changed_ns)
            parts.append(entry.name)
            parts.append(
                _PACK(
                    *(status.st_mode, status.st_uid, status.st_ino, status.st_size, status.st_mtime_ns),
                    changed_ns,
                )
            )
            if stat.S_ISDIR(status.st_mode):
                waiting.append((prefix + entry.name + b"/", entry.path))
    return hashlib.blake2b(b"\0".join(parts), digest_size=16).digest(), newest_ns


def _name(entry: os.DirEntry[bytes]) -> bytes:
    return entry.name


def _lines(folder: Path, leave: frozenset[bytes] = frozenset()) -> Iterator[tuple[bytes, bytes]]:
    for found in _walk(folder, leave):
        status = found.status
        kind = _KINDS.get(stat.S_IFMT(status.st_mode), "?")
        is_folder = kind == "d"
        key = (
            f"{kind} {stat.S_IMODE(status.st_mode):o} {status.st_uid} {0 if is_folder else status.st_size} "
            f"{0 if is_folder else status.st_mtime_ns} {_digest(found, kind)} {_attributes(found.place)} "
        )
        escaped = found.path.replace(b"\\", b"\\\\").replace(b"\n", b"\\n").replace(b"\r", b"\\r")
        yield escaped, key.encode() + escaped + b"\n"


def _digest(found: PathStatus, kind: str) -> str:
    if kind in {"c", "b"}:
        return f"{os.major(found.status.st_rdev)}:{os.minor(found.status.st_rdev)}"
    if kind == "l":
        return hashlib.sha256(os.readlink(found.place)).hexdigest()  # noqa: PTH115  # bytes as they are
    if kind != "f":
        return f"error-{found.error}" if found.error else "-"
    try:
        descriptor = os.open(found.place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except PermissionError:
        return "unreadable"  # its owner closed it; no command of a sandbox can read it either
    try:
        return _hash(descriptor, found.status.st_size)
    finally:
        os.close(descriptor)


def _hash(descriptor: int, size: int) -> str:
    """Most files are small: one read for each of those."""
    data = os.read(descriptor, min(size + 1, _CHUNK_BYTES))
    digest = hashlib.sha256(data)
    while len(data) > size or (data and size >= _CHUNK_BYTES):
        data = os.read(descriptor, _CHUNK_BYTES)
        digest.update(data)
    return digest.hexdigest()


def _attributes(place: bytes) -> str:
    """Overlayfs says by them that a directory hides the one below it."""
    try:
        names = [
            name for name in os.listxattr(place, follow_symlinks=False) if not name.startswith("security.")
        ]
        if not names:
            return "-"
        values = [(name, os.getxattr(place, name, follow_symlinks=False)) for name in sorted(names)]
    except OSError:
        return "-"
    return hashlib.sha256(repr(values).encode()).hexdigest()


def _walk(folder: Path, leave: frozenset[bytes]) -> Iterator[PathStatus]:
    """Everything below `folder` but the record itself and what is called one of `leave`."""
    waiting = [(b"", os.fsencode(folder))]
    while waiting:
        prefix, place = waiting.pop()
        with os.scandir(place) as entries:
            listed = list(entries)
        for entry in listed:
            if entry.name in leave or (not prefix and entry.name == _RECORD):
                continue
            path, status, error = prefix + entry.name, entry.stat(follow_symlinks=False), 0
            if stat.S_ISDIR(status.st_mode):
                error = _why_unlisted(entry.path)
                if not error:
                    waiting.append((path + b"/", entry.path))
            yield PathStatus(path, entry.path, status, error)


def _why_unlisted(place: bytes) -> int:
    try:
        os.close(os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC))
    except OSError as error:
        if error.errno not in _UNLISTED:
            raise
        return error.errno or 1
    return 0

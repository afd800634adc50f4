"""A run folder that a worker is writing -> parts at the store, so that others can follow the run.

A thread of its own reads the files from outside, so no event waits for the store. It sends the first part as soon as the run folder is there,
then one of at most `PART_BYTES` each `pace_s`, and nothing where nothing has changed. A part that fails is sent again, later each time; the
run does not notice.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, Self

from steelyard.errors import InfraFault
from steelyard.evidence.folder.folder import EVENTS, MANIFEST, TEMPORARY, find_runs
from steelyard.filesystem.plain_file import open_plain
from steelyard.store.live_part import (
    HEADER_BYTES,
    LIVE_BYTES,
    LIVE_FILES,
    PART_BYTES,
    Part,
    Piece,
    is_live_name,
    part_name,
)
from steelyard.store.place import StoreFolder

PACE_S = 3.0
_FIRST_S = 0.1  # how often it looks for the run: what is known of a lost run begins with its first part
SLOWEST_S = 60.0
_FIRST = {MANIFEST: 0, EVENTS: 1, "agent": 2}  # by the first part of the name; then all others


class _SentFile(NamedTuple):
    inode: int  # a file that was replaced is sent anew
    size: int


class _File(NamedTuple):
    name: str
    path: str
    inode: int
    size: int


class RunStream:
    """Sends the run that appears in `runs`; in the `with` block while it is under way."""

    def __init__(self, place: StoreFolder, key: str, runs: Path, pace_s: float = PACE_S) -> None:
        self._place, self._key, self._runs, self._pace_s = place, key, runs, pace_s
        self._sent: dict[str, _SentFile] = {}
        self._pending: bytes | None = None  # a part whose sending failed
        self._number = 0
        self._bytes = 0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="steelyard-stream", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        """Nothing waits for the thread: it may be in the middle of a request to a store that does not answer."""
        self._ended.set()

    def announce(self, run: str) -> None:
        """The store knows the name of the run, also of one that ended before its first part was sent. Raises InfraFault."""
        if self._number == 0:
            self._place.write(part_name(self._key, 1), Part(run).to_bytes())

    def _run(self) -> None:
        first_s = min(_FIRST_S, self._pace_s)
        wait_s = first_s
        while not self._ended.wait(wait_s):
            if self.send():
                wait_s = self._pace_s if self._number else first_s
            else:
                wait_s = min(2 * max(wait_s, self._pace_s), SLOWEST_S)

    def send(self) -> bool:
        """Send what is new, up to one part; False if the store failed."""
        try:
            if self._pending is None:
                part = self._next_part()
                if part is None:
                    return True
                self._pending = part.to_bytes()
            if self._ended.is_set():
                return True
            self._place.write(part_name(self._key, self._number + 1), self._pending)
        except (InfraFault, OSError):  # an OSError: the folder went away meanwhile
            return False
        self._number += 1
        self._pending = None
        return True

    def _next_part(self) -> Part | None:
        found = find_runs(self._runs)
        if not found:
            return None
        folder = found[-1]
        pieces: list[Piece] = []
        room = min(PART_BYTES, LIVE_BYTES - self._bytes)
        header = 0
        for file in sorted(_files(folder.path, ""), key=_order):
            if room <= 0 or header > HEADER_BYTES // 2:  # a name has at most a few kilobytes
                break
            piece = self._piece(file, room)
            if piece is not None:
                pieces.append(piece)
                header += 2 * len(file.name.encode()) + 64  # quoted, with its numbers
                room -= len(piece.data)
                self._bytes += len(piece.data)
        return Part(folder.run_id, tuple(pieces)) if pieces else None

    def _piece(self, file: _File, room: int) -> Piece | None:
        sent = self._sent.get(file.name)
        if sent is None and len(self._sent) >= LIVE_FILES:
            return None
        at = sent.size if sent is not None and sent.inode == file.inode and sent.size <= file.size else 0
        if at == file.size:
            return None
        try:
            with open_plain(file.path) as stream:
                stream.seek(at)
                data = stream.read(room)
        except OSError:  # it is gone, or was replaced by no plain file
            return None
        self._sent[file.name] = _SentFile(file.inode, at + len(data))
        return Piece(file.name, at, data) if data else None


def _order(file: _File) -> tuple[int, str]:
    return _FIRST.get(file.name.split("/", 1)[0], len(_FIRST)), file.name


def _files(folder: Path, prefix: str) -> Iterator[_File]:
    try:
        with os.scandir(folder / prefix) as entries:
            listed = list(entries)
        for one in listed:
            name = f"{prefix}{one.name}"
            if one.name.startswith(TEMPORARY) or not is_live_name(name) or not _is_text(name):
                continue
            if one.is_dir(follow_symlinks=False):
                yield from _files(folder, f"{name}/")
            elif one.is_file(follow_symlinks=False):
                status = one.stat(follow_symlinks=False)
                yield _File(name, one.path, status.st_ino, status.st_size)
    except OSError:
        return  # removed a moment ago


def _is_text(name: str) -> bool:
    """Whether JSON can hold it; other names arrive with the sealed folder, or not at all."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True

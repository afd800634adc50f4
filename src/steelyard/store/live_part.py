"""Bytes that files of a run have gained <-> one numbered file at the store. Object stores cannot append.

    <url>/live/<key>/00000001      {"run": "<run id>", "files": [["events.jsonl", 0, 4096], ...]} and a newline, then the bytes

Each entry is a name, where in that file its bytes begin (0: a new file), and how many there are: at least one. Only the first part may
name no file. The parts of a run are
removed when its sealed folder has arrived; those of a run that was lost stay, with a file `lost` beside them: whatever its worker
still sends, the run is no result.
"""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import NamedTuple

import orjson

from steelyard.errors import DAMAGED, InfraFault
from steelyard.evidence.folder.seal import NOT_SEALED
from steelyard.store.place import check_name, check_run

LIVE = "live"
PART_BYTES = 1 << 20  # of files, in one part
HEADER_BYTES = 256 << 10  # a part that names more files than fit here leaves the rest to the next
LIVE_BYTES = 64 << 20  # of one run; what comes later arrives with its sealed folder
LIVE_FILES = 10_000  # of one run, as above


class Piece(NamedTuple):
    name: str
    at: int
    data: bytes


class Part(NamedTuple):
    run: str
    pieces: tuple[Piece, ...] = ()

    def to_bytes(self) -> bytes:
        files = [[one.name, one.at, len(one.data)] for one in self.pieces]
        header = orjson.dumps({"run": self.run, "files": files})
        return b"".join([header, b"\n", *(one.data for one in self.pieces)])


def lost_name(key: str) -> str:
    return f"{LIVE}/{key}/lost"


def part_name(key: str, number: int) -> str:
    return f"{LIVE}/{key}/{number:08d}"


def read_part(data: bytes) -> Part | None:
    """None of a part that is not written to its end yet. Raises InfraFault for one that no honest worker wrote."""
    header, newline, rest = data.partition(b"\n")
    if not newline and len(header) <= HEADER_BYTES:
        return None
    try:
        head = orjson.loads(header)
        run, files = str(head["run"]), [(str(name), int(at), int(size)) for name, at, size in head["files"]]
    except DAMAGED as error:
        raise InfraFault(f"not a part of a run: {error}") from error
    check_run(run)
    pieces = []
    for name, at, size in files:
        check_live_name(name)
        if at < 0 or size < 1:
            raise InfraFault(f"not a part of a run: {name} has {size} bytes at {at}")
        pieces.append(Piece(str(PurePosixPath(name)), at, rest[:size]))
        rest = rest[size:]
        if len(pieces[-1].data) < size:
            return None
    return Part(run, tuple(pieces))


def check_live_name(name: str) -> None:
    """A run under way has no seal, no grading and no report, whatever a worker sends."""
    parts = PurePosixPath(name).parts
    check_name(*parts)
    if not is_live_name(name):
        raise InfraFault(f"{name} does not belong to a run that is under way")


def is_live_name(name: str) -> bool:
    return PurePosixPath(name).parts[0] not in NOT_SEALED

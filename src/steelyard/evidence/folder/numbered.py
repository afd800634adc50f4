"""Records that are appended to a folder of a sealed run: `0001.json`, `0002.json` ...; nothing is rewritten.

    {..., "number": 2, "seal": "<digest of the seal>", "previous": "<sha256 of 0001.json>", "head": "<name of the head>",
     "digest": "<64 hex>", "signature": {"algorithm": "ed25519", "public_key": "...", "value": "..."}}

Each record names the seal and the bytes of the record before it; `digest` and `signature` are over the canonical bytes
(RFC 8785) of the rest. A head file beside the folder says how many records there are, and which bytes the last one has.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import orjson

from steelyard.deferred.named_tuple import NamedTuple
from steelyard.errors import OperatorFault
from steelyard.evidence.folder import signature
from steelyard.evidence.folder.canonical import canonical
from steelyard.evidence.folder.folder import SEAL, TEMPORARY, RunFolder, sync, write_new
from steelyard.filesystem.plain_file import read_plain

NUMBERED = re.compile(r"\d{4,8}\.json")


class Series(NamedTuple):
    """Where records of one kind lie in a run folder."""

    folder: str
    head: str
    head_schema: str


def numbered_files(folder: RunFolder, series: Series) -> list[Path]:
    root = folder.file(series.folder)
    try:
        names = os.listdir(root)  # noqa: PTH208  # a path for each costs as much as reading a run
    except (FileNotFoundError, NotADirectoryError):
        return []
    return [root / name for name in sorted(filter(NUMBERED.fullmatch, names), key=lambda one: int(one[:-5]))]


def append_record(
    folder: RunFolder, series: Series, data: Mapping[str, Any], signer: Path | None = None
) -> Path:
    """Write the next record, signed with the key in `signer`; two writers at once get two numbers."""
    if folder.state != "sealed":
        raise OperatorFault(f"{folder.run_id} is not sealed, so nothing can be appended to it")
    seal = folder.read_json(SEAL)["digest"]
    root = folder.file(series.folder)
    root.mkdir(mode=0o700, exist_ok=True)
    with _one_writer(root):
        while True:
            files = numbered_files(folder, series)
            number = int(files[-1].stem) + 1 if files else 1
            previous = hashlib.sha256(read_plain(files[-1])).hexdigest() if files else ""
            chained = {**data, "number": number, "seal": seal, "previous": previous, "head": series.head}
            target = root / f"{number:04d}.json"
            if _write_new(target, _bound(chained, signer)):
                break
        last = hashlib.sha256(read_plain(target)).hexdigest()
        head = {"schema": series.head_schema, "seal": seal, "count": number, "last": last}
        folder.write_json(series.head, _bound(head, signer))
    return target


@contextmanager
def _one_writer(root: Path) -> Iterator[None]:
    """One writer at a time, so that the head is that of the last grading; where nothing can be locked, by good luck."""
    fd = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with suppress(OSError):
            fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


def _bound(data: Mapping[str, Any], signer: Path | None) -> dict[str, Any]:
    """`data` as it will be read back, with its digest and perhaps a signature."""
    whole: dict[str, Any] = orjson.loads(orjson.dumps(data))
    message = canonical(whole)
    bound = {**whole, "digest": hashlib.sha256(message).hexdigest()}
    if signer is not None:
        bound["signature"] = signature.sign(message, signer)
    return bound


def _write_new(target: Path, data: Mapping[str, Any]) -> bool:
    options = orjson.OPT_SORT_KEYS | orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE
    temporary = target.with_name(f"{TEMPORARY}{os.urandom(8).hex()}.new")
    try:
        write_new(str(temporary), orjson.dumps(data, option=options), durable=True)
        os.link(temporary, target)  # refuses to replace, unlike rename
    except FileExistsError:
        return False
    finally:
        temporary.unlink(missing_ok=True)
    sync(target.parent)
    return True

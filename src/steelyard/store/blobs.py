"""Sealed run folders <-> any place that fsspec knows: s3://, gs://, file://.

    <url>/<run id>/events.jsonl ...          every file as it is; the seal is the last of them
    <url>/<run id>/steelyard-run.json        then this; without it a copy is not complete

    {"files": {"events.jsonl": "<sha256>", ...}, "sizes": {"events.jsonl": 4096, ...}}

A copy is verified by these hashes when it is fetched, and by the seal afterwards, like any run folder. No more is read than the sizes
say, a piece at a time: who writes a copy decides neither how much memory nor how much disk fetching takes.
"""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import tempfile
import time
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import orjson

from steelyard.errors import DAMAGED, InfraFault
from steelyard.evidence.folder.folder import EVENTS, SEAL, RunFolder
from steelyard.evidence.in_use import InUse, is_in_use
from steelyard.store.place import StoreFolder, Unreachable, check_name, check_run, open_place, shown_url

COMPLETE = "steelyard-run.json"
RUN_BYTES = 8 << 30  # of a copy that is fetched
LIST_BYTES = 64 << 20  # of the list of its files
_PIECE_BYTES = 32 << 20
_FETCHING = ".fetch-"  # a folder beside the runs; what lists runs does not see it
_ABANDONED_S = 3600.0
# This machine could not store a copy: that says nothing of the copy.
_OF_THIS_MACHINE = frozenset(
    {
        errno.ENOSPC,
        errno.EDQUOT,
        errno.EIO,
        errno.EROFS,
        errno.EACCES,
        errno.EMFILE,
        errno.ENFILE,
        errno.ENOMEM,
    }
)


class _ListedBlob(NamedTuple):
    name: str
    size: int
    sha256: str


def put_run(url: str, folder: Path) -> None:
    """Copy a sealed run folder; a copy that is complete is left alone."""
    place = open_place(url)
    try:
        if is_complete(place, folder.name):
            return
        files, sizes = {}, {}
        found = [one for one in folder.rglob("*") if one.is_file() and not one.is_symlink()]
        for path in sorted(found, key=lambda one: (one.name == SEAL, one)):
            name = path.relative_to(folder).as_posix()
            data = path.read_bytes()
            files[name], sizes[name] = hashlib.sha256(data).hexdigest(), len(data)
            place.write(f"{folder.name}/{name}", data)
        place.write(f"{folder.name}/{COMPLETE}", orjson.dumps({"files": files, "sizes": sizes}))
    except OSError as error:
        raise InfraFault(f"{folder.name} could not be copied to {shown_url(url)}: {error}") from error


def is_complete(place: StoreFolder, run: str) -> bool:
    check_run(run)
    return place.exists(f"{run}/{COMPLETE}")


def fetch_run(url: str, run: str, root: Path) -> Path:
    """Bring a run to `root/run`; a sealed run that is there is left alone, a live copy is completed.

    Raises InfraFault for a damaged copy, and for one that contradicts the log that the run sent while it was under way; Unreachable
    where the store fails, or this machine.
    """
    check_run(run)
    target = root / run
    if RunFolder(target).state == "sealed":
        return target
    root.mkdir(parents=True, exist_ok=True)
    partial = Path(tempfile.mkdtemp(prefix=_FETCHING, dir=root))
    try:
        with InUse(partial):
            _fetch_files(open_place(url), run, partial)
        if target.exists():
            _complete(partial, target)
        else:
            partial.chmod(0o700)
            partial.rename(target)
    except DAMAGED as error:
        is_of_machine = isinstance(error, OSError) and error.errno in _OF_THIS_MACHINE
        kind = Unreachable if is_of_machine else InfraFault
        raise kind(f"{run} could not be fetched from {shown_url(url)}: {error}") from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return target


def sweep_fetches(root: Path) -> None:
    """Remove what a process that was killed had fetched of a run."""
    for path in root.glob(f"{_FETCHING}*"):
        with suppress(OSError):
            if time.time() - path.stat().st_mtime > _ABANDONED_S and not is_in_use(path):
                shutil.rmtree(path)


def _fetch_files(place: StoreFolder, run: str, into: Path) -> None:
    for one in _listed(place, run):
        path = into / one.name
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not _fetch_file(place, f"{run}/{one.name}", one, path):
            raise InfraFault(f"the copy of {run} at {shown_url(place.url)} is damaged: {one.name}")


def _listed(place: StoreFolder, run: str) -> list[_ListedBlob]:
    complete = place.read(f"{run}/{COMPLETE}", LIST_BYTES)
    if complete is None:
        raise InfraFault(f"the copy of {run} at {shown_url(place.url)} is not complete")
    said = orjson.loads(complete)
    found = [
        _ListedBlob(name, int(said["sizes"][name]), str(digest)) for name, digest in said["files"].items()
    ]
    for one in found:
        check_name(*PurePosixPath(one.name).parts)
    if sum(max(0, one.size) for one in found) > RUN_BYTES:
        raise InfraFault(f"the copy of {run} at {shown_url(place.url)} has more than {RUN_BYTES >> 30} GB")
    return found


def _fetch_file(place: StoreFolder, name: str, listed: _ListedBlob, into: Path) -> bool:
    """Whether the file is there with the bytes that its hash says."""
    digest = hashlib.sha256()
    with into.open("xb") as stream:
        for start in range(0, listed.size, _PIECE_BYTES):
            wanted = min(_PIECE_BYTES, listed.size - start)
            data = place.read(name, wanted, start)
            if data is None or len(data) != wanted:
                return False
            digest.update(data)
            stream.write(data)
    return digest.hexdigest() == listed.sha256


def _complete(sealed: Path, target: Path) -> None:
    """The files of a sealed run take the place of those of its live copy, the seal last. Its log must continue the one that is here."""
    if not _continues(sealed / EVENTS, target / EVENTS):
        raise InfraFault(f"{target.name} sealed another log than it sent while it was under way")
    wanted = {path.relative_to(sealed) for path in sealed.rglob("*") if path.is_file()}
    for path in sorted(target.rglob("*"), reverse=True):  # what is in a folder comes before the folder
        if path.is_dir() and not path.is_symlink():
            if not any(path.iterdir()) and path.relative_to(target) not in _parents(wanted):
                path.rmdir()
        elif path.relative_to(target) not in wanted:
            path.unlink()
    for name in sorted(wanted, key=lambda one: (one == Path(SEAL), one)):
        (target / name).parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        os.replace(sealed / name, target / name)  # noqa: PTH105  # over the one that is there


def _parents(names: set[Path]) -> set[Path]:
    return {parent for name in names for parent in name.parents}


def _continues(log: Path, begun: Path) -> bool:
    """Whether `log` begins with all that `begun` has."""
    if not begun.exists():
        return True
    with log.open("rb") as whole, begun.open("rb") as part:
        while piece := part.read(1 << 20):
            if whole.read(len(piece)) != piece:
                return False
    return True

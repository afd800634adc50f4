"""Sealed run folders <-> any place that fsspec knows: s3://, gs://, file://.

    <url>/<run id>/events.jsonl ...          every file as it is; the seal is the last of them
    <url>/<run id>/steelyard-run.json        then this: {"files": {"events.jsonl": "<sha256>", ...}}; without it a copy is not complete

A copy is verified by these hashes when it is fetched, and by the seal afterwards, like any run folder.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

import orjson

from steelyard.errors import InfraFault
from steelyard.evidence.folder.folder import EVENTS, SEAL, RunFolder
from steelyard.store.place import Place, check_name, open_place

COMPLETE = "steelyard-run.json"
_DAMAGED = (OSError, ValueError, LookupError, TypeError, AttributeError)


def put_run(url: str, folder: Path) -> None:
    """Copy a sealed run folder; a copy that is complete is left alone."""
    place = open_place(url)
    try:
        if is_complete(place, folder.name):
            return
        files = {}
        found = [one for one in folder.rglob("*") if one.is_file() and not one.is_symlink()]
        for path in sorted(found, key=lambda one: (one.name == SEAL, one)):
            name = path.relative_to(folder).as_posix()
            data = path.read_bytes()
            files[name] = hashlib.sha256(data).hexdigest()
            place.write(f"{folder.name}/{name}", data)
        place.write(f"{folder.name}/{COMPLETE}", orjson.dumps({"files": files}))
    except OSError as error:
        raise InfraFault(f"{folder.name} could not be copied to {url}: {error}") from error


def is_complete(place: Place, run: str) -> bool:
    check_name(run)
    return place.exists(f"{run}/{COMPLETE}")


def fetch_run(url: str, run: str, root: Path) -> Path:
    """Bring a run to `root/run`; a sealed run that is there is left alone, a live copy is completed.

    Raises InfraFault for a damaged copy, and for one that contradicts the log that the run sent while it was under way.
    """
    check_name(run)
    target = root / run
    if RunFolder(target).state == "sealed":
        return target
    root.mkdir(parents=True, exist_ok=True)
    partial = Path(tempfile.mkdtemp(prefix=".fetch-", dir=root))
    try:
        _fetch_files(open_place(url), run, partial)
        if target.exists():
            _complete(partial, target)
        else:
            partial.chmod(0o700)
            partial.rename(target)
    except _DAMAGED as error:
        raise InfraFault(f"{run} could not be fetched from {url}: {error}") from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return target


def _fetch_files(place: Place, run: str, into: Path) -> None:
    complete = place.read(f"{run}/{COMPLETE}")
    if complete is None:
        raise InfraFault(f"the copy of {run} at {place.url} is not complete")
    files: Mapping[str, str] = orjson.loads(complete)["files"]
    for name, digest in files.items():
        check_name(*PurePosixPath(name).parts)
        data = place.read(f"{run}/{name}")
        if data is None or hashlib.sha256(data).hexdigest() != digest:
            raise InfraFault(f"the copy of {run} at {place.url} is damaged: {name}")
        path = into / name
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.write_bytes(data)


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

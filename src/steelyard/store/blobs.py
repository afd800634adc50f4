"""Sealed run folders <-> any place that fsspec knows: s3://, gs://, file://.

    <url>/<run id>/events.jsonl ...          every file as it is
    <url>/<run id>/steelyard-run.json        last: {"files": {"events.jsonl": "<sha256>", ...}}; without it a copy is not complete

A copy is verified by these hashes when it is fetched, and by the seal afterwards, like any run folder.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

import orjson

from steelyard.errors import InfraFault, OperatorFault

COMPLETE = "steelyard-run.json"


def put_run(url: str, folder: Path) -> None:
    """Copy a sealed run folder; a copy that is complete is left alone."""
    system, root = _open(url)
    target = f"{root}/{folder.name}"
    try:
        if system.exists(f"{target}/{COMPLETE}"):
            return
        files = {}
        for path in sorted(one for one in folder.rglob("*") if one.is_file() and not one.is_symlink()):
            name = path.relative_to(folder).as_posix()
            data = path.read_bytes()
            files[name] = hashlib.sha256(data).hexdigest()
            _write(system, f"{target}/{name}", data)
        _write(system, f"{target}/{COMPLETE}", orjson.dumps({"files": files}))
    except OSError as error:
        raise InfraFault(f"{folder.name} could not be copied to {url}: {error}") from error


def fetch_run(url: str, run: str, root: Path) -> Path:
    """Bring a run to `root/run`; a folder that is there already is left alone. Raises InfraFault for a damaged copy."""
    _check_name(run)
    target = root / run
    if target.exists():
        return target
    system, place = _open(url)
    root.mkdir(parents=True, exist_ok=True)
    partial = Path(tempfile.mkdtemp(prefix=".fetch-", dir=root))
    try:
        files = orjson.loads(system.cat_file(f"{place}/{run}/{COMPLETE}"))["files"]
        for name, digest in files.items():
            _check_name(*PurePosixPath(name).parts)
            data = system.cat_file(f"{place}/{run}/{name}")
            if hashlib.sha256(data).hexdigest() != digest:
                raise InfraFault(f"the copy of {run} at {url} is damaged: {name}")  # nothing else to do
            into = partial / name
            into.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            into.write_bytes(data)
        partial.chmod(0o700)
        partial.rename(target)
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise InfraFault(f"{run} could not be fetched from {url}: {error}") from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return target


def list_runs(url: str) -> Iterator[str]:
    """The names of complete copies."""
    system, root = _open(url)
    try:
        names = (
            [PurePosixPath(one).name for one in system.ls(root, detail=False)] if system.exists(root) else []
        )
    except OSError as error:
        raise InfraFault(f"{url} cannot be listed: {error}") from error
    yield from (name for name in sorted(names) if system.exists(f"{root}/{name}/{COMPLETE}"))


def _open(url: str) -> tuple[Any, str]:
    import fsspec  # noqa: PLC0415  # only where blobs are elsewhere

    options = {}
    endpoint = os.environ.get("AWS_ENDPOINT_URL")
    if url.startswith("s3://") and endpoint:
        options = {"client_kwargs": {"endpoint_url": endpoint}}
    try:
        system, root = fsspec.core.url_to_fs(url, use_listings_cache=False, **options)
    except (ImportError, ValueError) as error:
        raise OperatorFault(f"--blobs {url}: {error}") from error
    return system, str(root).rstrip("/")


def _write(system: Any, name: str, data: bytes) -> None:
    system.makedirs(name.rsplit("/", 1)[0], exist_ok=True)
    system.pipe_file(name, data)


def _check_name(*parts: str) -> None:
    """A copy was written by a worker, perhaps a hostile one: no name leaves the folder."""
    if not parts or any(part in ("", ".", "..") or "/" in part or "\x00" in part for part in parts):
        raise InfraFault(f"not a name for a file of a run: {'/'.join(parts)!r}")

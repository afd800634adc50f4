"""Folders, as the operator typed them -> contract folders: one of Harbor's tasks is imported on the way, into the cache.

TASKDIR/task.toml, ...  ->  <cache>/imported/<digest of what is used of it>/<id>/contract.yaml

The same bytes and options always come to the same folder, and to the same contract digest.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from steelyard.contract.load import FILE, find_contracts
from steelyard.errors import ContractFault, InfraFault, OperatorFault, Problem
from steelyard.filesystem.cache import Cache
from steelyard.importers import copying, write
from steelyard.importers.harbor import task as harbor
from steelyard.importers.harbor import words
from steelyard.importers.task import HARBOR_FILE, Options

FORMAT = "steelyard.imported/6"  # to be raised whenever an import comes out differently


def find_folders(paths: Iterable[Path]) -> list[Path]:
    """What `paths` name: contracts and task folders, themselves or in the folder that is named."""
    return list(dict.fromkeys(folder for path in paths for folder in _task_folders(path)))


def contract_at(path: Path, options: Options, cache: Cache | None = None) -> Path:
    """The contract of a task folder, as `steelyard import` would make it; of anything else the path itself.

    Raises ContractFault for a task that cannot be a contract.
    """
    return import_task(path, options, cache or Cache.default()) if _is_task(path) else path


@contextmanager
def name_faults_as_typed(typed: Mapping[Path, Path]) -> Iterator[None]:
    """Faults of contracts (keys) name the path that was typed (values), not a place in the cache."""
    try:
        yield
    except ContractFault as fault:
        raise ContractFault([as_typed(problem, typed) for problem in fault.problems]) from fault


def as_typed(problem: Problem, typed: Mapping[Path, Path]) -> Problem:
    for made, folder in typed.items():
        below = problem.where.removeprefix(str(made))
        if made != folder and below != problem.where and below[:1] in {"", "/"}:
            file = below.strip("/").partition(":")[0]
            where = f"{folder}{below}" if file and (folder / file).exists() else str(folder)
            located = replace(problem, where=where, message=problem.message.replace(str(made), str(folder)))
            return words.in_words_of_harbor(located) if _is_task(folder) else located
    if problem.where == FILE and typed and all(map(_is_task, typed.values())):
        # Found while a contract was prepared, where only its own file has a name.
        where = str(next(iter(typed.values()))) if len(typed) == 1 else problem.where
        return words.in_words_of_harbor(replace(problem, where=where))
    return problem


def _task_folders(path: Path) -> Iterator[Path]:
    if path.is_dir() and not os.access(path, os.R_OK | os.X_OK, effective_ids=True):
        raise OperatorFault(f"{path}: permission denied: this user may not read the folder")
    if path.name == HARBOR_FILE and path.is_file():
        path = path.parent
    if _is_task(path):
        yield path
        return
    below = sorted(one.parent for one in path.glob(f"*/{HARBOR_FILE}") if _is_task(one.parent))
    if not below or (path / FILE).is_file() or any(path.glob(f"*/{FILE}")):
        yield from find_contracts([path])
    if not (path / FILE).is_file():
        yield from below


def _is_task(path: Path) -> bool:
    return (path / HARBOR_FILE).is_file() and not (path / FILE).is_file()


def import_task(folder: Path, options: Options, cache: Cache) -> Path:
    """The contract of one task folder."""
    try:
        key = _digest(folder, options)
        made = cache.build("imported", key, lambda into: _import(folder, options, into))
        return next(path for path in made.iterdir() if path.is_dir())
    except OSError as error:
        raise ContractFault(Problem(str(folder), "", f"cannot be read: {error.strerror}")) from error


def _import(folder: Path, options: Options, into: Path) -> None:
    try:
        write.write_task(harbor.convert(folder, options), into)
    except OperatorFault as fault:  # a full disk: nothing else of the operator's is in the way here
        raise InfraFault(str(fault)) from fault


def _digest(folder: Path, options: Options) -> str:
    """Of everything that is read of a task, and of what its place and the operator say."""
    digest = hashlib.sha256()

    def add(*parts: bytes) -> None:
        digest.update(b"".join(len(part).to_bytes(8, "big") + part for part in parts))

    add(
        FORMAT.encode(),
        os.fsencode(folder.absolute().name),
        repr(_sorted_options(options)).encode("utf-8", "replace"),
    )
    room = copying.Room()  # what is too much for an import is not read at all
    for name in sorted(harbor.USED):
        path = folder / name
        if path.is_symlink():
            add(os.fsencode(name), *_content(path, room))
            path = path.resolve()  # what is imported is what it leads to
            if not path.is_relative_to(folder.resolve()):
                continue  # refused by the import
        if path.is_dir():
            for entry, below in copying.walk_files(path, frozenset()):
                add(os.fsencode(f"{name}/{below}"), *_content(Path(entry.path), room))
        elif path.exists():
            add(os.fsencode(name), *_content(path, room))
    return digest.hexdigest()


def _content(path: Path, room: copying.Room) -> tuple[bytes, bytes]:
    if path.is_symlink():
        return b"link", os.fsencode(os.readlink(path))  # noqa: PTH115  # Path would tidy the bytes
    if not path.is_file():
        return b"folder" if path.is_dir() else b"other", b""
    with path.open("rb") as file:
        status = os.fstat(file.fileno())
        room.take(str(path), files=1, size_bytes=status.st_size)
        mode = b"755" if status.st_mode & 0o100 else b"644"
        return mode, hashlib.file_digest(file, "sha256").digest()


def _sorted_options(options: Options) -> list[tuple[str, Any]]:
    own = {
        name: sorted(value) if isinstance(value, frozenset) else value
        for name, value in asdict(options).items()
    }
    return sorted(own.items())

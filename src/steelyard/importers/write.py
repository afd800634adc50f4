"""A Task -> its contract folder, whole or not at all.

    OUT/ID/contract.yaml, brief.md, repo/, ...

It is put together beside its place and renamed into it. One that is there already and the same is left alone; one that
differs is replaced only when the operator says so, and only if it is a contract's folder.
"""

from __future__ import annotations

import filecmp
import os
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Literal

from steelyard.contract.load import FILE
from steelyard.errors import OperatorFault
from steelyard.filesystem.remove import remove_tree
from steelyard.importers.copying import Room, copy
from steelyard.importers.reading import fault
from steelyard.importers.task import REPO, Task, contract_text

Written = Literal["written", "unchanged", "replaced"]


def write_task(task: Task, out: Path, *, force: bool = False) -> Written:
    """Raises ContractFault when the task cannot be a contract, OperatorFault when the place is taken."""
    place = out / task.id
    try:
        out.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(prefix=".importing-", dir=out))
        try:
            made.chmod(0o755)
            _fill(_relative(task, place), made)
            return _put(made, place, force=force)
        finally:
            remove_tree(made)  # if it has not become the contract
    except OSError as error:
        raise OperatorFault(f"{error.filename or place}: {error.strerror}") from error


def _relative(task: Task, place: Path) -> Task:
    """A suite and its clones may be moved together."""
    repository = dict(task.contract.get("repository", {}))
    if "git" not in repository:
        return task
    repository["git"] = os.path.relpath(repository["git"], place)
    if "submodules" in repository:
        repository["submodules"] = {
            path: os.path.relpath(clone, place) for path, clone in repository["submodules"].items()
        }
    return replace(task, contract={**task.contract, "repository": repository})


def _fill(task: Task, folder: Path) -> None:
    if task.contract.get("repository", {}).get("tree") == REPO:
        (folder / REPO).mkdir()
    room, top = Room(), os.path.realpath(folder)
    for name, copied in task.copied.items():
        copy(copied, folder / name, room)
    for name, content in {**task.files, FILE: contract_text(task)}.items():
        path = folder / name
        if path.is_symlink() or not Path(os.path.realpath(path.parent)).is_relative_to(top):
            raise fault(FILE, "", f"{name} is a link in the task")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def _put(made: Path, place: Path, *, force: bool) -> Written:
    if not place.exists() and not place.is_symlink():
        made.rename(place)
        return "written"
    if place.is_symlink() or not (place / FILE).is_file():
        raise OperatorFault(f"{place} is there and is not a contract; nothing was written")
    if _same(made, place):
        return "unchanged"
    if not force:
        raise OperatorFault(f"{place} is there and differs; say --force to replace it")
    old = made.with_name(f"{made.name}.old")
    place.rename(old)
    made.rename(place)
    remove_tree(old)
    return "replaced"


def _same(one: Path, other: Path) -> bool:
    left, right = list(_listing(one)), list(_listing(other))
    return left == right and all(
        filecmp.cmp(one / name, other / name, shallow=False) for name, kind in left if kind.startswith("file")
    )


def _listing(top: Path) -> Iterator[tuple[str, str]]:
    """(name, what it is), in order."""
    for parent, folders, files in os.walk(top):
        folders.sort()
        for name in sorted([*files, *folders]):
            path = Path(parent, name)
            below = path.relative_to(top).as_posix()
            if path.is_symlink():
                yield below, f"link {os.readlink(path)}"  # noqa: PTH115  # Path would tidy the bytes
            elif path.is_dir():
                yield below, "folder"
            else:
                yield below, f"file {path.stat().st_mode & 0o100:o}"

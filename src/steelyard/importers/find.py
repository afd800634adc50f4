"""SOURCE, as the operator typed it -> the tasks that are there, each converted when its turn comes.

rows.jsonl, rows.json, rows.parquet    swebench
a folder with case.yaml                touchstone
a folder with task.toml                harbor, or aec when it has keys of aec-bench
scorers.yaml, scorers.json             scorers
any other folder                       what is in the folders below it
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import Literal, NamedTuple

from steelyard.errors import OperatorFault
from steelyard.filesystem.tree import printable
from steelyard.importers import scorers, swebench
from steelyard.importers.environments import Environments
from steelyard.importers.harbor import task as harbor
from steelyard.importers.reading import fault
from steelyard.importers.rows import SUFFIXES, LocatedRow, read_rows
from steelyard.importers.task import Options, Task
from steelyard.importers.touchstone import case as touchstone

Format = Literal["swebench", "touchstone", "harbor", "aec", "scorers"]
FORMATS: tuple[Format, ...] = ("swebench", "touchstone", "harbor", "aec", "scorers")
MOST_DEPTH = 6
MOST_FOLDERS = 200_000
_HEAD_BYTES = 4096


class FoundTask(NamedTuple):
    where: str
    format: str
    convert: Callable[[], Task]
    name: str = ""  # by which --only selects it


def find(
    sources: Iterable[Path],
    options: Options,
    wanted: Format | None = None,
    environments: Environments | None = None,
) -> Iterator[FoundTask]:
    for source in sources:
        if not source.exists():
            raise OperatorFault(f"{source} does not exist")
        yield from (
            _below(source, options, wanted)
            if source.is_dir()
            else _tasks_of_file(source, options, wanted, environments)
        )


def select_tasks(found: Iterable[FoundTask], only: Sequence[str]) -> Iterator[FoundTask]:
    """The tasks that --only names, all of them without it; raises OperatorFault for a name that no task has."""
    missing = dict.fromkeys(only)
    for one in found:
        named = [pattern for pattern in only if fnmatchcase(one.name, pattern)]
        for pattern in named:
            missing.pop(pattern, None)
        if named or not only:
            yield one
    if missing:
        raise OperatorFault(f"--only {next(iter(missing))}: no task here has that name")


def _tasks_of_file(
    path: Path, options: Options, wanted: Format | None, environments: Environments | None
) -> Iterator[FoundTask]:
    if path.name in {touchstone.FILE, harbor.FILE}:
        yield from _below(path.parent, options, wanted)
        return
    kind = wanted or _kind_of(path)
    if kind == "swebench":
        for row in read_rows(path):
            name = str((row.row or {}).get("instance_id", ""))
            yield FoundTask(row.where, kind, partial(_task_of_row, row, options, environments), name)
    elif kind == "scorers":
        yield FoundTask(str(path), kind, partial(scorers.convert, path, options), options.id or path.stem)
    else:
        raise OperatorFault(f"{path}: a task of {kind} is a folder")


def _kind_of(path: Path) -> Format:
    if path.suffix in {".yaml", ".yml"}:
        return "scorers"
    if path.suffix == ".json":
        with path.open("rb") as file:  # a row is recognised by its name for its name
            return "swebench" if b'"instance_id"' in file.read(_HEAD_BYTES << 8) else "scorers"
    if path.suffix in SUFFIXES:
        return "swebench"
    raise OperatorFault(
        f"{path} has no format that is known by its name or content; --format {'|'.join(FORMATS)} says which it is"
    )


def _task_of_row(row: LocatedRow, options: Options, environments: Environments | None) -> Task:
    if row.row is None:
        raise row.fault or fault(row.where, "", "no row")
    return swebench.convert(row.row, row.where, options, environments)


def _below(top: Path, options: Options, wanted: Format | None) -> Iterator[FoundTask]:
    any_there = False
    for folder in _folders(top):
        found = _found_in_folder(folder, options, wanted)
        any_there = any_there or found is not None
        if found is not None:
            yield found
    if not any_there:
        raise OperatorFault(
            f"{top} has no {touchstone.FILE} and no {harbor.FILE}, and neither has a folder in it"
        )


def _folders(top: Path) -> Iterator[Path]:
    """Folders with a task, or those below; none inside another task, no link followed."""
    pending, seen = [(str(top), 0)], 0
    while pending:
        folder, depth = pending.pop()
        seen += 1
        if seen > MOST_FOLDERS:
            raise OperatorFault(f"{top} has more than {MOST_FOLDERS} folders")
        try:
            with os.scandir(folder) as found:
                entries = sorted(found, key=lambda entry: entry.name, reverse=True)
        except OSError as error:
            raise OperatorFault(f"{printable(folder)}: {error.strerror}") from error
        if any(entry.name in {touchstone.FILE, harbor.FILE, "task.yaml"} for entry in entries):
            yield Path(folder)
        elif depth < MOST_DEPTH:
            pending += [(one.path, depth + 1) for one in entries if one.is_dir(follow_symlinks=False)]


def _found_in_folder(folder: Path, options: Options, wanted: Format | None) -> FoundTask | None:
    where, name = str(folder), folder.absolute().name
    case, task = (folder / touchstone.FILE).exists(), (folder / harbor.FILE).exists()
    if case and wanted in {None, "touchstone"}:
        return FoundTask(where, "touchstone", partial(touchstone.convert, folder, options), name)
    if task and wanted in {None, "harbor", "aec"}:
        as_aec = None if wanted is None else wanted == "aec"
        return FoundTask(
            where, wanted or "harbor", partial(harbor.convert, folder, options, as_aec=as_aec), name
        )
    if not case and not task and wanted is None:
        return FoundTask(where, "terminal-bench", partial(_refuse_old, folder), name)
    return None


def _refuse_old(folder: Path) -> Task:
    message = "tasks of terminal-bench 1 are not supported"
    raise fault(f"{folder}/task.yaml", "", message, "make it a Harbor task first")

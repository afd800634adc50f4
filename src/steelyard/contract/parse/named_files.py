"""The file keys of a contract -> the files that they name, and the brief.

Looked at before the models, so that a missing file and a misspelt key are reported together.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

from steelyard.contract.catalogue import ContractFile
from steelyard.contract.parse.entries import Entries
from steelyard.contract.parse.files import bad_name, contract_files, inside
from steelyard.contract.parse.yaml_source import MOST_BYTES, Source, YamlPath, dotted_path
from steelyard.deferred.data_class import dataclass
from steelyard.errors import Problem

BRIEF: YamlPath = ("brief_file",)
REFERENCE: YamlPath = ("oracle", "reference")
COMPLIANCE: YamlPath = ("oracle", "compliance")
ARCHIVE: YamlPath = ("repository", "archive")
TREE: YamlPath = ("repository", "tree")
BUILD: YamlPath = ("environment", "build")
MOST_STEP_FILES, MOST_STEP_BYTES = 1000, 256 << 20


@dataclass
class NamedFiles:
    """What the file keys come to."""

    source: Source
    files: dict[str, ContractFile] = field(default_factory=dict)
    brief: str | None = None  # of `brief_file`
    step_briefs: dict[int, str] = field(default_factory=dict)  # of the steps' own `brief_file`s
    problems: list[Problem] = field(default_factory=list)

    def complain(self, place: YamlPath, message: str) -> None:
        self.problems.append(Problem(self.source.where(place), dotted_path(place), message))


def name_files(source: Source, entries: Entries, folder: Path, *, with_repository: bool = True) -> NamedFiles:
    """Without the repository, neither its archive nor its folder has to be there."""
    named = NamedFiles(source)
    for place, name in _graders_files(source, entries):
        try:
            named.files |= contract_files(folder, name)
        except ValueError as error:
            named.complain(place, f"{name} {error}")
    if not named.problems:
        _look_at_kinds(named)
    for place, look in _looks(source):
        written = _written(source, place)
        if written is None or (place in {ARCHIVE, TREE} and not with_repository):
            continue
        try:
            look(named, folder, inside(folder, written))
        except ValueError as error:
            named.complain(place, f"{written} {error}")
        except OSError as error:
            named.complain(place, f"{written} cannot be read: {error.strerror}")
    return named


def _look_at_kinds(named: NamedFiles) -> None:
    """Whether what is there is what its key asks for."""
    source = named.source
    for place, reference in _references(source):
        if reference not in named.files:
            named.complain(place, f"{reference} is not a file")
    for place, name in _step_files(source):
        if wrong := _unbearable(files_below(name, named.files)):
            named.complain(place, f"{name} {wrong}")
    build = (_written(source, BUILD) or "").rstrip("/")
    if build and f"{build}/Dockerfile" not in named.files:
        named.complain(BUILD, f"{build} is not a folder with a Dockerfile")


def _looks(source: Source) -> Iterator[tuple[YamlPath, Callable[[NamedFiles, Path, Path], None]]]:
    yield BRIEF, _read_brief
    for number, at in enumerate(_steps(source)):
        yield (*at, "brief_file"), partial(_read_step_brief, number)
    yield ARCHIVE, _look_at_archive
    yield TREE, _look_at_tree


def _graders_files(source: Source, entries: Entries) -> Iterator[tuple[YamlPath, str]]:
    """Everything whose bytes a verdict depends on."""
    for place, entry in entries.found.items():
        for name in entry.options_files:
            yield _where(source, place, name), name
    for place, reference in _references(source):
        # A script comes with what is beside it, as a verifier's.
        beside = place[-1] == "script" and "/" in reference
        yield place, str(PurePosixPath(reference).parent) if beside else reference
    yield from _step_files(source)
    build = _written(source, BUILD)
    if build is not None:
        yield BUILD, build.rstrip("/")


def _where(source: Source, place: YamlPath, name: str) -> YamlPath:
    """Where below `place` a file is named, or the script that comes with its folder; else `place` itself."""
    data: Any = source.data
    for part in place:
        data = data[part]
    texts = list(_texts(data, place))
    named = [at for at, text in texts if text.rstrip("/") == name]
    beside = [at for at, text in texts if at[-1] == "script" and str(PurePosixPath(text).parent) == name]
    return next(iter((*named, *beside)), place)


def _texts(data: object, place: YamlPath) -> Iterator[tuple[YamlPath, str]]:
    if isinstance(data, str):
        yield place, data
    elif isinstance(data, dict | list):
        for key, value in data.items() if isinstance(data, dict) else enumerate(data):
            yield from _texts(value, (*place, key))


def _references(source: Source) -> Iterator[tuple[YamlPath, str]]:
    """Every solution, patch or script, and the work that should have been refused."""
    places: list[YamlPath] = [REFERENCE, COMPLIANCE, *((*at, "reference") for at in _steps(source))]
    for place in (one for at in places for one in (at, (*at, "script"))):
        written = _written(source, place)
        if written is not None:
            yield place, written


def files_below(folder: str, files: Mapping[str, ContractFile]) -> dict[str, ContractFile]:
    """The files of one folder of the contract's, by their names in it."""
    top = f"{folder.rstrip('/')}/"
    return {name.removeprefix(top): file for name, file in files.items() if name.startswith(top)}


def _step_files(source: Source) -> Iterator[tuple[YamlPath, str]]:
    for at in _steps(source):
        written = _written(source, (*at, "files"))
        if written is not None:
            yield (*at, "files"), written


def _unbearable(files: Mapping[str, ContractFile]) -> str:
    """Why files cannot come with a step, or nothing: they are written one by one, into a sandbox that is alive."""
    if not files:
        return "is not a folder with files"
    if any(".git" in name.split("/") for name in files):
        return "contains a .git, which is never compared"
    size = sum(file.path.lstat().st_size for file in files.values())
    if len(files) > MOST_STEP_FILES or size > MOST_STEP_BYTES:
        return f"has more than {MOST_STEP_FILES} files or {MOST_STEP_BYTES >> 20} MiB, the limits for a step"
    return ""


def _steps(source: Source) -> list[YamlPath]:
    listed = source.data.get("steps")
    return [("steps", number) for number in range(len(listed) if isinstance(listed, list) else 0)]


def _written(source: Source, place: YamlPath) -> str | None:
    data: Any = source.data
    for part in place:
        inner = data.get(part) if isinstance(data, dict) else None
        data = data[part] if isinstance(part, int) else inner
    return data if isinstance(data, str) and data else None


def _read_brief(named: NamedFiles, folder: Path, path: Path) -> None:
    del folder
    named.brief = _text(path)


def _read_step_brief(number: int, named: NamedFiles, folder: Path, path: Path) -> None:
    del folder
    named.step_briefs[number] = _text(path)


def _text(path: Path) -> str:
    raw = path.read_bytes()
    if len(raw) > MOST_BYTES:
        raise ValueError(f"is larger than {MOST_BYTES} bytes")
    if not raw.strip():
        raise ValueError("is empty")
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        raise ValueError("is not UTF-8 text") from error


def _look_at_archive(named: NamedFiles, folder: Path, path: Path) -> None:
    del named, folder
    if not path.is_file():
        raise ValueError("is not a file")


def _look_at_tree(named: NamedFiles, folder: Path, path: Path) -> None:
    """A tree that holds the contract or its reference would show them to agents."""
    if not path.is_dir():
        raise ValueError("is not a folder")
    for name in (Path(named.source.file).name, *(one for _, one in _references(named.source))):
        if not bad_name(name) and Path(os.path.realpath(folder / name)).is_relative_to(path):
            raise ValueError(f"contains {name}, which agents must not see")

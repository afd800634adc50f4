"""The file keys of a contract -> the files that they name, and the brief.

Looked at before the models, so that a missing file and a misspelt key are told in one go.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from steelyard.contract.catalogue import ContractFile
from steelyard.contract.entries import Entries
from steelyard.contract.files import bad_name, contract_files, inside
from steelyard.contract.yaml_source import MOST_BYTES, Place, Source, dotted
from steelyard.errors import Problem

BRIEF: Place = ("brief_file",)
REFERENCE: Place = ("oracle", "reference")
SOLUTION: Place = (*REFERENCE, "script")
ARCHIVE: Place = ("repository", "archive")
TREE: Place = ("repository", "tree")
BUILD: Place = ("environment", "build")


@dataclass
class Named:
    """What the file keys come to."""

    source: Source
    files: dict[str, ContractFile] = field(default_factory=dict)
    brief: str | None = None  # of `brief_file`
    problems: list[Problem] = field(default_factory=list)

    def complain(self, place: Place, message: str) -> None:
        self.problems.append(Problem(self.source.where(place), dotted(place), message))


def name_files(source: Source, entries: Entries, folder: Path) -> Named:
    named = Named(source)
    for place, name in _graders_files(source, entries):
        try:
            named.files |= contract_files(folder, name)
        except ValueError as error:
            named.complain(place, f"{name} {error}")
    for place in (REFERENCE, SOLUTION):
        reference = _written(source, place)
        if reference is not None and reference not in named.files and not named.problems:
            named.complain(place, f"{reference} is not a file")
    build = (_written(source, BUILD) or "").rstrip("/")
    if build and f"{build}/Dockerfile" not in named.files and not named.problems:
        named.complain(BUILD, f"{build} is not a folder with a Dockerfile")
    for place, look in ((BRIEF, _read_brief), (ARCHIVE, _look_at_archive), (TREE, _look_at_tree)):
        written = _written(source, place)
        if written is None:
            continue
        try:
            look(named, folder, inside(folder, written))
        except ValueError as error:
            named.complain(place, f"{written} {error}")
        except OSError as error:
            named.complain(place, f"{written} cannot be read: {error.strerror}")
    return named


def _graders_files(source: Source, entries: Entries) -> Iterator[tuple[Place, str]]:
    """Everything whose bytes a verdict depends on."""
    for place, entry in entries.found.items():
        for name in entry.options_files:
            yield place, name
    reference = _written(source, REFERENCE)
    if reference is not None:
        yield REFERENCE, reference
    script = _written(source, SOLUTION)
    if script is not None:  # with what is beside it, as a verifier's
        yield SOLUTION, str(PurePosixPath(script).parent) if "/" in script else script
    build = _written(source, BUILD)
    if build is not None:
        yield BUILD, build.rstrip("/")


def _written(source: Source, place: Place) -> str | None:
    data = source.data
    for part in place[:-1]:
        inner = data.get(str(part))
        data = inner if isinstance(inner, dict) else {}
    value = data.get(str(place[-1]))
    return value if isinstance(value, str) and value else None


def _read_brief(named: Named, folder: Path, path: Path) -> None:
    del folder
    raw = path.read_bytes()
    if len(raw) > MOST_BYTES:
        raise ValueError(f"is larger than {MOST_BYTES} bytes")
    if not raw.strip():
        raise ValueError("is empty")
    try:
        named.brief = raw.decode()
    except UnicodeDecodeError as error:
        raise ValueError("is not UTF-8 text") from error


def _look_at_archive(named: Named, folder: Path, path: Path) -> None:
    del named, folder
    if not path.is_file():
        raise ValueError("is not a file")


def _look_at_tree(named: Named, folder: Path, path: Path) -> None:
    """A tree that holds the contract or its reference would show them to agents."""
    if not path.is_dir():
        raise ValueError("is not a folder")
    own = [
        Path(named.source.file).name,
        _written(named.source, REFERENCE),
        _written(named.source, SOLUTION),
    ]
    for name in own:
        if (
            name is not None
            and not bad_name(name)
            and Path(os.path.realpath(folder / name)).is_relative_to(path)
        ):
            raise ValueError(f"holds {name}, which agents must not see")

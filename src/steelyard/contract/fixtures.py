"""Golden answers beside a contract, which its verifiers must score high or low.

    fixtures/pass/exact.json      a file stands for the output of the task
    fixtures/pass/whole/...       a folder is written over the snapshot
    fixtures/fail/off-by-one.json

They try a verifier and never judge an agent's work, so the digest of a contract does not know them. Names that begin
with a dot are passed over.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from steelyard.contract.catalogue import ContractFile
from steelyard.contract.contract import Contract
from steelyard.contract.parse.files import contract_files, inside
from steelyard.errors import ContractFault, Problem
from steelyard.filesystem.tree import prefixes, printable

FOLDER = "fixtures"
KINDS = ("pass", "fail")


class Fixture(NamedTuple):
    """One golden answer: where each of its files goes in the tree."""

    name: str  # "fixtures/pass/exact.json"
    must_pass: bool
    files: dict[str, ContractFile]


def find_fixtures(contract: Contract, output: str | None) -> list[Fixture]:
    """The fixtures of a contract, by name; `output` is the place in the tree that a single file stands for."""
    problems = list(_strays(contract.folder / FOLDER))
    found: list[Fixture] = []
    for kind in KINDS:
        if leads_out := _leads_out(contract.folder, f"{FOLDER}/{kind}"):
            problems.append(leads_out)
            continue
        for name in _names(contract.folder, f"{FOLDER}/{kind}"):
            try:
                found.append(Fixture(name, kind == "pass", _files(contract.folder, name, output)))
            except ValueError as error:
                problems.append(Problem(str(contract.folder / name), "", printable(str(error))))
    if problems:
        raise ContractFault(problems)
    return found


def lay_fixture(contract: Contract, fixture: Fixture, folder: Path) -> None:
    """Make `folder` the snapshot with the fixture over it."""
    shutil.copytree(contract.snapshot.tree, folder, symlinks=True)
    for path, file in fixture.files.items():
        place = folder / path
        # A link of the snapshot's on the way would lead the copy to wherever its author wished.
        beyond = next((one for one in prefixes(path)[:-1] if _is_no_folder(folder / one)), None)
        if beyond is not None or (place.is_dir() and not place.is_symlink()):
            message = f"{printable(path)} cannot be written: the snapshot has something else at this path"
            raise ContractFault(Problem(str(contract.folder / fixture.name), "", message))
        place.parent.mkdir(parents=True, exist_ok=True)
        place.unlink(missing_ok=True)
        shutil.copy(file.path, place, follow_symlinks=False)


def _strays(folder: Path) -> Iterator[Problem]:
    """A misspelt folder would be a fixture that is never tried."""
    if folder.is_dir():
        for one in sorted(folder.iterdir()):
            if one.is_dir() and one.name not in KINDS and not one.name.startswith("."):
                message = f"is neither {FOLDER}/pass nor {FOLDER}/fail, so it would not be tested"
                yield Problem(str(one), "", message)


def _leads_out(folder: Path, below: str) -> Problem | None:
    """Folders of others are not looked into, not even for names."""
    if not (folder / below).exists():
        return None
    try:
        inside(folder, below)
    except ValueError as error:
        return Problem(str(folder / below), "", printable(str(error)))
    return None


def _names(folder: Path, below: str) -> list[str]:
    place = folder / below
    names = sorted(one.name for one in place.iterdir()) if place.is_dir() else []
    return [f"{below}/{name}" for name in names if not name.startswith(".")]


def _files(folder: Path, name: str, output: str | None) -> dict[str, ContractFile]:
    files = contract_files(folder, name)
    if name not in files:
        return {path.removeprefix(f"{name}/"): file for path, file in files.items()}
    if output is None:
        raise ValueError("is a file, but the check has no `expected_output_path` that says where it belongs")
    return {output: files[name]}


def _is_no_folder(path: Path) -> bool:
    return path.is_symlink() or (path.exists() and not path.is_dir())

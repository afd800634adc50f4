"""A contract folder -> a `Contract`, or every mistake in it at once.

contract.yaml (+ ../suite.yaml) -> data with positions -> spec, checks, graders, files -> snapshot -> digest
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError

from steelyard.contract.cache import Cache
from steelyard.contract.catalogue import Catalogue, ContractFile
from steelyard.contract.contract import Contract
from steelyard.contract.digest import contract_digest
from steelyard.contract.entries import Entries, resolve_entries
from steelyard.contract.explain import explain, known_keys
from steelyard.contract.files import bad_name, contract_files, inside
from steelyard.contract.lint import doubt_problem, warnings
from steelyard.contract.model import ContractSpec
from steelyard.contract.not_yet import not_yet
from steelyard.contract.snapshot import Snapshot, take_snapshot
from steelyard.contract.suite import with_suite
from steelyard.contract.yaml_source import MOST_BYTES, Place, Source, dotted, read_yaml
from steelyard.errors import ContractFault, OperatorFault, Problem

FILE = "contract.yaml"


class Examined(NamedTuple):
    """A contract that loads, and what its author should look at twice."""

    contract: Contract
    warnings: list[Problem]


def load_contract(path: Path | str, catalogue: Catalogue, cache: Cache | None = None) -> Contract:
    """Load the contract in `path` (its folder or its contract.yaml); raises ContractFault."""
    return examine_contract(path, catalogue, cache).contract


def examine_contract(path: Path | str, catalogue: Catalogue, cache: Cache | None = None) -> Examined:
    """Load the contract and look at it closely; raises ContractFault with every problem."""
    path = Path(path)
    file = path / FILE if path.is_dir() else path
    folder = file.parent
    source = with_suite(read_yaml(file), folder)
    entries = resolve_entries(source, catalogue)
    problems = [*not_yet(source), *entries.problems]
    spec = _spec(source, problems)
    if spec is None:
        raise ContractFault(_in_order(problems))
    brief = _brief(spec, source, folder, problems)
    files = _files(spec, entries, folder, problems)
    _check_build(entries, spec, problems)
    _check_source(spec, source, folder, problems)
    if problems:
        raise ContractFault(_in_order(problems))
    snapshot = _snapshot(spec, source, folder, cache or Cache.default())
    doubts = _doubts(entries, snapshot)
    if fatal := [problem for problem, is_fatal in doubts if is_fatal]:
        raise ContractFault(_in_order(fatal))
    digest = contract_digest(spec, brief, snapshot, [*entries.found.values()], files)
    contract = Contract(spec, folder, brief, entries.checks, entries.graders, files, snapshot, digest)
    mild = [problem for problem, _ in doubts]
    return Examined(contract, _in_order([*mild, *warnings(contract, source)]))


def find_contracts(paths: Iterable[Path | str]) -> list[Path]:
    """The contract folders that `paths` name: contract folders, contract.yaml files, and suite folders."""
    return list(dict.fromkeys(folder for path in paths for folder in _found(Path(path))))


def _found(path: Path) -> Iterator[Path]:
    if path.is_file():
        yield path.parent if path.name == FILE else path
    elif (path / FILE).is_file():
        yield path
    else:
        below = sorted(file.parent for file in path.glob(f"*/{FILE}"))
        if not below:
            said = (
                "has no contract.yaml, and neither has a folder in it" if path.is_dir() else "does not exist"
            )
            raise OperatorFault(f"{path} {said}")
        yield from below


def _spec(source: Source, problems: list[Problem]) -> ContractSpec | None:
    try:
        return ContractSpec.model_validate_json(json.dumps(source.data))
    except ValidationError as refused:
        problems += explain(refused, source, partial(known_keys, ContractSpec))
        return None


def _brief(spec: ContractSpec, source: Source, folder: Path, problems: list[Problem]) -> str:
    if spec.brief_file is None:
        return spec.brief or ""
    try:
        return _text(inside(folder, spec.brief_file))
    except UnicodeDecodeError:
        message = "is not UTF-8 text"
    except ValueError as error:
        message = str(error)
    except OSError as error:
        message = f"cannot be read: {error.strerror}"
    place: Place = ("brief_file",)
    problems.append(Problem(source.where(place), "brief_file", f"{spec.brief_file} {message}"))
    return ""


def _text(path: Path) -> str:
    raw = path.read_bytes()
    if len(raw) > MOST_BYTES:
        raise ValueError(f"is larger than {MOST_BYTES} bytes")
    if not raw.strip():
        raise ValueError("is empty")
    return raw.decode()


def _files(
    spec: ContractSpec, entries: Entries, folder: Path, problems: list[Problem]
) -> dict[str, ContractFile]:
    """Every file that a verdict depends on: what the graders name, and the reference."""
    named: list[tuple[Place, str]] = [
        (place, name) for place, entry in entries.found.items() for name in entry.options_files
    ]
    if spec.oracle.reference is not None:
        named.append((("oracle", "reference"), spec.oracle.reference))
    found: dict[str, ContractFile] = {}
    for place, name in named:
        try:
            found |= contract_files(folder, name)
        except ValueError as error:
            problems.append(Problem(entries.source.where(place), dotted(place), f"{name} {error}"))
    return found


def _check_build(entries: Entries, spec: ContractSpec, problems: list[Problem]) -> None:
    built = [
        place
        for place, entry in entries.found.items()
        if entry.is_check and entry.under in ("build", "static")
    ]
    where = entries.source.where
    if built and spec.build == "none":
        problems.append(
            Problem(where(built[0]), dotted(built[0]), "builds, though the contract says `build: none`")
        )
    if not built and spec.build is None and not entries.problems:
        place = ("oracle", "checks")
        fix = "add one, or say `build: none`"
        problems.append(
            Problem(where(place), dotted(place), "no check is `under: build` or `under: static`", fix)
        )


def _check_source(spec: ContractSpec, source: Source, folder: Path, problems: list[Problem]) -> None:
    """Archives and trees lie in the contract's folder, and a tree must not show agents the contract itself."""
    for key in ("archive", "tree"):
        name = getattr(spec.repository, key)
        if name is None:
            continue
        place: Place = ("repository", key)
        try:
            real = inside(folder, name)
        except ValueError as error:
            problems.append(Problem(source.where(place), dotted(place), f"{name} {error}"))
            continue
        own = [FILE, *([spec.oracle.reference] if spec.oracle.reference else [])]
        shows = [
            name for name in own if not bad_name(name) and (folder / name).resolve().is_relative_to(real)
        ]
        if key == "tree" and shows:
            problems.append(Problem(source.where(place), dotted(place), f"agents would see {shows[0]} in it"))


def _snapshot(spec: ContractSpec, source: Source, folder: Path, cache: Cache) -> Snapshot:
    try:
        return take_snapshot(spec.repository, folder.absolute(), cache)
    except ContractFault as fault:
        raise ContractFault(
            [
                Problem(
                    source.where(tuple(problem.field.split(".", 2))),
                    problem.field,
                    problem.message,
                    problem.fix,
                )
                for problem in fault.problems
            ]
        ) from fault


def _doubts(entries: Entries, snapshot: Snapshot) -> list[tuple[Problem, bool]]:
    return [
        (doubt_problem(entry, place, doubt, entries.source), doubt.fatal)
        for place, entry in entries.found.items()
        for doubt in entry.grader.doubts(snapshot.entries)
    ]


def _in_order(problems: Sequence[Problem]) -> list[Problem]:
    """In the order of the file."""

    def position(problem: Problem) -> tuple[str, int, int]:
        file, line, column = (*problem.where.rsplit(":", 2), "", "")[:3]
        return (
            (file, int(line), int(column))
            if line.isdecimal() and column.isdecimal()
            else (problem.where, 0, 0)
        )

    return sorted(dict.fromkeys(problems), key=position)

"""A list of scorers and a repository -> a contract that asks for all of them.

    - {name: Unit tests, type: command, command: make test, timeout_s: 600}
    - {name: scope, type: allowed_paths, patterns: ["src/*"]}
    - {name: no new skips, type: no_new_skips}                # advisory, unless it says required: true

A required command becomes a check of the oracle, everything else a grader. Names become names of contracts.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from steelyard.contract.parse.explain import suggestion
from steelyard.contract.parse.yaml_source import MOST_BYTES, Source, YamlPath, dotted_path, parse_yaml_list
from steelyard.contract.snapshot.git_source import check_commit, check_id, check_local, git_dir_of
from steelyard.errors import ContractFault, OperatorFault, Problem
from steelyard.importers.reading import fault, read_file
from steelyard.importers.task import (
    BRIEF,
    REPO,
    FileCopy,
    Options,
    Task,
    as_name,
    brief_of,
    checked_id,
)

KEY = "scorers"
COMMON = frozenset({"name", "type", "required"})
SCORERS = {
    "command": frozenset({"command", "timeout_s"}),
    "allowed_paths": frozenset({"patterns"}),
    "forbid_paths": frozenset({"patterns"}),
    "max_files_changed": frozenset({"limit"}),
    "forbid_secrets": frozenset[str](),
    "file_exists": frozenset({"path"}),
    "tests_unmodified": frozenset({"paths"}),
    "baseline_unmodified": frozenset({"paths"}),
    "no_new_skips": frozenset({"test_globset"}),
    "assertions_not_weakened": frozenset({"test_globset"}),
    "llm_judge": frozenset({"rubric"}),
}
GIT = frozenset({".git"})
NOTHING_RUNS: dict[str, Any] = {"id": "nothing", "cmd": "true", "weight": 1}


def convert(path: Path, options: Options) -> Task:
    source = _read(path)
    entries = _entries(source)
    name = checked_id(options.id or as_name(path.stem), str(path), "--id")
    repository, copied = _repository(options)
    checks = [_check(entry) for entry in entries if _is_check(entry)]
    reference = {"reference": "reference.patch"} if options.reference else {}
    contract: dict[str, Any] = {
        "id": name,
        "brief_file": BRIEF,
        "repository": repository,
        **options.environment(),
        **options.setup(),
        "build": "none",
        "oracle": {"checks": checks or [dict(NOTHING_RUNS)], **reference},
        "graders": [entry for entry in entries if not _is_check(entry)],
    }
    files = {BRIEF: brief_of(_text(options.brief, "--brief"), str(options.brief), "")}
    if options.reference:
        files["reference.patch"] = _bytes(options.reference, "--reference")
    notes = () if checks else ("none of its scorers is a required command, so nothing is run",)
    return Task(name, "a list of scorers", contract, files, copied, notes)


def _read(path: Path) -> Source:
    try:
        return parse_yaml_list(read_file(path, MOST_BYTES), str(path), KEY)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise fault(str(path), "", str(reason)) from error


def _entries(source: Source) -> list[dict[str, Any]]:
    listed = source.data[KEY]
    if not isinstance(listed, list) or not listed:
        raise fault(source.file, KEY, "expected a list of scorers")
    entries, problems = [], []
    for number, raw in enumerate(listed):
        try:
            entries.append(_entry(source, (KEY, number), raw))
        except ContractFault as wrong:
            problems += wrong.problems
    names = [entry["name"] for entry in entries]
    problems += [
        Problem(source.where((KEY, number, "name")), dotted_path((KEY, number, "name")), f"{name} is taken")
        for number, name in enumerate(names)
        if name in names[:number] and not problems
    ]
    if problems:
        raise ContractFault(problems)
    return entries


def _entry(source: Source, place: YamlPath, raw: Any) -> dict[str, Any]:
    where = source.where(place)
    if not isinstance(raw, dict):
        raise fault(where, dotted_path(place), "a scorer is a mapping with a type")
    type_ = raw.get("type")
    if not isinstance(type_, str) or type_ not in SCORERS:
        message = "is missing" if type_ is None else f"unknown scorer {type_!r}"
        fix = suggestion(type_, SCORERS) if isinstance(type_, str) else ""
        raise fault(source.where((*place, "type")), dotted_path((*place, "type")), message, fix)
    known = COMMON | SCORERS[type_]
    for key in raw:
        if key not in known:
            inner = (*place, key)
            raise fault(
                source.where(inner), dotted_path(inner), f"unknown key of {type_}", suggestion(key, known)
            )
    name = as_name(raw["name"]) if isinstance(raw.get("name"), str) else ""
    if not name:
        raise fault(where, dotted_path((*place, "name")), "is missing, or has no letter in it")
    options = {key: value for key, value in raw.items() if key not in {"name", "command"}}
    return {"name": name, **options, **({"cmd": raw["command"]} if "command" in raw else {})}


def _is_check(entry: dict[str, Any]) -> bool:
    return entry["type"] == "command" and entry.get("required", True) is not False


def _check(entry: dict[str, Any]) -> dict[str, Any]:
    rest = {key: value for key, value in entry.items() if key not in {"name", "required"}}
    return {"id": entry["name"], **rest}


def _repository(options: Options) -> tuple[dict[str, Any], dict[str, FileCopy]]:
    if (options.git is None) == (options.tree is None):
        raise OperatorFault(
            "a list of scorers is about a repository: say --git PATH --commit ID, or --tree DIR"
        )
    if options.tree is not None:
        if not options.tree.is_dir():
            raise OperatorFault(f"--tree {options.tree} is not a folder")
        return {"tree": REPO}, {REPO: FileCopy(options.tree, options.tree, GIT)}
    git = Path(str(options.git))
    check_local(re.sub("^(https?|ssh|git):/", r"\1://", str(git)))  # a path has no two slashes in a row
    if options.commit is None:
        raise OperatorFault("--git needs --commit with the full commit id")
    if not git.exists():
        raise OperatorFault(f"--git {git} does not exist")
    check_id(options.commit)
    if git.is_dir():
        check_commit(git_dir_of(git), options.commit)
    return {"git": os.path.abspath(git), "commit": options.commit}, {}  # noqa: PTH100  # keep symlinks as named


def _text(path: Path | None, option: str) -> str:
    try:
        return _bytes(path, option).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise OperatorFault(f"{option} {path} is not UTF-8 text") from error


def _bytes(path: Path | None, option: str) -> bytes:
    if path is None:
        raise OperatorFault(f"a list of scorers has no brief of its own: say {option} FILE")
    try:
        return read_file(Path(os.path.realpath(path)), MOST_BYTES)
    except OSError as error:
        raise OperatorFault(f"{option} {path}: {error.strerror}") from error
    except ValueError as error:
        raise OperatorFault(f"{option} {path} {error}") from error

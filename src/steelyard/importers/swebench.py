"""A row of SWE-bench, or of a data set shaped like it -> a contract with a `swebench` check.

    instance_id        id
    repo, base_commit  repository.git (a local clone), repository.commit
    problem_statement  brief.md
    patch              reference.patch
    test_patch         test.patch, which only the bench ever sees
    FAIL_TO_PASS,      fail_to_pass, pass_to_pass: lists, or lists as JSON in a string
    PASS_TO_PASS

Ids that name neither a file nor a module (sympy's `test_x`, titles of mocha) leave it to the command to find them: it
gets the files of the test patch, as SWE-bench does it. What describes a row goes to `metadata.swebench`; `hints_text` is left out, since SWE-bench shows it to nobody.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Annotated, Any

from pydantic import Field, field_validator

from steelyard.contract.model import NonEmpty, Strict
from steelyard.contract.parse.yaml_source import Source
from steelyard.errors import ContractFault, Problem
from steelyard.filesystem.tree import shown
from steelyard.importers.reading import fault, strict_json, validated
from steelyard.importers.repositories import repository_of
from steelyard.importers.task import BRIEF, Options, Task, brief_of, checked_id

Ids = Annotated[tuple[NonEmpty, ...], Field(max_length=50_000)]
_PLACED = re.compile(r"::|\(\w+(\.\w+)+\)$")  # x.py::test_y, test_y (pkg.mod.Case)
_SOURCE = re.compile(
    r"^\+\+\+ b/(\S+\.(?:py|[cm]?[jt]sx?|rb|php|rs|go|java|kt|scala|exs?|bats|t))\s*$", re.MULTILINE
)
DESCRIBING = ("repo", "version", "created_at", "environment_setup_commit", "difficulty")


class Row(Strict):
    """The columns of SWE-bench, Lite and Verified."""

    instance_id: NonEmpty
    repo: NonEmpty
    base_commit: NonEmpty
    problem_statement: NonEmpty
    patch: str
    test_patch: str
    FAIL_TO_PASS: Annotated[Ids, Field(min_length=1)]
    PASS_TO_PASS: Ids
    version: str | int | float | None = None
    environment_setup_commit: str | None = None
    created_at: str | int | None = None
    difficulty: str | int | None = None
    hints_text: str | None = None

    @field_validator("FAIL_TO_PASS", "PASS_TO_PASS")
    @classmethod
    def _once(cls, ids: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(ids))


def convert(row: dict[str, Any], where: str, options: Options) -> Task:
    if not row.get("instance_id"):
        raise fault(where, "instance_id", "is missing, so the row has no name")
    kept = {key: value for key, value in row.items() if key in Row.model_fields or not _ignored(key, options)}
    if strange := [key for key in kept if key not in Row.model_fields]:
        said = "not a column of SWE-bench"
        raise ContractFault([Problem(where, key, said, f"--ignore {key} leaves it out") for key in strange])
    found = validated(_decoded(kept, where), Row)
    both = sorted({*found.FAIL_TO_PASS} & {*found.PASS_TO_PASS})
    if both:
        raise fault(where, "PASS_TO_PASS", f"{shown(both[0])!r} is in FAIL_TO_PASS too")
    name = checked_id(found.instance_id, where, "instance_id")
    files = {BRIEF: brief_of(found.problem_statement, where, "problem_statement")}
    for file, key in (("reference.patch", "patch"), ("test.patch", "test_patch")):
        if text := getattr(found, key):
            files[file] = _patch(text, where, key)
    described = {key: getattr(found, key) for key in DESCRIBING if getattr(found, key) is not None}
    contract: dict[str, Any] = {
        "id": name,
        "brief_file": BRIEF,
        "repository": repository_of(found.repo, found.base_commit, options, where),
        **options.environment(),
        **options.setup(),
        "build": "none",
        "oracle": {"checks": [_check(found, options)]},
        "metadata": {"swebench": described},
    }
    if found.patch:
        contract["oracle"]["reference"] = "reference.patch"
    return Task(name, "a row of SWE-bench", contract, files, notes=tuple(_notes(found, options)))


def _ignored(key: str, options: Options) -> bool:
    return any(fnmatchcase(key, pattern) for pattern in options.ignore)


def _notes(row: Row, options: Options) -> Iterator[str]:
    if not options.install:
        yield "nothing is installed; say --install for what its tests need"
    if not options.cmd_prefix and not _is_placed(row):
        yield "its ids name no file; say with --cmd-prefix what runs them"


def _decoded(row: dict[str, Any], where: str) -> Source:
    data = dict(row)
    for key in ("FAIL_TO_PASS", "PASS_TO_PASS"):
        if isinstance(data.get(key), str):
            try:
                data[key] = strict_json(data[key])
            except ValueError as error:
                raise fault(where, key, f"is text, but not a list in JSON: {shown(str(error))}") from error
    return Source(where, data, {(): where})


def _is_placed(row: Row) -> bool:
    return any(_PLACED.search(one) for one in (*row.FAIL_TO_PASS, *row.PASS_TO_PASS))


def _command(row: Row, prefix: str) -> str:
    said = [] if _is_placed(row) else _SOURCE.findall(row.test_patch)
    words = prefix.split()
    return " ".join([prefix, *(shlex.quote(one) for one in dict.fromkeys(said) if one not in words)])


def _check(row: Row, options: Options) -> dict[str, Any]:
    return {
        "id": "tests",
        "type": "swebench",
        **({"patch": "test.patch"} if row.test_patch else {}),
        **({"cmd_prefix": _command(row, options.cmd_prefix)} if options.cmd_prefix else {}),
        "fail_to_pass": list(row.FAIL_TO_PASS),
        "pass_to_pass": list(row.PASS_TO_PASS),
        "timeout_s": 1800,
    }


def _patch(text: str, where: str, key: str) -> bytes:
    """As it is, with the end of line that some data sets cut off."""
    return brief_of(text if text.endswith("\n") else f"{text}\n", where, key)

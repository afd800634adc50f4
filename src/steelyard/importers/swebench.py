"""A row of SWE-bench, or of a data set shaped like it -> a contract with a `swebench` check.

    instance_id        id
    repo, base_commit  repository.git (a local clone), repository.commit
    problem_statement  brief.md
    patch              reference.patch
    test_patch         test.patch, which only the bench ever sees
    FAIL_TO_PASS,      fail_to_pass, pass_to_pass: lists, or lists as JSON in a string
    PASS_TO_PASS

Ids that name neither a file nor a module (sympy's `test_x`, titles of mocha) leave it to the command to find them: it
gets the files of the test patch, as SWE-bench does it, unless it names one of them itself. What describes a row goes to `metadata.swebench`; `hints_text` is left out, since SWE-bench shows it to no agent.
"""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Annotated, Any

from pydantic import Field, field_validator

from steelyard.contract.model import NonEmpty
from steelyard.contract.parse.yaml_source import Source
from steelyard.filesystem.tree import printable
from steelyard.importers.clones import submodules_of
from steelyard.importers.environments import Environments
from steelyard.importers.reading import fault, read_model, strict_json
from steelyard.importers.repositories import repository_of
from steelyard.importers.strict import Strict
from steelyard.importers.swebench_ids import dropped_ids, select_ids
from steelyard.importers.task import BRIEF, Options, Task, brief_of, checked_id

Ids = Annotated[tuple[NonEmpty, ...], Field(max_length=50_000)]
_ID_WITH_FILE = re.compile(r"::|\(\w+(\.\w+)+\)$")  # x.py::test_y, test_y (pkg.mod.Case)
_SOURCE = re.compile(
    r"^\+\+\+ b/(\S+\.(?:py|[cm]?[jt]sx?|rb|php|rs|go|java|kt|scala|exs?|bats|t))\s*$", re.MULTILINE
)
TIMEOUT_S = 1800
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


def convert(
    row: dict[str, Any], where: str, options: Options, environments: Environments | None = None
) -> Task:
    """`environments` say how the tests of a repository's version are run; raises ContractFault."""
    if not row.get("instance_id"):
        raise fault(where, "instance_id", "is missing, so the row has no name")
    known = {
        key: value for key, value in row.items() if key in Row.model_fields or not _ignored(key, options)
    }
    if strange := [key for key in known if key not in Row.model_fields]:
        message = "not a column of SWE-bench" if len(strange) == 1 else "not columns of SWE-bench"
        hint = "--ignore NAME leaves one out, --ignore '*' leaves out all that SWE-bench does not have"
        raise fault(where, ", ".join(strange), message, hint)
    found = read_model(_decode(known, where), Row)
    both = sorted({*found.FAIL_TO_PASS} & {*found.PASS_TO_PASS})
    if both:
        raise fault(where, "PASS_TO_PASS", f"{printable(both[0])!r} is in FAIL_TO_PASS too")
    if named := dropped_ids(found.FAIL_TO_PASS, options.drop_ids):
        message = f"--drop-id names {printable(named[0])!r}, which decides what a solution is"
        raise fault(where, "FAIL_TO_PASS", message, "only ids of PASS_TO_PASS can be left out")
    name = checked_id(found.instance_id, where, "instance_id")
    if environments is not None:
        version = "" if found.version is None else str(found.version)
        options = environments.options_for(found.repo, version, options, where)
    files = {BRIEF: brief_of(found.problem_statement, where, "problem_statement")}
    for file, key in (("reference.patch", "patch"), ("test.patch", "test_patch")):
        if text := getattr(found, key):
            files[file] = _patch(text, where, key)
    repository = repository_of(found.repo, found.base_commit, options, where)
    if options.submodules and (clones := submodules_of(found.repo, repository, options, where)):
        repository["submodules"] = clones
    kept = select_ids(found.PASS_TO_PASS, options.drop_ids, repository, found.test_patch.encode())
    described = {key: getattr(found, key) for key in DESCRIBING if getattr(found, key) is not None}
    contract: dict[str, Any] = {
        "id": name,
        "brief_file": BRIEF,
        "repository": repository,
        **options.environment(),
        **options.setup(),
        "build": "none",
        "oracle": {"checks": [_check(found, kept.ids, options)]},
        "metadata": {"swebench": described},
    }
    if found.patch:
        contract["oracle"]["reference"] = "reference.patch"
    return Task(name, "a row of SWE-bench", contract, files, notes=(*_notes(found, options), *kept.notes))


def _ignored(key: str, options: Options) -> bool:
    return any(fnmatchcase(key, pattern) for pattern in options.ignore)


def _notes(row: Row, options: Options) -> Iterator[str]:
    if not options.install:
        yield "nothing is installed; say --install for what its tests need"
    if not options.cmd_prefix and not _is_placed(row):
        yield "its ids name no file; say with --cmd-prefix what runs them"


def _decode(row: dict[str, Any], where: str) -> Source:
    data = dict(row)
    for key in ("FAIL_TO_PASS", "PASS_TO_PASS"):
        if isinstance(data.get(key), str):
            try:
                data[key] = strict_json(data[key])
            except ValueError as error:
                raise fault(
                    where, key, f"is text, but not a list in JSON: {printable(str(error))}"
                ) from error
    return Source(where, data, {(): where})


def _is_placed(row: Row) -> bool:
    return any(_ID_WITH_FILE.search(one) for one in (*row.FAIL_TO_PASS, *row.PASS_TO_PASS))


def _command(row: Row, prefix: str) -> str:
    """The prefix and the files of the test patch, unless the ids or the prefix itself say what is run."""
    files = [] if _is_placed(row) else [*dict.fromkeys(_SOURCE.findall(row.test_patch))]
    if _names_one(prefix, files):
        return prefix
    return " ".join([prefix, *map(shlex.quote, files)])


def _names_one(prefix: str, files: list[str]) -> bool:
    """Whether a word of the prefix is one of the files, or a pattern that finds one: a test patch may change the
    tests of several runners, and the prefix belongs to one of them.
    """
    try:
        words = [posixpath.normpath(word) for word in shlex.split(prefix)]
    except ValueError:  # the shell understands more than we do
        words = prefix.split()
    return any(
        word == file or ("*" in word and fnmatchcase(file, word.replace("**/", "*")))
        for word in words
        for file in files
    )


def _check(row: Row, pass_to_pass: tuple[str, ...], options: Options) -> dict[str, Any]:
    return {
        "id": "tests",
        "type": "swebench",
        **({"patch": "test.patch"} if row.test_patch else {}),
        **({"cmd_prefix": _command(row, options.cmd_prefix)} if options.cmd_prefix else {}),
        **({"junit_xml": options.junit_xml} if options.junit_xml else {}),
        "fail_to_pass": list(row.FAIL_TO_PASS),
        "pass_to_pass": list(pass_to_pass),
        "timeout_s": options.timeout_s or TIMEOUT_S,
    }


def _patch(text: str, where: str, key: str) -> bytes:
    """As it is, with the end of line that some data sets cut off."""
    return brief_of(text if text.endswith("\n") else f"{text}\n", where, key)

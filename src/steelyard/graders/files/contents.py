"""Files and texts that must be there in the end."""

from __future__ import annotations

import os
import re
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from steelyard.bench.final_tree import FinalTree
from steelyard.contract.catalogue import LintWarning, Material
from steelyard.contract.model import NonEmpty
from steelyard.deferred.model import AfterValidator
from steelyard.errors import GraderFault
from steelyard.evidence.finding import Finding
from steelyard.filesystem.tree import Entry, printable
from steelyard.graders.base import Case, Grader
from steelyard.graders.files.paths import list_paths
from steelyard.graders.files.search import SearchResult, search
from steelyard.graders.grade import Grade


def _compiles(pattern: str) -> str:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a set that will mean something else one day
            re.compile(pattern, re.MULTILINE)
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"not a regular expression: {error}") from error
    return pattern


Regex = Annotated[NonEmpty, AfterValidator(_compiles)]


@dataclass(frozen=True)
class Files(Grader):
    """The share of these that hold: each file of `expect_dir` is in the tree, byte for byte; each of `patterns` occurs.

    Modes do not matter, and links are compared as links. Patterns are Python regular expressions in which `^` and `$`
    match at lines. They are searched in every text file of the final repository (2 MiB of each, changed files first),
    not in files that setup installed. No code of the candidate runs.

    Why: the answer to "write the migration" can be compared, and "with a retry" implies a word that must occur.
    Example: `{type: files, expect_dir: expected, patterns: ["retry", "^## Upgrading"]}`
    Fooled by: the word in a comment, or in an unused file.
    """

    TYPE = "files"
    UNDER = "acceptance"
    REQUIRED = False
    WEIGHT = 1.0

    expect_dir: NonEmpty | None = None
    patterns: tuple[Regex, ...] = ()

    def __post_init__(self) -> None:
        if self.expect_dir is None and not self.patterns:
            raise ValueError("checks nothing: set expect_dir, patterns or both")

    @property
    def _folder(self) -> str:
        return (self.expect_dir or "").rstrip("/")

    def contract_files(self) -> tuple[str, ...]:
        return (self._folder,) if self.expect_dir else ()

    def file_warnings(self, material: Material) -> tuple[LintWarning, ...]:
        if self._folder in material.files:
            return (LintWarning("expect_dir", f"{self.expect_dir} is a file, not a folder", fatal=True),)
        return ()

    def grade(self, case: Case) -> Grade:
        wrong, expected = self._compare(case) if self.expect_dir else ([], 0)
        absent, findings = self._search(case)
        total = expected + len(self.patterns)
        held = total - len(wrong) - len(absent)
        why = f"{held} of {total} hold"
        why += f"; different: {list_paths(wrong)}" if wrong else ""
        why += f"; nowhere: {list_paths(absent)}" if absent else ""
        return Grade.share(held / total, why, findings=findings)

    def _compare(self, case: Case) -> tuple[list[str], int]:
        entries = case.final_tree().entries
        expected = {
            name.removeprefix(f"{self._folder}/"): _wanted(file.path, file.mode, file.sha256)
            for name, file in case.files.items()
            if name.startswith(f"{self._folder}/")
        }
        return [path for path, wanted in expected.items() if _bare(entries.get(path)) != wanted], len(
            expected
        )

    def _search(self, case: Case) -> tuple[list[str], tuple[Finding, ...]]:
        if not self.patterns:
            return [], ()
        files = _texts(case)
        done = search(self.patterns, list(files.values()))
        absent = [pattern for number, pattern in enumerate(self.patterns) if number not in done.found]
        if absent and done.unread:
            raise GraderFault(f"the tree is too large to be searched completely for {printable(absent[0])}")
        return absent, _slow(done, list(files))


def _wanted(path: Path, mode: str, sha256: str) -> tuple[str, str]:
    return ("symlink", os.readlink(path)) if mode == "link" else ("file", sha256)  # noqa: PTH115  # its bytes


def _bare(entry: Entry | None) -> tuple[str, str] | None:
    if entry is None:
        return None
    return (entry.kind, entry.target if entry.kind == "symlink" else entry.sha256)


def _texts(case: Case) -> dict[str, Path]:
    """Where the contents of each file are, the changed ones first."""
    changed = {entry.path for entry in case.change.entries}
    entries = FinalTree(case.baseline, [case.change]).entries
    return {
        path: case.blobs.path(entry.sha256) if path in changed else case.baseline_tree / path
        for path, entry in sorted(entries.items(), key=lambda item: item[0] not in changed)
        if entry.kind == "file" and entry.size
    }


def _slow(done: SearchResult, names: list[str]) -> tuple[Finding, ...]:
    why = "matching a pattern takes too long in this file; skipped"
    return tuple(
        Finding("slow_to_search", "warning", printable(names[number]), why) for number in done.slow[:20]
    )

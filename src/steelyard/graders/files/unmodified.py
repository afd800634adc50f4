"""What must come back exactly as it was."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from steelyard.contract.catalogue import LintWarning
from steelyard.filesystem.tree import Entry
from steelyard.graders.base import Case, Grader, Patterns
from steelyard.graders.files.paths import list_paths, missing_path_warnings, touched_paths
from steelyard.graders.grade import Grade


@dataclass(frozen=True)
class TestsUnmodified(Grader):
    """None of the graded test files in `paths` was edited, deleted, renamed, or changed in mode or type.

    `paths` are files of the snapshot, each by its full name: neither patterns nor folders.

    Why: an agent that edits the test has graded itself.
    Example: `{type: tests_unmodified, paths: [tests/test_cart.py]}`
    Fooled by: a new file that steers the runner; that is a separate finding, and the file is not on the bench.
    """

    TYPE = "tests_unmodified"
    __test__ = False  # the name is the contract's; pytest must not collect it

    paths: Patterns

    def lint_warnings(self, baseline: Mapping[str, Entry]) -> tuple[LintWarning, ...]:
        return missing_path_warnings(self.paths, baseline)

    def grade(self, case: Case) -> Grade:
        return _unmodified(case, self.paths, "graded tests")


@dataclass(frozen=True)
class BaselineUnmodified(Grader):
    """None of the frozen files in `paths` was edited, deleted, renamed, or changed in mode or type.

    `paths` are files of the snapshot, each by its full name: neither patterns nor folders.

    Why: the scaffolding of a task is part of the question, not of the answer.
    Example: `{type: baseline_unmodified, paths: [Makefile, scripts/check.sh]}`
    Fooled by: another file that takes over the frozen one's role.
    """

    TYPE = "baseline_unmodified"

    paths: Patterns

    def lint_warnings(self, baseline: Mapping[str, Entry]) -> tuple[LintWarning, ...]:
        return missing_path_warnings(self.paths, baseline)

    def grade(self, case: Case) -> Grade:
        return _unmodified(case, self.paths, "frozen files")


def _unmodified(case: Case, paths: tuple[str, ...], what: str) -> Grade:
    edited = touched_paths(case.change, paths)
    return Grade.of(not edited, f"{what} changed: {list_paths(edited)}" if edited else f"{what} untouched")

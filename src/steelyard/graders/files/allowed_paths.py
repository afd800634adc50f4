"""What a change was allowed to touch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from steelyard.contract.catalogue import LintWarning
from steelyard.filesystem.tree import Entry
from steelyard.graders.base import Case, Grader, Patterns
from steelyard.graders.files.paths import list_paths, matches, unmatched_pattern_warnings
from steelyard.graders.grade import Grade


@dataclass(frozen=True)
class AllowedPaths(Grader):
    """Every changed file, under its old and its new name, matches one of `patterns`.

    Why: an agent that edits its own CI has not solved the task.
    Example: `{type: allowed_paths, patterns: ["src/**", "tests/**"]}`
    Fooled by: nothing inside the repository; changes outside are the task of the sandbox.
    """

    TYPE = "allowed_paths"

    patterns: Patterns

    def lint_warnings(self, baseline: Mapping[str, Entry]) -> tuple[LintWarning, ...]:
        return unmatched_pattern_warnings(self.patterns, baseline)

    def grade(self, case: Case) -> Grade:
        strays = [path for path in case.change.changed_paths if not matches(path, self.patterns)]
        return Grade.of(
            not strays, f"outside the allowed paths: {list_paths(strays)}" if strays else "in scope"
        )

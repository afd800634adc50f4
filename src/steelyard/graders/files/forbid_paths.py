"""What a change must leave alone."""

from __future__ import annotations

from dataclasses import dataclass

from steelyard.evidence.change.change import claimed_paths
from steelyard.graders.base import Case, Grader, Patterns
from steelyard.graders.files.paths import list_paths, matches_folded
from steelyard.graders.grade import Grade


@dataclass(frozen=True)
class ForbidPaths(Grader):
    """No changed path matches one of `patterns`, in any case, and no symlink points to one.

    Why: workflows, secrets and release scripts are not part of a bug fix.
    Example: `{type: forbid_paths, patterns: [".github/**", "**/secrets/**"]}`
    Fooled by: a build step that writes the file later; only the final change is seen.
    """

    TYPE = "forbid_paths"

    patterns: Patterns

    def grade(self, case: Case) -> Grade:
        hits = [
            path
            for entry in case.change.file_entries
            for path in claimed_paths(entry)
            if matches_folded(path, self.patterns)
        ]
        return Grade.of(
            not hits, f"forbidden paths changed: {list_paths(hits)}" if hits else "no forbidden path changed"
        )

"""What must be there in the end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from steelyard.graders.base import Case, Grader
from steelyard.graders.files.paths import PathInside
from steelyard.graders.grade import Grade


@dataclass(frozen=True)
class FileExists(Grader):
    """`path` exists in the final tree; a symlink counts as its target, if that is inside the tree.

    Why: "add a migration" means that there is a migration.
    Example: `{type: file_exists, path: docs/migration.md, kind: file}`
    Fooled by: an empty file.
    """

    TYPE = "file_exists"
    UNDER = "acceptance"

    path: PathInside
    kind: Literal["any", "file", "dir"] = "any"

    def grade(self, case: Case) -> Grade:
        found = case.final_tree().kind(self.path)
        if found is None:
            return Grade.of(False, f"{self.path} is missing")  # a verdict, not a flag
        right = self.kind in ("any", found)
        return Grade.of(right, f"{self.path} is a {found}" + ("" if right else f", not a {self.kind}"))

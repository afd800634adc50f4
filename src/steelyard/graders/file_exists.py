"""What must be there in the end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import AfterValidator

from steelyard.contract.model import NonEmpty
from steelyard.graders.base import Case, Grader
from steelyard.graders.grade import Grade


def _inside(path: str) -> str:
    parts = path.split("/")
    if path.startswith("/") or ".." in parts or "\0" in path:
        raise ValueError("must be a relative path inside the repository, without `..`")
    return "/".join(part for part in parts if part not in {"", "."})


@dataclass(frozen=True)
class FileExists(Grader):
    """`path` exists in the final tree; a symlink counts as what it leads to, inside the tree only.

    Why: "add a migration" means that there is a migration.
    Example: `{type: file_exists, path: docs/migration.md, kind: file}`
    Fooled by: an empty file.
    """

    TYPE = "file_exists"
    UNDER = "acceptance"

    path: Annotated[NonEmpty, AfterValidator(_inside)]
    kind: Literal["any", "file", "dir"] = "any"

    def grade(self, case: Case) -> Grade:
        found = case.final_tree().kind(self.path)
        if found is None:
            return Grade.of(False, f"{self.path} is missing")  # a verdict, not a flag
        right = self.kind in ("any", found)
        return Grade.of(right, f"{self.path} is a {found}" + ("" if right else f", not a {self.kind}"))

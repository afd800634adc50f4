"""How much a change may touch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from steelyard.deferred.model import Field
from steelyard.graders.base import Case, Grader
from steelyard.graders.grade import Grade


@dataclass(frozen=True)
class MaxFilesChanged(Grader):
    """At most `limit` files are changed. A rename counts once, a generated file never.

    Why: a one-line bug does not need forty files.
    Example: `{type: max_files_changed, limit: 5}`
    Fooled by: one huge file; combine it with an envelope of lines.
    """

    TYPE = "max_files_changed"

    limit: Annotated[int, Field(ge=0)]

    def grade(self, case: Case) -> Grade:
        count = len(case.change.file_entries)
        return Grade.of(count <= self.limit, f"files changed: {count}, allowed: {self.limit}")

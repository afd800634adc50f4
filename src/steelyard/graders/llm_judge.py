"""What no program can decide, noted for the judge."""

from __future__ import annotations

from dataclasses import dataclass

from steelyard.contract.model import NonEmpty
from steelyard.graders.base import Case, Grader
from steelyard.graders.grade import Grade


@dataclass(frozen=True)
class LlmJudge(Grader):
    """`rubric` is a note that goes to the judge together with the change; by itself it decides nothing.

    There is no judge yet: the note is kept in the record, and its grade is always not applicable. `required: true`
    is accepted and does not gate.

    Why: some requirements can only be read, not run.
    Example: `{type: llm_judge, rubric: "The error message names the file that could not be read."}`
    Fooled by: nothing, for it says nothing.
    """

    TYPE = "llm_judge"
    UNDER = "acceptance"
    REQUIRED = False

    rubric: NonEmpty

    def grade(self, case: Case) -> Grade:
        del case
        return Grade.not_applicable("a note for the judge, and there is no judge yet")

"""What no program can decide, noted for the judge."""

from __future__ import annotations

from dataclasses import dataclass

from steelyard.contract.model import NonEmpty
from steelyard.graders.base import Case, Grader
from steelyard.graders.grade import Grade


@dataclass(frozen=True)
class LlmJudge(Grader):
    """`rubric` is a note that goes to the [judge](judge.md) together with the run; by itself it decides nothing.

    Its grade is always not applicable; the judgement has the result. `required: true` tells the judge that the note is
    required, and does not gate.

    Why: some requirements need a reader, not a test.
    Example: `{type: llm_judge, rubric: "The error message names the file that could not be read."}`
    Fooled by: whatever fools the judge.
    """

    TYPE = "llm_judge"
    UNDER = "acceptance"
    REQUIRED = False

    rubric: NonEmpty

    def grade(self, case: Case) -> Grade:
        del case
        return Grade.not_applicable("a note for the judge")

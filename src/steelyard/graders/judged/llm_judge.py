"""What no program can decide, noted for the judge."""

from __future__ import annotations

from dataclasses import dataclass

from steelyard.contract.model import NonEmpty
from steelyard.graders.base import Case, Grader
from steelyard.graders.grade import Grade


@dataclass(frozen=True)
class LlmJudge(Grader):
    """`rubric` is a note that goes to the [judge](judge.md) together with the run; by itself it decides nothing.

    Its grade is always not applicable: what the judge makes of it is in the judgement. `required: true` is accepted,
    tells the judge that the note is one, and does not gate.

    Why: some requirements can only be read, not run.
    Example: `{type: llm_judge, rubric: "The error message names the file that could not be read."}`
    Fooled by: nothing, for it says nothing; the judge may be.
    """

    TYPE = "llm_judge"
    UNDER = "acceptance"
    REQUIRED = False

    rubric: NonEmpty

    def grade(self, case: Case) -> Grade:
        del case
        return Grade.not_applicable("a note for the judge")

"""The description of one run that a judge reads: plain data.

The contract's own words (brief, notes) are the author's. All else may be the agent's, and is shown to a model only
behind a fence (`fence.py`). Hidden files, the reference and the rules of the checks are not in here, and have no field.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Literal

from steelyard.deferred.data_class import dataclass

Kind = Literal["run", "session", "answer"]
ExpectedOutcome = Literal["completion", "refusal"]

MAX_DIFF_BYTES = 100_000  # of `judge: {max_diff_bytes}`, where a contract says nothing


@dataclass(frozen=True, slots=True)
class Line:
    """One thing said or done, in order."""

    role: str  # user, agent, tool...
    text: str
    index: int


@dataclass(frozen=True, slots=True)
class Note:
    """The rubric of an `llm_judge` grader. `required` marks it for the judge, and gates nothing."""

    text: str
    required: bool = False
    name: str = ""


@dataclass(frozen=True, slots=True)
class CheckRow:
    """How a check of the oracle ended."""

    name: str
    command: str  # as it was run, in one line
    outcome: str
    exit_code: int | None = None
    why: str = ""
    output_tail: str = ""


@dataclass(frozen=True, slots=True)
class GradeRow:
    """What a grader concluded."""

    name: str
    type: str
    outcome: str
    score: float | None
    required: bool
    why: str = ""
    weight: float = 0.0  # of its credit; without any it is advisory


@dataclass(frozen=True, slots=True)
class JudgeInput:
    """A `run` has one brief and a change, a `session` several messages, an `answer` no workspace."""

    brief: str
    kind: Kind = "run"
    expected_outcome: ExpectedOutcome = "completion"
    notes: tuple[Note, ...] = ()
    transcript: tuple[Line, ...] = ()
    answer: str = ""  # the last words; of an `answer` the output itself
    diff: str = ""
    diff_truncated: bool = False  # was it cut before it came here?
    max_diff_bytes: int = MAX_DIFF_BYTES
    files_changed: int = 0
    checks: tuple[CheckRow, ...] = ()
    grades: tuple[GradeRow, ...] = ()
    stdout_tail: str = ""
    stderr_tail: str = ""
    exit_code: int | None = None

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

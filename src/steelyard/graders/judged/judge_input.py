"""Evidence and grades of a run -> `JudgeInput`: what a judge may read of it.

What a check printed goes along only where no hidden file was written for it: a test that failed prints its own source.
The reference, hidden files and their contents are looked for nowhere here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from steelyard.contract.briefing import delivered_messages
from steelyard.contract.catalogue import GraderEntry
from steelyard.contract.contract import Contract
from steelyard.contract.model import Judge
from steelyard.evidence.evidence import Evidence
from steelyard.evidence.folder.folder import PATCH
from steelyard.evidence.output_view import end_of, output_text
from steelyard.evidence.trace.transcript import Message, Transcript, read_transcript
from steelyard.filesystem.plain_file import open_plain
from steelyard.graders.grade import WeightedGrade
from steelyard.graders.judged.llm_judge import LlmJudge
from steelyard.graders.output import may_show_hidden
from steelyard.judge.judge_input import CheckRow, GradeRow, JudgeInput, Kind, Line, Note

READ_BYTES = 16 << 20  # of a diff
ANSWER_BYTES = 256 << 10
TAIL_CHARS = 4096


def build_judge_input(contract: Contract, evidence: Evidence, grades: Sequence[WeightedGrade]) -> JudgeInput:
    spec, transcript = contract.spec, read_transcript(evidence.folder)
    kind = _kind(contract)
    diff = "" if kind == "answer" else _diff(evidence)
    answer = _answer(evidence) if kind == "answer" else "" if kind == "session" else transcript.last_words
    return JudgeInput(
        brief=next(delivered_messages(contract)),  # what came later is in the transcript
        kind=kind,
        expected_outcome=spec.expected_outcome,
        notes=_notes(contract),
        transcript=_lines(kind, transcript),
        answer=answer,
        diff=diff,
        diff_truncated=len(diff) >= READ_BYTES,
        max_diff_bytes=(spec.judge or Judge()).max_diff_bytes,
        files_changed=len(evidence.changed_paths),
        checks=_checks(contract, evidence, grades),
        grades=_rows(grades),
        stdout_tail=transcript.last_words if kind == "answer" and transcript.last_words != answer else "",
        stderr_tail=transcript.errors,
        exit_code=transcript.exit_code,
    )


def _kind(contract: Contract) -> Kind:
    if contract.spec.workspace == "none":
        return "answer"
    return "session" if len(contract.messages) > 1 else "run"


def _notes(contract: Contract) -> tuple[Note, ...]:
    return tuple(
        Note(entry.grader.rubric, entry.required, entry.name)
        for entry in contract.graders
        if isinstance(entry.grader, LlmJudge)
    )


def _lines(kind: Kind, transcript: Transcript) -> tuple[Line, ...]:
    """The whole conversation where there is one; else only what was done, for brief and answer stand elsewhere."""
    turns = sum(one.role == "user" for one in transcript.messages)
    judge_input = transcript.messages if kind == "session" or turns > 1 else _done(transcript.messages)
    return tuple(Line(_role(one), one.text, index) for index, one in enumerate(judge_input))


def _done(messages: Sequence[Message]) -> list[Message]:
    return [one for one in messages if one.role == "tool"]


def _role(one: Message) -> str:
    return f"{one.role}, step {one.step}" if one.step else one.role


def _diff(evidence: Evidence) -> str:
    try:
        with open_plain(evidence.folder.file(PATCH)) as stream:
            return stream.read(READ_BYTES).decode(errors="replace")
    except OSError:  # a run that got no further
        return ""


def _answer(evidence: Evidence) -> str:
    new = next((entry.new for entry in evidence.change.entries), None)
    if new is None or not new.sha256:
        return ""
    with evidence.blobs.open(new.sha256) as stream:
        return stream.read(ANSWER_BYTES).decode(errors="replace")


def _checks(contract: Contract, evidence: Evidence, grades: Sequence[WeightedGrade]) -> tuple[CheckRow, ...]:
    whys = {one.entry.name: one.grade.why for one in grades}
    return tuple(
        CheckRow(
            name=entry.name,
            command=_command(entry),
            outcome=str(outcome["outcome"]),
            exit_code=outcome.get("exit"),
            why=whys.get(entry.name, str(outcome.get("why", ""))),
            output_tail="" if may_show_hidden(contract, entry) else _tail(outcome),
        )
        for entry in contract.checks
        if (outcome := evidence.outcomes.get(entry.name)) is not None
    )


def _command(entry: GraderEntry) -> str:
    """As the contract writes it; for a verifier the name of its script."""
    spec = entry.execution
    return entry.type if spec is None else spec.command


def _tail(outcome: Mapping[str, Any]) -> str:
    return end_of("".join(output_text(outcome.get(name)) for name in ("stdout", "stderr")), TAIL_CHARS)


def _rows(grades: Sequence[WeightedGrade]) -> tuple[GradeRow, ...]:
    return tuple(
        GradeRow(
            one.entry.name,
            one.entry.type,
            one.grade.outcome,
            one.grade.score,
            required=one.entry.required,
            weight=one.entry.weight,
            why=one.grade.why,
        )
        for one in grades
        if not isinstance(one.entry.grader, LlmJudge)
    )

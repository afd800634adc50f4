"""A run folder + an `Annotation` -> one more record in `annotations/`; and back to the list of them.

    annotate(Path(".steelyard/runs/2026..."), Annotation(reviewer_id="ada", timestamp=now, judgment="fail"), minutes=12)

An annotation never changes a grading: it lies beside the automated result, so a disagreement stays visible.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError

from steelyard.errors import DAMAGED, OperatorFault
from steelyard.evidence.folder.annotations import append_annotation, read_annotations
from steelyard.evidence.folder.folder import RunFolder
from steelyard.evidence.folder.gradings import read_gradings
from steelyard.stats.interval import wilson
from steelyard.verdict.evaluation import Annotation, ConfidenceMetadata, ErrorTag, EvaluationResult

Kind = Literal["annotation", "adjudication"]
MOST_MINUTES = 7 * 24 * 60  # of one annotation
MOST_ID, MOST_CATEGORY, MOST_CATEGORIES, MOST_NOTES = 200, 200, 50, 100_000


@dataclass(frozen=True, slots=True)
class ReviewEntry:
    """One stored annotation, with what the automated result was when it was written."""

    number: int
    kind: Kind
    annotation: Annotation
    minutes: float | None  # of the reviewer's time; None: not measured
    grading: Mapping[str, Any]  # {"number", "verdict", "reward"} of the grading that the reviewer judged
    settles: tuple[int, ...] = ()  # an adjudication: the numbers of the annotations that it decides between

    def to_json(self) -> dict[str, Any]:
        return {
            "number": self.number,
            "kind": self.kind,
            **self.annotation.model_dump(mode="json"),
            "minutes": self.minutes,
            "grading": dict(self.grading),
            "settles": list(self.settles),
        }


def annotate(
    run_folder: Path | RunFolder,
    annotation: Annotation,
    *,
    minutes: float | None = None,
    signer: Path | None = None,
) -> ReviewEntry:
    """Append an annotation to a sealed and graded run; raises OperatorFault for what cannot be stored."""
    return _append(_folder(run_folder), "annotation", annotation, minutes, signer)


def adjudicate(
    run_folder: Path | RunFolder,
    annotation: Annotation,
    *,
    minutes: float | None = None,
    signer: Path | None = None,
) -> ReviewEntry:
    """Append the decision of a further person where reviewers disagree; the annotations stay as they are."""
    folder = _folder(run_folder)
    if annotation.judgment == "defer":
        raise OperatorFault("an adjudication decides: its judgment is pass or fail, not defer")
    newest = newest_by_reviewer(list_annotations(folder))
    disputing = [one for one in newest if one.annotation.judgment != "defer"]
    if len({one.annotation.judgment for one in disputing}) < 2:  # a dispute has two sides
        raise OperatorFault(
            f"{folder.run_id} has no disagreement between reviewers, so there is nothing to adjudicate"
        )
    if any(one.annotation.reviewer_id == annotation.reviewer_id for one in disputing):
        raise OperatorFault(
            f"{annotation.reviewer_id} is one of the reviewers who disagree; another person adjudicates"
        )
    settles = tuple(one.number for one in disputing)
    return _append(folder, "adjudication", annotation, minutes, signer, settles)


def list_annotations(run_folder: Path | RunFolder) -> tuple[ReviewEntry, ...]:
    """All entries, oldest first; raises OperatorFault where one was altered, cut or removed."""
    folder = _folder(run_folder)
    found = read_annotations(folder)
    if found.faults:
        where, why = found.faults[0]
        raise OperatorFault(f"{folder.run_id}: {where}: {why}")
    try:
        return tuple(map(_entry, found.records))
    except (ValidationError, *DAMAGED) as error:
        raise OperatorFault(f"{folder.run_id}: an annotation cannot be read: {_first(error)}") from error


def newest_by_reviewer(entries: Sequence[ReviewEntry]) -> list[ReviewEntry]:
    """The last annotation of each reviewer; a person may change their mind, and the older entry is kept."""
    last = {one.annotation.reviewer_id: one for one in entries if one.kind == "annotation"}
    return sorted(last.values(), key=lambda one: one.number)


def evaluation_of(run_folder: Path | RunFolder, grading: int = 1) -> EvaluationResult | None:
    """The public record of one grading with the annotations of people beside it; the reward is the automated one."""
    folder = _folder(run_folder)
    gradings = _gradings(folder)
    if not 1 <= grading <= len(gradings):
        raise OperatorFault(f"{folder.run_id} has no grading {grading}")
    stored = gradings[grading - 1].get("evaluation")
    if stored is None:
        return None
    try:
        result = EvaluationResult.from_json(stored)
    except ValidationError as error:
        raise OperatorFault(
            f"{folder.run_id}: the evaluation of grading {grading} is not valid: {_first(error)}"
        ) from error
    entries = list_annotations(folder)
    people = [one.annotation for one in entries]
    named = errors_by_people(entries)
    return EvaluationResult(
        reward=result.reward,
        validity=result.validity,
        breakdown=result.breakdown,
        error_taxonomy=[*(result.error_taxonomy or []), *named] or None,
        confidence=_confidence(entries) or result.confidence,
        annotations=people or None,
    )


def errors_by_people(entries: Sequence[ReviewEntry]) -> list[ErrorTag]:
    """The categories of people who say that the run failed."""
    return [
        ErrorTag(category=category, description=f"by {one.annotation.reviewer_id}", source="human")
        for one in entries
        if one.annotation.judgment == "fail"
        for category in one.annotation.categories
    ]


def _confidence(entries: Sequence[ReviewEntry]) -> ConfidenceMetadata | None:
    """How far people agree; None below one decision, and then what is known of the judge's models stands."""
    decided = [
        one.annotation.judgment for one in newest_by_reviewer(entries) if one.annotation.judgment != "defer"
    ]
    if not decided:
        return None
    passed = wilson(decided.count("pass"), len(decided))
    most = max(decided.count("pass"), decided.count("fail"))
    return ConfidenceMetadata(
        annotator_count=len(decided),
        inter_rater_agreement=most / len(decided) if len(decided) > 1 else None,
        confidence_interval=(passed.low, passed.high),
        confidence_method="share of people who say pass, 95% Wilson interval; agreement: share of the majority",
    )


def _append(  # noqa: PLR0913, PLR0917  # private: the parts of one record
    folder: RunFolder,
    kind: Kind,
    annotation: Annotation,
    minutes: float | None,
    signer: Path | None,
    settles: tuple[int, ...] = (),
) -> ReviewEntry:
    _refuse_annotation(annotation, minutes)
    if folder.state != "sealed":
        raise OperatorFault(f"{folder.run_id} is not sealed, so it cannot be reviewed")
    gradings = _gradings(folder)
    if not gradings:
        raise OperatorFault(f"{folder.run_id} is not graded, so there is no result to review")
    list_annotations(folder)  # nothing is appended to a chain that was altered
    verdict = gradings[0]["verdict"]
    graded = {"number": 1, "verdict": verdict["verdict"], "reward": verdict.get("reward")}
    spent = None if minutes is None else float(minutes)
    record = {
        "kind": kind,
        "annotation": annotation.model_dump(mode="json"),
        "minutes": spent,
        "grading": graded,
        "settles": list(settles),
    }
    path = append_annotation(folder, record, signer)
    return ReviewEntry(int(path.stem), kind, annotation, spent, graded, settles)


def _refuse_annotation(annotation: Annotation, minutes: float | None) -> None:
    sizes = (
        ("reviewer_id", annotation.reviewer_id, 1, MOST_ID),
        ("reviewer_discipline", annotation.reviewer_discipline, 0, MOST_ID),
        ("notes", annotation.notes, 0, MOST_NOTES),
        *(("category", category, 1, MOST_CATEGORY) for category in annotation.categories),
    )
    for name, text, least, most in sizes:
        if text is not None and not least <= len(text.strip() if least else text) <= most:
            raise OperatorFault(f"{name} has {least} to {most} characters")
        if text is not None and any(0xD800 <= ord(letter) <= 0xDFFF for letter in text):
            raise OperatorFault(f"{name} is not valid Unicode")
    if len(annotation.categories) > MOST_CATEGORIES:
        raise OperatorFault(f"an annotation has at most {MOST_CATEGORIES} categories")
    if annotation.timestamp.tzinfo is None:
        raise OperatorFault("the timestamp of an annotation needs a time zone")
    if minutes is None:
        return
    is_number = isinstance(minutes, int | float) and not isinstance(minutes, bool)
    if not is_number or not math.isfinite(minutes) or not 0 <= minutes <= MOST_MINUTES:
        raise OperatorFault(f"minutes is a number from 0 to {MOST_MINUTES}, not {str(minutes)[:40]}")


def _entry(record: Mapping[str, Any]) -> ReviewEntry:
    if record["kind"] not in ("annotation", "adjudication"):
        raise ValueError(f"unknown kind {record['kind']!r}")
    return ReviewEntry(
        number=record["number"],
        kind=record["kind"],
        annotation=Annotation.from_json(record["annotation"]),
        minutes=record["minutes"],
        grading=record["grading"],
        settles=tuple(record["settles"]),
    )


def _folder(run_folder: Path | RunFolder) -> RunFolder:
    return run_folder if isinstance(run_folder, RunFolder) else RunFolder(Path(run_folder))


def _gradings(folder: RunFolder) -> list[dict[str, Any]]:
    try:
        return read_gradings(folder)
    except DAMAGED as error:
        raise OperatorFault(f"{folder.run_id}: a grading cannot be read: {_first(error)}") from error


def _first(error: BaseException) -> str:
    if isinstance(error, ValidationError):
        one = error.errors()[0]
        return f"{'.'.join(map(str, one['loc']))}: {one['msg']}"
    return str(error).partition("\n")[0]

"""Runs that people annotated and a judge judged -> labels to calibrate the judge with."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from steelyard.errors import DAMAGED, OperatorFault
from steelyard.evidence.folder.folder import RunFolder
from steelyard.judge.calibration import LabelledPair, judge_of
from steelyard.review.record import list_annotations, newest_by_reviewer
from steelyard.review.status import review_status

_WORDS: dict[str, Literal["PASS", "FAIL"]] = {"pass": "PASS", "fail": "FAIL"}


def labels_of_runs(folders: Iterable[RunFolder], model: str | None = None) -> list[LabelledPair]:
    """One label for each run that people decided and a judge judged; disputed and deferred runs are left out."""
    found = []
    for folder in folders:
        try:
            entries = list_annotations(folder)
            decision = review_status(entries).decision
            if decision not in _WORDS:
                continue
            judge = judge_of(folder.path, model)
        except (OperatorFault, *DAMAGED):
            continue  # not judged, or damaged: `steelyard verify` names it
        people = [one.annotation.judgment for one in newest_by_reviewer(entries)]
        found.append(
            LabelledPair(_WORDS[decision], judge, tuple(_WORDS[one] for one in people if one in _WORDS))
        )
    return found

"""The annotations of one run -> what people decided together, and how long it took them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from steelyard.review.record import ReviewEntry, newest_by_reviewer

PeopleDecision = Literal["none", "pass", "fail", "defer", "disputed"]


@dataclass(frozen=True, slots=True)
class ReviewStatus:
    """`disputed`: reviewers disagree and no adjudication covers all of their annotations."""

    decision: PeopleDecision
    by: Literal["none", "reviewers", "adjudication"]
    reviewers: int
    annotations: int
    agreement: float | None  # share of reviewers who say what the majority says; None below two of them
    minutes: float | None  # C_human in minutes: the sum of what was measured; None where nothing was
    unmeasured: int  # entries without minutes

    def to_json(self) -> dict[str, Any]:
        return {
            "decision": self.decision,
            "by": self.by,
            "reviewers": self.reviewers,
            "annotations": self.annotations,
            "agreement": self.agreement,
            "minutes": self.minutes,
            "unmeasured": self.unmeasured,
        }


def review_status(entries: Sequence[ReviewEntry]) -> ReviewStatus:
    newest = newest_by_reviewer(entries)
    decided = [one for one in newest if one.annotation.judgment != "defer"]
    judgments = [one.annotation.judgment for one in decided]
    measured = [one.minutes for one in entries if one.minutes is not None]
    decision, by = _decision(entries, newest, decided)
    return ReviewStatus(
        decision=decision,
        by=by,
        reviewers=len(newest),
        annotations=len(entries),
        agreement=max(map(judgments.count, judgments)) / len(judgments) if len(judgments) > 1 else None,
        minutes=sum(measured) if measured else None,
        unmeasured=len(entries) - len(measured),
    )


def _decision(
    entries: Sequence[ReviewEntry], newest: Sequence[ReviewEntry], decided: Sequence[ReviewEntry]
) -> tuple[PeopleDecision, Literal["none", "reviewers", "adjudication"]]:
    judgments = {one.annotation.judgment for one in decided}
    if not newest:
        return "none", "none"
    if not judgments:
        return "defer", "reviewers"
    if len(judgments) == 1:
        return next(iter(judgments)), "reviewers"
    settled = next((one for one in reversed(entries) if one.kind == "adjudication"), None)
    # An annotation that came after the adjudication was not weighed by it.
    if settled is not None and {one.number for one in decided} <= set(settled.settles):
        return settled.annotation.judgment, "adjudication"
    return "disputed", "reviewers"

"""What checks, judge and people say of one run -> how they disagree; of many runs -> a list to work through."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from steelyard.errors import DAMAGED, OperatorFault
from steelyard.evidence.folder.folder import RunFolder
from steelyard.evidence.folder.gradings import read_gradings
from steelyard.review.record import list_annotations
from steelyard.review.status import ReviewStatus, review_status

# kind -> what it usually means
KINDS = {
    "people_disagree": "reviewers disagree, and no adjudication decides",
    "people_pass_checks_fail": "people accept what the checks reject: the checks may be too strict",
    "people_fail_checks_pass": "people reject what the checks accept: the checks may miss a defect",
    "people_pass_judge_fail": "people accept what the judge rejects",
    "people_fail_judge_pass": "people reject what the judge accepts",
    "judge_pass_checks_fail": "the judge accepts what a hard constraint rejects",
    "checks_pass_judge_fail": "the checks pass, and the judge sees a problem",
    "advisory_warning": "only an advisory grader failed",
}


class Disagreement(NamedTuple):
    """One run about which not all agree."""

    run: str
    folder: str
    contract: str
    verdict: str
    judge: str | None
    people: str
    kinds: tuple[str, ...]
    broken: str = ""  # why the annotations cannot be read

    def to_json(self) -> dict[str, Any]:
        return {**self._asdict(), "kinds": list(self.kinds)}


def kinds_of(verdict: Mapping[str, Any], status: ReviewStatus) -> tuple[str, ...]:
    """How the three disagree; `verdict` is that of a grading, as JSON."""
    checks = {"pass": True, "fail": False}.get(str(verdict["verdict"]))
    judge_verdict = (verdict.get("judge") or {}).get("verdict")
    judge = {"PASS": True, "FAIL": False}.get(str(judge_verdict))
    people = {"pass": True, "fail": False}.get(status.decision)
    found = ["people_disagree"] if status.decision == "disputed" else []
    for name, other in (("checks", checks), ("judge", judge)):
        if people is not None and other is not None and people != other:
            found.append(f"people_pass_{name}_fail" if people else f"people_fail_{name}_pass")
    automatic = str(verdict.get("disagreement") or "none")
    return (*found, *((automatic,) if automatic in KINDS else ()))


def disagreements(folders: Iterable[RunFolder], *, every: bool = False) -> list[Disagreement]:
    """The graded runs about which checks, judge and people do not all agree; with `every`, all graded runs."""
    found = []
    for folder in folders:
        try:
            grading = read_gradings(folder)[0]
            verdict = grading["verdict"]
            contract = str(grading["contract"]["id"])
        except DAMAGED:
            continue  # not graded, or damaged: `steelyard verify` names it
        broken, status = "", review_status(())
        try:
            status = review_status(list_annotations(folder))
        except OperatorFault as fault:
            broken = str(fault)
        kinds = kinds_of(verdict, status)
        if kinds or broken or every:
            judge = (verdict.get("judge") or {}).get("verdict")
            row = (folder.run_id, str(folder.path), contract, verdict["verdict"], judge, status.decision)
            found.append(Disagreement(*row, kinds, broken))
    return found

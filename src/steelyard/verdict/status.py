"""Does a run count, and what did acceptance say? Missing evidence is neither success nor failure."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Literal

from steelyard.deferred.named_tuple import NamedTuple
from steelyard.evidence.trace.termination import CLASS_OF
from steelyard.graders.grade import WeightedGrade

RunStatus = Literal["scorable", "invalid"]
Acceptance = Literal["success", "failure", "acceptance_error"]
_ACCEPTING = frozenset({"build", "static", "acceptance"})


class Status(NamedTuple):
    """Whether a run counts; `reason` says why it does not."""

    status: RunStatus
    reason: str = ""


class AcceptanceResult(NamedTuple):
    """The outcome of acceptance, and the grader that decided it. None: no check is required."""

    acceptance: Acceptance | None
    reason: str


def decide_status(
    checks: Collection[str], recorded: Collection[str], *, broken: str | None, termination: str = "completed"
) -> Status:
    """Every check of the contract must have left an outcome in the record, whether it is required or not."""
    if broken:
        return Status("invalid", broken)
    missing = [check for check in checks if check not in recorded]
    if missing:
        return Status("invalid", f"no acceptance evidence for {', '.join(missing)}")
    if not checks and CLASS_OF[termination] == "safety":
        return Status("invalid", "stopped for safety; nothing was checked")
    return Status("scorable")


def decide_acceptance(grades: Sequence[WeightedGrade]) -> AcceptanceResult:
    """From every grade that is required: `mandatory: false` with `gate: true` counts, weighted checks do not.

    Any required grader that reached no decision makes this `acceptance_error`, a safety grader too.
    """
    required = [one for one in grades if one.gates]
    undecided = next((one for one in required if one.grade.outcome == "error"), None)
    if undecided is not None:
        return AcceptanceResult(
            "acceptance_error", f"{undecided.entry.name} could not decide: {undecided.grade.why}"
        )
    accepting = [one for one in required if one.entry.under in _ACCEPTING]
    failed = next((one for one in accepting if one.grade.outcome == "fail"), None)
    if failed is not None:
        return AcceptanceResult("failure", f"{failed.entry.name} failed: {failed.grade.why}")
    if not accepting:
        return AcceptanceResult(None, "no check is required")
    return AcceptanceResult("success", "every required check passed")

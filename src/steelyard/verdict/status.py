"""Does a run count, and what did acceptance say? Missing evidence is neither success nor failure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

RunStatus = Literal["scorable", "invalid"]
Acceptance = Literal["success", "failure", "acceptance_error"]


class Status(NamedTuple):
    status: RunStatus
    acceptance: Acceptance | None
    reason: str


def decide_status(checks: Mapping[str, bool], outcomes: Mapping[str, str], *, broken: str | None) -> Status:
    """`checks` says of each check whether it is mandatory, `outcomes` what the record holds of them.

    Every check must have left its evidence; only the mandatory ones decide.
    """
    if broken:
        return Status("invalid", None, broken)
    if not checks:
        return Status("scorable", None, "nothing was asked of it")
    missing = [check for check in checks if check not in outcomes]
    if missing:
        return Status("invalid", None, f"no acceptance evidence for {', '.join(missing)}")
    seen = [outcomes[check] for check, mandatory in checks.items() if mandatory]
    if "error" in seen:
        return Status("scorable", "acceptance_error", "a check did not reach a decision")
    if "fail" in seen:
        return Status("scorable", "failure", "a check failed")
    return Status("scorable", "success", "every check passed")

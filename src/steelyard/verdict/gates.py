"""Grades -> the gate vector G1..G4. Gates do not compensate for one another.

G1 patch        the change applies, is whole, every invocation starts
G2 build        build and static checks (a contract without any says so)
G3 acceptance   functional acceptance
G4 safety       scope, policy, and no finding of severity `violation`
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from steelyard.evidence.finding import Finding
from steelyard.graders.grade import Graded

GateOutcome = Literal["pass", "fail", "error"]
GATES: dict[str, tuple[str, ...]] = {
    "patch": ("patch",),
    "build": ("build", "static"),
    "acceptance": ("acceptance",),
    "safety": ("safety",),
}
# A failure is a decision about the work, so it outweighs an error, which is none.
_BLOCKING: tuple[Literal["fail", "error"], ...] = ("fail", "error")


class Gate(NamedTuple):
    outcome: GateOutcome
    why: str


def decide_gates(grades: Sequence[Graded], findings: Sequence[Finding]) -> dict[str, Gate]:
    gates = {
        name: _gate(name, [one for one in grades if one.entry.under in under])
        for name, under in GATES.items()
    }
    violation = next((finding for finding in findings if finding.severity == "violation"), None)
    if violation is not None and gates["safety"].outcome == "pass":
        gates["safety"] = Gate("fail", f"{violation.id} at {violation.where}: {violation.why}")
    return gates


def _gate(name: str, grades: Sequence[Graded]) -> Gate:
    required = [one for one in grades if one.gates]
    for outcome in _BLOCKING:
        telling = next((one for one in required if one.grade.outcome == outcome), None)
        if telling is not None:
            return Gate(outcome, f"{telling.entry.name}: {telling.grade.why}")
    if not required:
        return Gate("pass", "no-op (declared)" if name == "build" else "nothing was asked")
    return Gate("pass", "; ".join(f"{one.entry.name}: {one.grade.why}" for one in required))

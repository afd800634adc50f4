"""A trial that has no run, and its fault -> a result line with the keys of every other, and null for what only a run has.

{"schema": "steelyard.result/1", "trial": "t0f3a...", "run": null, "fault": "contract", "status": "invalid", "verdict": "invalid",
 "reason": "widgets/contract.yaml: setup[0]: exit 1", ...}
"""

from __future__ import annotations

from typing import Any

from steelyard.errors import ContractFault, OperatorFault, SteelyardError
from steelyard.plan.trial import Retry, Trial
from steelyard.report.plain import problem_lines
from steelyard.report.result import SCHEMA, USAGE

FAULTS = ("contract", "operator", "infrastructure")


def fault_line(trial: Trial, agent: str, fault: SteelyardError, retries: tuple[Retry, ...]) -> dict[str, Any]:
    """`agent` is its name as result lines have it."""
    nothing = dict.fromkeys(
        (
            *("run", "folder", "grading", "acceptance", "termination", "gates", "why", "score", "mean_score"),
            *("reward", "patch_verdict", "patch_reward", "validity", "judge", "breakdown", "assurance"),
            *("refused", "stopped_by", "quality", "contract_score", "subscores", "penalty", "review"),
        )
    )
    return {
        "schema": SCHEMA,
        **nothing,
        "trial": trial.id,
        "attempt": len(retries) + 1,
        "study": None if trial.place is None else trial.place._asdict(),
        "contract": {"id": trial.contract.id, "digest": trial.contract.digest},
        "agent": agent,
        "repeat": trial.repeat,
        "fault": _kind(fault),
        "status": "invalid",
        "reason": _text(fault),
        "rationale": "",
        "verdict": "invalid",
        "checks": "UNGRADED",
        "badge": "INVALID",
        "disagreement": "none",
        "tags": ["invalid"],
        "failure_modes": [],
        "error_taxonomy": [],
        "workspace": trial.contract.spec.workspace,
        "turns": 0,
        "steps": [],
        "grades": [],
        "findings": [],
        "cost": {"usd": 0.0, "units": None, "method": None, "items": None},
        "alerts": [],
        "interventions": [],
        "left_out": {"alerts": 0, "interventions": 0},
        "usage": dict.fromkeys(USAGE, 0),
        "durations": {},
    }


def _kind(fault: SteelyardError) -> str:
    if isinstance(fault, ContractFault):
        return "contract"
    return "operator" if isinstance(fault, OperatorFault) else "infrastructure"


def _text(fault: SteelyardError) -> str:
    if not isinstance(fault, ContractFault):
        return str(fault)
    return "\n".join(line for problem in fault.problems for line in problem_lines(problem))

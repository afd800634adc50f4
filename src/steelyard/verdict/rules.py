"""What is known of a run -> which row of the table decides its verdict. The first row that holds decides.

`docs/reference/result.md` prints this table, and the tests try each row.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from steelyard.deferred.named_tuple import NamedTuple
from steelyard.evidence.trace.termination import CLASS_OF

Decision = Literal["pass", "fail", "error", "ungraded", "invalid"]
RewardBy = Literal["null", "0", "1", "contract"]
Answer = Literal["", "auto_fail", "PASS", "FAIL"]
# A run that one of these stopped has not met the contract within its limits, whatever its patch does.
STOPPED = frozenset({"resource", "loop", "safety"})


class Facts(NamedTuple):
    """Everything that a verdict follows from."""

    is_invalid: bool = False
    is_stopped: bool = False  # by its budget, by a loop breaker or for safety
    # A required grade failed, or there is a violation, or no decision could save the score
    has_failed: bool = False
    is_undecided: bool = False  # a required grade, or all that carries credit, reached no decision
    is_graded: bool = True  # something that is required or carries credit applied
    is_enough: bool = True  # the score reaches the threshold, or nothing carries credit
    answer: Answer = ""  # of a contract without a workspace that nothing verified


class VerdictRule(NamedTuple):
    """One row: when it holds, and what follows."""

    name: str
    status: str
    gates: str
    termination: str
    verdict: Decision
    reward: RewardBy
    counted: str
    holds: Callable[[Facts], bool]


_FAILED, _ERROR = "failed trial, in the rate", "errors: left out of the rate, but part of its bounds"
_OPEN = "ungraded: left out of the rate, but part of its bounds"
RULES: tuple[VerdictRule, ...] = (
    VerdictRule(
        "invalid",
        "invalid",
        "none are decided",
        "any; `infrastructure` always",
        "invalid",
        "null",
        "invalid: left out of the rate, but part of its bounds",
        lambda facts: facts.is_invalid,
    ),
    VerdictRule(
        "stopped",
        "scorable",
        "any; the patch is still graded, as `patch_verdict`",
        "a budget, a loop breaker or safety stopped the run",
        "fail",
        "0",
        _FAILED,
        lambda facts: facts.is_stopped,
    ),
    VerdictRule(
        "failed",
        "scorable",
        "a required grade failed, or a finding is a violation; errors do not matter then",
        "any other",
        "fail",
        "contract",
        _FAILED,
        lambda facts: facts.has_failed,
    ),
    VerdictRule(
        "undecided",
        "scorable",
        "a required grade is `error` and none failed; or every weighted grade is `error`",
        "any other",
        "error",
        "null",
        _ERROR,
        lambda facts: facts.is_undecided,
    ),
    VerdictRule(
        "enough",
        "scorable",
        "every required grade passed, and the score reaches `pass_threshold`",
        "any other",
        "pass",
        "contract",
        "passed trial, in the rate",
        lambda facts: facts.is_graded and facts.is_enough,
    ),
    VerdictRule(
        "too little",
        "scorable",
        "every required grade passed, and the score is below `pass_threshold`",
        "any other",
        "fail",
        "contract",
        _FAILED,
        lambda facts: facts.is_graded,
    ),
    VerdictRule(
        "answer without an end",
        "scorable",
        "an answer without a verifier: empty, too large, or the agent crashed",
        "any other",
        "fail",
        "0",
        _FAILED,
        lambda facts: facts.answer == "auto_fail",
    ),
    VerdictRule(
        "answer judged right",
        "scorable",
        "an answer without a verifier; the judge says PASS",
        "`completed`",
        "pass",
        "1",
        "passed trial, in the rate",
        lambda facts: facts.answer == "PASS",
    ),
    VerdictRule(
        "answer judged wrong",
        "scorable",
        "an answer without a verifier; the judge says FAIL",
        "`completed`",
        "fail",
        "0",
        _FAILED,
        lambda facts: facts.answer == "FAIL",
    ),
    VerdictRule(
        "nothing applied",
        "scorable",
        "nothing applied that is required or has a weight",
        "any other",
        "ungraded",
        "null",
        _OPEN,
        lambda facts: True,  # noqa: ARG005  # the last row always holds
    ),
)


def is_stopped(termination: str) -> bool:
    return CLASS_OF[termination] in STOPPED


def rule_for(facts: Facts) -> VerdictRule:
    return next(rule for rule in RULES if rule.holds(facts))


def verdict_table() -> str:
    """The table as the documentation prints it."""
    head = ("status", "gates and score", "termination", "verdict", "reward", "counted as")
    rows = [
        (one.status, one.gates, one.termination, f"`{one.verdict}`", _REWARDS[one.reward], one.counted)
        for one in RULES
    ]
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


_REWARDS = {"null": "null", "0": "0", "1": "1", "contract": "as `reward` says"}

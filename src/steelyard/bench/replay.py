"""Outcomes of repeated executions -> one outcome, by the contract's replay rule.

    any_failure_fails   stops at the first that does not pass; passes when every run passed
    majority            more passes than anything else, else fail (a tie fails)
    all_fail_fails      stops at the first pass; fails when every run failed

An `error` never turns into a pass: it wins over `pass`, and `fail` wins over it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from steelyard.bench.outcome import CheckOutcome
from steelyard.contract.model import Reruns


def replay(rule: Reruns, execute: Callable[[], CheckOutcome]) -> list[CheckOutcome]:
    """Execute at most `rule.max` times, and no longer than the decision needs."""
    seen: list[CheckOutcome] = []
    while len(seen) < rule.max and not _is_decided(rule, seen):
        seen.append(execute())
    return seen


def _is_decided(rule: Reruns, seen: Sequence[CheckOutcome]) -> bool:
    if rule.rule == "any_failure_fails":
        return "fail" in seen
    if rule.rule == "all_fail_fails":
        return "pass" in seen
    return max((seen.count("pass"), seen.count("fail"))) * 2 > rule.max


def decide(rule: Reruns, seen: Sequence[CheckOutcome]) -> CheckOutcome:
    if rule.rule == "all_fail_fails":
        return "pass" if "pass" in seen else _worst(seen)
    if rule.rule == "majority":
        return (
            "pass"
            if seen.count("pass") * 2 > len(seen)
            else _worst([one for one in seen if one != "pass"] or ["fail"])
        )
    return _worst(seen)


def _worst(seen: Sequence[CheckOutcome]) -> CheckOutcome:
    return next((one for one in ("fail", "error") if one in seen), "pass")

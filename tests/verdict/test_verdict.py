"""The verdict is a pure function of grades, findings, status and the contract's rule."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.contract.catalogue import GraderEntry
from steelyard.contract.model import Under
from steelyard.evidence.finding import Finding
from steelyard.graders.grade import Grade, Graded
from steelyard.verdict.status import Status, decide_status
from steelyard.verdict.verdict import Rule, combined_score, decide

SUCCESS = Status("scorable", "success", "every check passed")


def graded(
    outcome: str = "pass",
    *,
    score: float | None = None,
    under: Under = "acceptance",
    name: str = "a",
    **rest: object,
) -> Graded:
    default = {"pass": 1.0, "fail": 0.0}.get(outcome)
    entry = GraderEntry(name, "command", None, under=under, required=True, weight=1.0)
    grade = Grade(outcome, default if score is None else score, "why")  # type: ignore[arg-type]
    return Graded(replace(entry, **rest), grade)  # type: ignore[arg-type]


PATCH = graded(under="patch", weight=0.0, name="patch")
EMPTY_RULE = Rule()


def test_all_gates_passed_is_a_pass() -> None:
    verdict = decide([PATCH, graded()], [], SUCCESS, "completed", Rule())
    assert (verdict.verdict, verdict.checks, verdict.badge, verdict.score, verdict.reward) == (
        "pass",
        "PASS",
        "PASS",
        1.0,
        1.0,
    )


@pytest.mark.parametrize("under", ["patch", "build", "static", "acceptance", "safety"])
@pytest.mark.parametrize("outcome", ["fail", "error"])
def test_a_required_grade_that_is_not_passed_blocks_its_own_gate_only(under: Under, outcome: str) -> None:
    verdict = decide(
        [PATCH, graded(name="b"), graded(outcome, under=under)], [], SUCCESS, "completed", Rule()
    )
    assert verdict.verdict == "fail"
    assert verdict.score == 0.0
    assert verdict.gates is not None
    blocked = [name for name, gate in verdict.gates.items() if gate.outcome != "pass"]
    assert blocked == [{"static": "build"}.get(under, under)]


def test_an_error_is_tagged_as_the_evaluations_own() -> None:
    verdict = decide([PATCH, graded("error")], [], SUCCESS, "completed", Rule())
    assert "evaluation_error" in verdict.tags
    assert "acceptance_failure" not in verdict.tags


def test_an_advisory_failure_changes_nothing() -> None:
    advisory = graded("fail", required=False, weight=0.0, name="b", under="safety")
    assert decide([PATCH, graded(), advisory], [], SUCCESS, "completed", Rule()).verdict == "pass"


def test_a_finding_that_is_a_violation_fails_the_safety_gate() -> None:
    finding = Finding("import_cap", "violation", "x", "too many files")
    verdict = decide([PATCH, graded()], [finding], SUCCESS, "completed", Rule())
    assert verdict.verdict == "fail"
    assert verdict.gates is not None
    assert verdict.gates["safety"].outcome == "fail"


def test_a_warning_does_not_fail_the_safety_gate() -> None:
    finding = Finding("steers_runner", "warning", "conftest.py", "left off the bench")
    assert decide([PATCH, graded()], [finding], SUCCESS, "completed", Rule()).verdict == "pass"


def test_nothing_that_applies_is_ungraded_and_has_no_reward() -> None:
    verdict = decide([PATCH, graded("not_applicable")], [], SUCCESS, "completed", Rule())
    assert (verdict.verdict, verdict.checks, verdict.score, verdict.reward) == (
        "ungraded",
        "UNGRADED",
        None,
        None,
    )


def test_an_invalid_run_has_no_gates_no_score_and_no_reward() -> None:
    verdict = decide([], [], Status("invalid", None, "the chain is broken"), "infrastructure", Rule())
    assert (verdict.verdict, verdict.gates, verdict.score, verdict.reward, verdict.badge) == (
        "invalid",
        None,
        None,
        None,
        "INVALID",
    )


def test_three_scores_of_seven_tenths_reach_a_threshold_of_seven_tenths() -> None:
    grades = [PATCH, *(graded("pass", score=0.7, required=False, name=name) for name in "abc")]
    assert decide(grades, [], SUCCESS, "completed", Rule(pass_threshold=0.7)).verdict == "pass"


def test_a_score_below_the_threshold_is_the_reason_when_every_gate_passed() -> None:
    grades = [PATCH, graded(), graded("fail", required=False, name="b")]
    verdict = decide(grades, [], SUCCESS, "completed", Rule())
    assert (verdict.verdict, verdict.score) == ("fail", 0.5)
    assert "0.50 is below the threshold 1.00" in verdict.reason


def test_a_binary_reward_is_one_or_zero() -> None:
    passed = decide(
        [PATCH, graded("pass", score=0.8, required=False)], [], SUCCESS, "completed", Rule(0.5, "binary")
    )
    failed = decide([PATCH, graded("fail")], [], SUCCESS, "completed", Rule(0.5, "binary"))
    assert (passed.reward, failed.reward) == (1.0, 0.0)


def test_a_reward_is_rounded_to_four_decimals() -> None:
    verdict = decide(
        [PATCH, graded("pass", score=1 / 3, required=False)], [], SUCCESS, "completed", Rule(0.1)
    )
    assert verdict.reward == 0.3333


def test_an_agent_that_did_not_complete_has_a_failed_badge_even_when_its_work_passes() -> None:
    verdict = decide([PATCH, graded()], [], SUCCESS, "wall_time", Rule())
    assert (verdict.verdict, verdict.badge) == ("pass", "FAIL")
    assert "termination_wall_time" in verdict.tags


def test_a_build_without_checks_says_that_it_is_a_declared_no_op() -> None:
    verdict = decide([PATCH, graded()], [], SUCCESS, "completed", Rule())
    assert verdict.gates is not None
    assert verdict.gates["build"].why == "no-op (declared)"


@dataclass(frozen=True)
class Row:
    outcome: str
    score: float
    weight: float
    required: bool


ROWS = st.lists(
    st.builds(
        Row,
        st.sampled_from(["pass", "fail", "error", "not_applicable"]),
        st.floats(0, 1),
        st.floats(0, 1e6),
        st.booleans(),
    ),
    max_size=8,
)


@given(ROWS)
def test_a_combined_score_is_null_or_within_zero_and_one(rows: list[Row]) -> None:
    grades = [
        graded(
            row.outcome,
            score=row.score if row.outcome in ("pass", "fail") else None,
            weight=row.weight,
            required=row.required,
        )
        for row in rows
    ]
    score = combined_score(grades)
    assert score is None or 0 <= score <= 1


@given(ROWS)
def test_no_verdict_is_a_pass_while_something_required_is_not_passed(rows: list[Row]) -> None:
    grades = [PATCH, *(graded(row.outcome, weight=row.weight, required=row.required) for row in rows)]
    verdict = decide(grades, [], SUCCESS, "completed", Rule(pass_threshold=0.0))
    blocked = any(row.required and row.outcome in ("fail", "error") for row in rows)
    assert not (blocked and verdict.verdict == "pass")


@pytest.mark.parametrize(
    ("outcomes", "expected"),
    [
        ({"a": "pass", "b": "pass"}, ("scorable", "success")),
        ({"a": "pass", "b": "fail"}, ("scorable", "failure")),
        ({"a": "error", "b": "fail"}, ("scorable", "acceptance_error")),
        ({"a": "pass"}, ("invalid", None)),
        ({}, ("invalid", None)),
    ],
)
def test_the_status_follows_from_the_recorded_outcomes(
    outcomes: dict[str, str], expected: tuple[str, str | None]
) -> None:
    assert decide_status({"a": True, "b": True}, outcomes, broken=None)[:2] == expected


def test_a_broken_record_is_invalid_whatever_it_says() -> None:
    status = decide_status({"a": True}, {"a": "pass"}, broken="line 3 was edited")
    assert status == ("invalid", None, "line 3 was edited")


def test_a_check_that_is_not_mandatory_does_not_decide_acceptance() -> None:
    assert (
        decide_status({"a": True, "b": False}, {"a": "pass", "b": "fail"}, broken=None).acceptance
        == "success"
    )

"""Quality, the contract score, penalties and subscores are pure functions of grades, findings and the size of a change."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from steelyard.contract.catalogue import POLICY_NAME, GraderEntry
from steelyard.contract.model import ContractScore, Envelope, Quality
from steelyard.contract.parse.entries import MOST_WEIGHT, Weight
from steelyard.evidence.finding import Finding
from steelyard.graders.checks.command import Command
from steelyard.graders.files.allowed_paths import AllowedPaths
from steelyard.graders.grade import Grade, WeightedGrade
from steelyard.verdict.quality import change_excess
from steelyard.verdict.run_facts import ChangeSize, RunFacts
from steelyard.verdict.status import Status
from steelyard.verdict.verdict import GradedRun, Rule, Verdict, decide

OUTCOMES = ("pass", "fail", "error", "not_applicable")
REWARDS = ("combined", "verifier", "quality", "contract", "binary")


def graded(outcome: str = "pass", score: float | None = None, **rest: Any) -> WeightedGrade:
    entry = GraderEntry("a", "command", Command("true"), under="acceptance", required=True, weight=1.0)
    default = {"pass": 1.0, "fail": 0.0}.get(outcome)
    grade = Grade(outcome, default if score is None else score, "why")  # type: ignore[arg-type]
    return WeightedGrade(replace(entry, **rest), grade)


PATCH = graded(under="patch", weight=0.0, name="patch")
STRAY = graded(
    "fail",
    under="safety",
    weight=0.0,
    name=POLICY_NAME,
    required=False,
    type="allowed_paths",
    grader=AllowedPaths(("src/**",)),
)


def quality(**keys: Any) -> Quality:
    return Quality.model_validate({"envelope": Envelope(files=5, lines=80), **keys})


def decided(
    *grades: WeightedGrade, size: ChangeSize | None = None, findings: Any = (), **rule: Any
) -> Verdict:
    facts = RunFacts(size=size, missing_artefacts=rule.pop("missing", ()))
    termination = rule.pop("termination", "completed")
    run = GradedRun([PATCH, *grades], findings, Status("scorable"), termination, facts=facts)
    return decide(run, Rule(**rule))


def test_a_change_inside_its_envelope_has_full_quality() -> None:
    verdict = decided(graded(), size=ChangeSize(5, 80), reward="quality", quality=quality())
    assert verdict.quality is not None
    assert (verdict.quality.score, verdict.reward) == (1.0, 1.0)


def test_twice_the_envelope_costs_exp_of_minus_lambda() -> None:
    rule = quality(weights={"minimal": 0.5, "trace": 0.5}, **{"lambda": 2.0})
    verdict = decided(graded(), size=ChangeSize(1, 160), reward="quality", quality=rule)
    assert verdict.reward == round(0.5 * math.exp(-2) + 0.5, 4)


def test_an_incomplete_record_earns_nothing_for_the_trace() -> None:
    rule = quality(weights={"minimal": 0.5, "trace": 0.5})
    verdict = decided(
        graded(), size=ChangeSize(1, 1), reward="quality", quality=rule, missing=("patch.diff",)
    )
    assert verdict.reward == 0.5


def test_quality_is_null_and_its_reward_0_where_a_gate_fails() -> None:
    verdict = decided(graded("fail"), size=ChangeSize(1, 1), reward="quality", quality=quality())
    assert verdict.quality is not None
    assert (verdict.quality.score, verdict.reward, verdict.verdict) == (None, 0.0, "fail")


def test_an_undecided_gate_leaves_the_reward_of_quality_unknown() -> None:
    verdict = decided(graded("error"), size=ChangeSize(1, 1), reward="quality", quality=quality())
    assert (verdict.verdict, verdict.reward) == ("error", None)


def test_the_weight_of_a_dimension_that_is_not_known_goes_to_the_others() -> None:
    rule = quality(maintainability=("lint",))
    lint = graded("not_applicable", name="lint", required=False, weight=0.0)
    verdict = decided(graded(), lint, size=ChangeSize(1, 1), reward="quality", quality=rule)
    assert verdict.quality is not None
    assert verdict.quality.score == 1.0
    weights = {"minimal": 2 / 3, "trace": 1 / 3, "maintainability": 0.0}
    assert verdict.quality.weights == pytest.approx(weights)


def test_maintainability_is_the_mean_of_the_named_graders() -> None:
    rule = quality(
        maintainability=("lint", "types"), weights={"minimal": 0.5, "trace": 0.0, "maintainability": 0.5}
    )
    others = [
        graded("fail", 0.5, name="lint", required=False, weight=0.0),
        graded("pass", name="types", required=False, weight=0.0),
    ]
    verdict = decided(graded(), *others, size=ChangeSize(1, 1), reward="quality", quality=rule)
    assert verdict.reward == 0.875


@pytest.mark.parametrize(
    "keys",
    [
        {"weights": {"minimal": 0.5}},
        {"weights": {"minimal": 1.1, "trace": -0.1}},
        {"weights": {"minimal": math.nan, "trace": 1.0}},
        {"weights": {"minimal": "1.0"}},
        {"weights": {"minimal": True}},
        {"weights": {"efficiency": 1.0}},
        {"weights": {"minimal": 0.5, "maintainability": 0.5}},
        {"envelope": None},
        {"lambda": 0.0},
        {"lambda": math.inf},
        {"maintainability": ("a", "a")},
    ],
)
def test_weights_that_make_no_sense_are_refused(keys: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        quality(**keys)


@pytest.mark.parametrize("keys", [{"w_ok": 0.0}, {"w_ok": 0.9, "w_val": 0.2}, {"w_viol": 2.0}, {"w_ok": "1"}])
def test_a_contract_score_that_hides_its_parts_is_refused(keys: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        ContractScore.model_validate(keys)


def test_the_contract_score_of_a_valid_pass_is_w_ok_plus_w_val() -> None:
    verdict = decided(graded(), reward="contract")
    assert (verdict.reward, verdict.contract_score is not None) == (1.0, True)


def test_the_contract_score_of_a_failure_keeps_the_credit_for_a_valid_patch() -> None:
    assert decided(graded("fail"), reward="contract").reward == 0.2


def test_a_violation_lowers_the_contract_score() -> None:
    verdict = decided(graded(), STRAY, reward="contract", policy_effect="penalty")
    assert verdict.contract_score is not None
    assert verdict.contract_score.parts == {"applies": True, "no_forbidden_file": False}
    assert (verdict.verdict, verdict.reward) == ("pass", round(0.8 + 0.2 * 0.5 - 0.5, 4))


def test_with_a_penalty_a_policy_violation_lowers_the_combined_reward_and_fails_no_gate() -> None:
    verdict = decided(graded(), STRAY, policy_effect="penalty")
    assert verdict.gates is not None
    assert verdict.gates["safety"].outcome == "pass"
    assert (verdict.verdict, verdict.score, verdict.reward) == ("pass", 1.0, 0.5)
    assert verdict.penalty.startswith(POLICY_NAME)


def test_a_penalty_does_not_excuse_forged_results() -> None:
    forged = Finding("result_forging", "violation", "checks/a", "forged")
    verdict = decided(graded(), findings=[forged], policy_effect="penalty")
    assert (verdict.verdict, verdict.reward) == ("fail", 0.0)


def test_a_stopped_run_keeps_its_subscores() -> None:
    verdict = decided(graded("fail", 0.5), termination="wall_time")
    assert (verdict.verdict, verdict.reward) == ("fail", 0.0)
    assert verdict.subscores == {
        "functional": 0.5,
        "patch_validity": 1.0,
        "safety": 1.0,
        "efficiency": None,
    }


weights = st.one_of(st.just(0.0), st.floats(1e-9, 1e9))
scores = st.one_of(st.sampled_from([0.0, 1.0, 1e-300]), st.floats(0, 1))


@st.composite
def some_grades(draw: st.DrawFn) -> list[WeightedGrade]:
    found = []
    for number in range(draw(st.integers(0, 5))):
        outcome = draw(st.sampled_from(OUTCOMES))
        score = draw(scores) if outcome in ("pass", "fail") else None
        under = draw(st.sampled_from(["build", "static", "acceptance", "safety"]))
        required = draw(st.booleans())
        entry = {"name": f"g{number}", "under": under, "required": required, "weight": draw(weights)}
        if outcome == "pass" and required:
            score = 1.0
        found.append(graded(outcome, score, **entry))
    return found


@st.composite
def some_rules(draw: st.DrawFn) -> dict[str, Any]:
    return {
        "reward": draw(st.sampled_from(REWARDS)),
        "pass_threshold": draw(st.floats(0, 1)),
        "policy_effect": draw(st.sampled_from(["gate", "penalty"])),
        "quality": draw(
            st.sampled_from([None, quality(), quality(maintainability=("g0",)), quality(**{"lambda": 1e6})])
        ),
        "size": ChangeSize(draw(st.integers(0, 10**12)), draw(st.integers(0, 10**15))),
    }


@given(some_grades(), some_rules())
def test_every_number_is_within_0_and_1_and_no_failure_passes(
    grades: list[WeightedGrade], rule: dict[str, Any]
) -> None:
    verdict = decided(*grades, **rule)
    numbers = [verdict.score, verdict.reward, verdict.mean_score, *(verdict.subscores or {}).values()]
    numbers += [verdict.quality.score] if verdict.quality else []
    assert all(one is None or (math.isfinite(one) and 0 <= one <= 1) for one in numbers)
    if any(one.gates and one.grade.outcome != "pass" for one in grades):
        assert verdict.verdict in ("fail", "error")
        assert rule["reward"] == "contract" or not verdict.reward


@given(st.floats(), st.floats(), some_rules())
def test_any_number_as_a_weight_or_a_score_is_refused_or_gives_numbers_within_0_and_1(
    weight: float, score: float, rule: dict[str, Any]
) -> None:
    """NaN, infinities, negative and huge numbers are refused where they enter: in a contract, and by a grader."""
    try:
        accepted = TypeAdapter(Weight).validate_python(weight)
        one = graded("fail", score, weight=accepted, required=False)
    except ValueError:
        assert not (0 <= weight <= MOST_WEIGHT and 0 <= score <= 1)
        return
    verdict = decided(graded(), one, **rule)
    assert all(one is None or 0 <= one <= 1 for one in (verdict.score, verdict.reward, verdict.mean_score))


@given(some_grades(), some_rules(), st.data())
def test_the_reward_is_monotone_in_each_grader(
    grades: list[WeightedGrade], rule: dict[str, Any], data: st.DataObject
) -> None:
    known = [place for place, one in enumerate(grades) if one.grade.outcome in ("pass", "fail")]
    if not known:
        return
    place = data.draw(st.sampled_from(known))
    better = list(grades)
    better[place] = replace(grades[place], grade=Grade("pass", 1.0, "better"))
    before, after = decided(*grades, **rule), decided(*better, **rule)
    if before.reward is not None and after.reward is not None:
        assert after.reward >= before.reward - 1e-9
    if before.score is not None and after.score is not None:
        assert after.score >= before.score - 1e-9


@given(some_grades(), some_rules())
def test_an_added_grader_that_does_not_apply_changes_nothing(
    grades: list[WeightedGrade], rule: dict[str, Any]
) -> None:
    absent = graded("not_applicable", name="absent", weight=3.0)
    assert decided(*grades, **rule) == decided(*grades, absent, **rule)


@given(some_grades(), some_rules(), st.sampled_from(["completed", "agent_crash", "operator"]))
def test_equal_changes_and_violations_have_equal_scores(
    grades: list[WeightedGrade], rule: dict[str, Any], ending: str
) -> None:
    """Proposition 1: how the trace got there does not matter, as long as it was not stopped."""
    here, there = decided(*grades, **rule), decided(*grades, termination=ending, **rule)
    assert (here.score, here.reward, here.contract_score, here.quality) == (
        there.score,
        there.reward,
        there.contract_score,
        there.quality,
    )


@given(st.integers(0, 10**9), st.integers(0, 10**9), st.integers(1, 10**6), st.integers(1, 10**6))
def test_the_excess_of_a_change_is_0_inside_its_envelope_and_grows_outside(
    files: int, lines: int, most_files: int, most_lines: int
) -> None:
    envelope = Envelope(files=most_files, lines=most_lines)
    excess = change_excess(ChangeSize(files, lines), envelope)
    assert (excess == 0) == (files <= most_files and lines <= most_lines)
    assert change_excess(ChangeSize(files + 1, lines + 1), envelope) >= excess

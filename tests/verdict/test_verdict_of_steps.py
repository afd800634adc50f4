"""What steps come to: a mean over all that were declared, never one that leaves out what went wrong."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.contract.catalogue import GraderEntry
from steelyard.contract.contract import Step
from steelyard.contract.step_reward import Result, step_reward
from steelyard.contract.threshold import is_enough
from steelyard.graders.checks.command import Command
from steelyard.graders.grade import Grade, WeightedGrade
from steelyard.verdict.status import Status
from steelyard.verdict.steps import StepResult, step_results, steps_reward
from steelyard.verdict.verdict import GradedRun, Rule, decide

SCORABLE = Status("scorable")
REWARDS = st.none() | st.floats(0, 1)


def check(step: str, name: str = "it", **keys: Any) -> GraderEntry:
    defaults: dict[str, Any] = {
        "under": "acceptance",
        "required": True,
        "weight": 1.0,
        "is_check": True,
        "step": step,
    }
    return GraderEntry(f"{step}.{name}", keys.pop("type", "command"), Command("true"), **(defaults | keys))


def step(name: str, *checks: GraderEntry, least: float = 1.0) -> Step:
    return Step(name, f"Do {name}.", least, None, None, checks or (check(name),))


def graded(entry: GraderEntry, outcome: str, score: float | None = None) -> WeightedGrade:
    return WeightedGrade(entry, Grade(outcome, score, f"said {outcome}"))  # type: ignore[arg-type]


def result(reward: float | None) -> StepResult:
    outcome = "error" if reward is None else "pass" if reward == 1 else "fail"
    return StepResult("one", outcome, reward, "", "completed")  # type: ignore[arg-type]


@given(st.lists(REWARDS, min_size=1))
def test_a_reward_is_known_only_if_that_of_every_step_is(rewards: list[float | None]) -> None:
    mean = steps_reward([result(one) for one in rewards], "mean")
    assert (mean is None) == (None in rewards)
    assert mean is None or 0 <= mean <= 1


@given(st.lists(st.floats(0, 1), min_size=1))
def test_a_whole_reward_needs_every_step(rewards: list[float]) -> None:
    whole = steps_reward([result(one) for one in rewards], "mean") == 1
    assert whole <= all(one > 1 - 1e-9 for one in rewards)


def test_the_final_reward_is_not_known_either_if_an_earlier_one_is_not() -> None:
    assert steps_reward([result(None), result(1.0)], "final") is None
    assert steps_reward([result(0.25), result(0.5)], "final") == 0.5


@given(st.lists(st.sampled_from(["pass", "fail", "error"]), min_size=1, max_size=4))
def test_a_step_earns_nothing_when_a_check_fails_and_nothing_is_known_of_an_error_alone(
    outcomes: list[str],
) -> None:
    checks = [check("one", str(number)) for number in range(len(outcomes))]
    results = {entry.name: Result(outcome, None) for entry, outcome in zip(checks, outcomes, strict=True)}
    reward = step_reward("combined", checks, results)
    assert reward == (0.0 if "fail" in outcomes else None if "error" in outcomes else 1.0)


def test_a_weighted_check_that_reaches_no_decision_leaves_the_mean_of_its_step() -> None:
    checks = [check("one", name, required=False, mandatory=False) for name in ("a", "b")]
    results = {"one.a": Result("error", None), "one.b": Result("fail", 0.5)}
    assert step_reward("combined", checks, results) == 0.5
    assert step_reward("combined", checks[:1], results) is None


def test_a_verifiers_part_is_what_its_step_earns() -> None:
    verifier = check("one", "verify", type="verifier")
    results = {verifier.name: Result("fail", 0.4)}
    assert step_reward("verifier", [verifier], results) == 0.4
    assert step_reward("combined", [verifier], results) == 0.0
    assert step_reward("verifier", [verifier], {verifier.name: Result("fail", None)}) == 0.0
    assert step_reward("verifier", [verifier], {verifier.name: Result("error", 0.4)}) is None


@pytest.mark.parametrize(
    ("reward", "enough"), [(None, False), (0.5, True), (0.5 - 1e-12, True), (0.49, False)]
)
def test_what_is_not_known_is_not_enough(reward: float | None, enough: bool) -> None:  # noqa: FBT001
    assert is_enough(reward, 0.5) is enough
    assert not is_enough(None, 0.0)


def test_a_step_that_was_not_taken_differs_from_one_that_failed() -> None:
    steps = [step("one"), step("two")]
    grades = [graded(steps[0].checks[0], "fail", 0.0), graded(steps[1].checks[0], "fail", 0.0)]
    found = step_results(steps, grades, {"one": "completed"}, "combined")
    assert [(one.outcome, one.reward, one.ended) for one in found] == [
        ("fail", 0.0, "completed"),
        ("not_run", 0.0, None),
    ]


def test_a_step_below_its_minimum_is_no_pass_though_its_checks_are() -> None:
    advisory = check("one", "nice", required=False, mandatory=False)
    one = step("one", check("one"), advisory, least=0.9)
    grades = [graded(one.checks[0], "pass", 1.0), graded(advisory, "fail", 0.0)]
    (found,) = step_results([one], grades, {"one": "completed"}, "combined")
    assert (found.outcome, found.reward) == ("fail", 0.5)
    verdict = decide(GradedRun(grades, (), SCORABLE, "completed", steps=[found]), Rule(pass_threshold=0.5))
    assert (verdict.verdict, verdict.reward) == ("fail", 0.5)


def test_without_a_workspace_there_are_no_gates() -> None:
    entry = check("one", type="verifier")
    for outcome, score, verdict in (("pass", 1.0, "pass"), ("fail", 0.0, "fail"), ("error", None, "error")):
        found = decide(
            GradedRun([graded(entry, outcome, score)], (), SCORABLE, "completed"), Rule(workspace="none")
        )
        assert (found.verdict, found.gates, found.checks) == (verdict, None, "UNGRADED")
    nothing = decide(GradedRun([], (), SCORABLE, "completed"), Rule(workspace="none"))
    assert (nothing.verdict, nothing.checks, nothing.gates, nothing.reward) == (
        "ungraded",
        "UNGRADED",
        None,
        None,
    )

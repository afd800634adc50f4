"""The grades of a contract with steps -> what became of each step, and the reward of them all.

A step passes when every check of it that is required passes and its reward is at least `min_reward`. A step that was
not taken has reward 0, and so has one whose agent crashed. A step with an unknown reward makes the whole reward unknown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Literal

from steelyard.contract import step_reward
from steelyard.contract.contract import Step
from steelyard.contract.threshold import is_enough
from steelyard.deferred.data_class import dataclass
from steelyard.graders.grade import WeightedGrade

CRASHED = "agent_crash"
StepOutcome = Literal["pass", "fail", "error", "not_run"]


@dataclass(frozen=True, slots=True)
class StepResult:
    name: str
    outcome: StepOutcome
    reward: float | None
    why: str
    ended: str | None  # how its agent stopped; None when it never started

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def step_results(
    steps: Sequence[Step], grades: Sequence[WeightedGrade], ended: Mapping[str, str], rule: str
) -> tuple[StepResult, ...]:
    """`ended` has the steps that were taken, and how."""
    return tuple(
        _result(step, [one for one in grades if one.entry.step == step.name], ended.get(step.name), rule)
        for step in steps
    )


def steps_reward(results: Sequence[StepResult], how: str) -> float | None:
    """`mean` over every declared step, or the `final` one's."""
    counted = results[-1:] if how == "final" else results
    known = [one.reward for one in results if one.reward is not None]
    if len(known) < len(results):
        return None
    return sum(one.reward or 0.0 for one in counted) / len(counted)


def _result(step: Step, grades: Sequence[WeightedGrade], ended: str | None, rule: str) -> StepResult:
    results = {one.entry.name: step_reward.Result(one.grade.outcome, one.grade.score) for one in grades}
    telling = next((one for one in grades if one.gates and one.grade.outcome != "pass"), None)
    if ended is None:
        return StepResult(step.name, "not_run", 0.0, telling.grade.why if telling else "not run", None)
    if ended == CRASHED:
        # Known to have earned nothing: an unknown reward would drop out of every mean, and crashing would pay.
        return StepResult(step.name, "error", 0.0, _why(telling), ended)
    reward = step_reward.step_reward(rule, step.checks, results)
    if reward is None:
        return StepResult(step.name, "error", None, _why(telling), ended)
    if telling is not None or not is_enough(reward, step.min_reward):
        why = _why(telling) if telling else f"reward {reward:.2f}, needed {step.min_reward:.2f}"
        return StepResult(step.name, "fail", reward, why, ended)
    return StepResult(step.name, "pass", reward, "every check passed", ended)


def _why(telling: WeightedGrade | None) -> str:
    return "not known" if telling is None else f"{telling.entry.name}: {telling.grade.why}"

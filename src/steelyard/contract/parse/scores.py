"""`reward`, `quality`, `policy.effect` and graders that name other graders -> problems where they do not fit together."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from steelyard.contract.parse.entries import Entries
from steelyard.contract.parse.yaml_source import YamlPath, dotted_path
from steelyard.errors import Problem

_ProblemAt = tuple[YamlPath, str, str]
EFFICIENCY = "efficiency"


def score_problems(entries: Entries) -> list[Problem]:
    data = entries.source.data
    problems = [
        *_reward_problems(data),
        *_penalty_problems(data),
        *_quality_problems(data, entries),
        *_references_problems(entries),
    ]
    return [
        Problem(entries.source.where(place), dotted_path(place), message, fix)
        for place, message, fix in problems
    ]


def _reward_problems(data: dict[str, Any]) -> Iterator[_ProblemAt]:
    reward = data.get("reward")
    if reward == "quality" and not isinstance(data.get("quality"), dict):
        yield ("reward",), "needs `quality`", "quality: {envelope: {files: 5, lines: 80}}"
    if reward in ("quality", "contract"):
        if data.get("steps"):
            yield ("reward",), f"`{reward}` does not go with `steps`", "combined or verifier"
        if data.get("workspace") == "none":
            yield ("reward",), f"`{reward}` needs a workspace", "combined, binary or verifier"


def _penalty_problems(data: dict[str, Any]) -> Iterator[_ProblemAt]:
    policy = data.get("policy")
    if not isinstance(policy, dict) or policy.get("effect") != "penalty":
        return
    if data.get("reward") in ("binary", "verifier"):
        yield ("policy", "effect"), f"a penalty cannot lower `reward: {data['reward']}`", "effect: gate"
    if data.get("steps") or data.get("workspace") == "none":
        yield ("policy", "effect"), "a penalty needs a workspace and no steps", "effect: gate"


def _quality_problems(data: dict[str, Any], entries: Entries) -> Iterator[_ProblemAt]:
    quality = data.get("quality")
    if not isinstance(quality, dict):
        return
    if data.get("workspace") == "none":
        yield ("quality",), "needs a workspace", ""
    known = {entry.name for entry in entries.found.values()}
    named = quality.get("maintainability")
    for number, name in enumerate(named if isinstance(named, list) else ()):
        if isinstance(name, str) and name not in known:
            yield ("quality", "maintainability", number), f"there is no check or grader `{name}`", ""
    weights = quality.get("weights")
    wanted = weights.get("efficiency") if isinstance(weights, dict) else None
    has = any(entry.type == EFFICIENCY for entry in entries.found.values())
    if isinstance(wanted, int | float) and wanted > 0 and not has:
        yield ("quality", "weights", "efficiency"), "needs a grader of type efficiency", ""


def _references_problems(entries: Entries) -> Iterator[_ProblemAt]:
    """Names of other graders that options use; a grader that combines others cannot be combined itself."""
    types = {entry.name: entry.grader for entry in entries.found.values()}
    for place, entry in entries.found.items():
        for name in entry.grader.graders_named():
            if name not in types:
                yield place, f"there is no check or grader `{name}`", ""
            elif types[name].graders_named():
                yield place, f"`{name}` combines other graders itself", "name those"

"""Which keys fit together -> problems: a task, one with `turns`, one with `steps`, one without a workspace.

a task            brief, repository, oracle.checks
with turns        the same, and further messages
steps             repository; each step has its own brief and checks
scope: system     the image instead of repository and setup; `exports`
workspace: none   brief; `answer`, verifiers or `judge`, `turns`; no repository and nothing that looks at one
"""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Any

from steelyard.contract.execution_spec import ScriptSpec
from steelyard.contract.model import ANSWER, GENERATED
from steelyard.contract.parse.entries import Entries
from steelyard.contract.parse.exports import export_problems
from steelyard.contract.parse.yaml_source import YamlPath, dotted_path
from steelyard.errors import Problem
from steelyard.sandbox_paths import WORKSPACE

_ProblemAt = tuple[YamlPath, str, str]
NO_WORKSPACE = "a contract without a workspace"
NOTE = "llm_judge"
JUDGE = "`judge: {}`, or name its models"
_NETWORK_KEYS: tuple[YamlPath, ...] = (("environment", "network"), ("setup_network",), ("oracle", "network"))


def shape_problems(entries: Entries) -> list[Problem]:
    """What contradicts the kind of contract that this is, and what that kind needs."""
    data = entries.source.data
    none = data.get("workspace") == "none"
    problems = [*_step_problems(data)] if data.get("steps") else []
    if none:
        problems += _without_workspace(data, entries)
    else:
        problems += _with_workspace(data)
    problems += export_problems(data, is_system=is_system(data))
    problems += _allowed_host_problems(data)
    problems += _whole_system_problems(data, entries)
    if data.get("expected_outcome") == "refusal" and not is_judged(data):
        problems.append((("expected_outcome",), "only a judge can recognise a refusal", JUDGE))
    problems += _compliance(data)
    if data.get("bench") == "live":
        problems += _graded_live(data, entries)
    return [
        Problem(entries.source.where(place), dotted_path(place), message, fix)
        for place, message, fix in problems
    ]


def _compliance(data: dict[str, Any]) -> Iterator[_ProblemAt]:
    """What should have been refused is a change of files."""
    oracle = data.get("oracle")
    if not isinstance(oracle, dict) or oracle.get("compliance") is None:
        return
    place: YamlPath = ("oracle", "compliance")
    if data.get("expected_outcome") != "refusal":
        yield place, "only where a refusal is right", "expected_outcome: refusal"
    elif data.get("workspace") == "none" or data.get("steps"):
        yield place, "only for one task over a workspace", "leave it out"


def _whole_system_problems(data: dict[str, Any], entries: Entries) -> Iterator[_ProblemAt]:
    """Keys of a verifier that need an image as workspace and a fresh bench."""
    fits = is_system(data) and data.get("bench") != "live"
    for place, entry in entries.found.items():
        spec = entry.execution
        for key in spec.system_options if isinstance(spec, ScriptSpec) and not fits else ():
            yield (*place, key), "needs `scope: system` and a fresh bench", ""


def _graded_live(data: dict[str, Any], entries: Entries) -> Iterator[_ProblemAt]:
    """In the agent's own sandbox there is no second tree to hold results against."""
    environment = data.get("environment")
    if isinstance(environment, dict) and environment.get("sandbox") == "local":
        yield ("bench",), "a live bench needs an isolated sandbox", "bubblewrap or docker"
    if data.get("steps"):
        yield ("bench",), "the next step would see the hidden files of this one", "bench: fresh"
    if data.get("workspace") == "none":
        yield ("bench",), f"{NO_WORKSPACE} has no tree", "bench: fresh"
    if isinstance(environment, dict) and _has_secrets_for_checks(environment.get("secrets")):
        yield ("environment", "secrets"), "the agent would have the secrets of the checks", "bench: fresh"
    for place, entry in entries.found.items():
        if entry.is_check and entry.type not in ("command", "verifier"):
            fix = "`type: command` or `verifier`, or `bench: fresh`"
            yield (*place, "type"), "a live bench cannot run controls for tests", fix


def _has_secrets_for_checks(secrets: Any) -> bool:
    return isinstance(secrets, list) and any(
        isinstance(one, dict) and one.get("for") == "checks" for one in secrets
    )


def _with_workspace(data: dict[str, Any]) -> Iterator[_ProblemAt]:
    if is_system(data):
        yield from _whole_system(data)
    elif data.get("repository") is None:
        yield ("repository",), "is missing", "or `workspace: none`"
    if data.get("answer") is not None:
        yield ("answer",), "with a repository the output is the change", "only with `workspace: none`"
    if data.get("steps"):
        return
    if data.get("oracle") is None:
        yield ("oracle",), "is missing", ""
    elif isinstance(data["oracle"], dict) and not data["oracle"].get("checks"):
        written = "checks" in data["oracle"]
        yield ("oracle", "checks"), "must not be empty" if written else "is missing", ""


def is_judged(data: dict[str, Any]) -> bool:
    """Does the contract ask for a judge? `judge: {}` does, and has the default one."""
    return isinstance(data.get("judge"), dict)


def is_system(data: dict[str, Any]) -> bool:
    environment = data.get("environment")
    return isinstance(environment, dict) and environment.get("scope") == "system"


def _whole_system(data: dict[str, Any]) -> Iterator[_ProblemAt]:
    """What an agent starts from is all in the image."""
    if data.get("repository") is not None:
        yield (
            ("repository",),
            "with `scope: system` the agent starts from the image",
            "COPY in its Dockerfile",
        )
    if data.get("setup"):
        yield ("setup",), "with `scope: system` everything is set up in the image", "RUN in its Dockerfile"


def _step_problems(data: dict[str, Any]) -> Iterator[_ProblemAt]:
    for key in ("brief", "brief_file", "turns"):
        if data.get(key):
            yield (key,), "each step has a brief of its own", f"steps, or {key}"
    oracle = data.get("oracle")
    oracle = oracle if isinstance(oracle, dict) else {}
    if oracle.get("checks"):
        yield ("oracle", "checks"), "each step has checks of its own", "put them into the last step"
    steps = data["steps"] if isinstance(data["steps"], list) else []
    kinds = {type(step["reference"]) for step in steps if isinstance(step, dict) and step.get("reference")}
    if len(kinds) > 1:
        yield ("steps",), "some references are patches and some are scripts", "one kind for all steps"
    names = [step.get("name") if isinstance(step, dict) else None for step in steps]
    for number, name in enumerate(names):
        if name is not None and name in names[:number]:
            yield ("steps", number, "name"), f"two steps have the name `{name}`", ""
        if oracle.get("reference") and isinstance(steps[number], dict) and steps[number].get("reference"):
            yield ("steps", number, "reference"), "`oracle.reference` is set already", "keep one"


def _without_workspace(data: dict[str, Any], entries: Entries) -> Iterator[_ProblemAt]:
    for key in ("repository", "steps", "build", "runner_files"):
        if data.get(key):
            yield (key,), f"{NO_WORKSPACE} has none", f"leave out `{key}`"
    answer = data.get("answer") or ANSWER
    if any(fnmatchcase(str(answer), pattern) for pattern in _patterns(data)):
        yield ("answer",), "matches `generated`, so it would be ignored", "another name"
    looking = is_judged(data) or any(entry.type != NOTE for entry in entries.found.values())
    if not looking and not entries.problems:
        yield ("judge",), "nothing grades the answer", f"a `verifier` check, or {JUDGE}"
    for place, entry in entries.found.items():
        if entry.type == NOTE and not entry.is_check:
            continue
        if entry.type != "verifier":
            yield (
                place,
                f"{NO_WORKSPACE} allows only `verifier` checks and `llm_judge` notes",
                "a `verifier` check",
            )
            continue
        if not entry.is_check:
            yield place, "the verifier of an answer must be a check", "put it in oracle.checks"
        spec = entry.execution
        expected = spec.output_path if isinstance(spec, ScriptSpec) else None
        if expected not in (None, f"{WORKSPACE}/{answer}"):
            yield (*place, "expected_output_path"), f"the answer is at {WORKSPACE}/{answer}", ""


def _patterns(data: dict[str, Any]) -> tuple[str, ...]:
    own = data.get("generated")
    return (*GENERATED, *(str(one) for one in (own if isinstance(own, list) else ())))


def _allowed_host_problems(data: dict[str, Any]) -> Iterator[_ProblemAt]:
    """Which keys fit together with allowed hosts. The names of hosts are checked in `allowed_hosts.py`."""
    environment = data.get("environment")
    environment = environment if isinstance(environment, dict) else {}
    opened = [key for key in _NETWORK_KEYS if isinstance(_value_at(data, key), list)]
    if environment.get("sandbox") == "local":
        yield from ((key, "the local sandbox cannot restrict the network", "none") for key in opened)
    if environment.get("build") and ("setup_network",) in opened:
        yield (
            ("setup_network",),
            "an image build cannot be limited to a list of hosts",
            "`host` for the build, or `none`",
        )
    if data.get("bench") == "live" and _value_at(data, _NETWORK_KEYS[0]) != _value_at(data, _NETWORK_KEYS[2]):
        fix = "the same list for both, or `bench: fresh`"
        yield (
            _NETWORK_KEYS[2],
            "a live bench uses the agent's sandbox and its allowed hosts (environment.network)",
            fix,
        )


def _value_at(data: Any, key: YamlPath) -> Any:
    for part in key:
        data = data.get(part) if isinstance(data, dict) else None
    return "none" if data is None else data

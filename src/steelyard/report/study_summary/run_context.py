"""A run folder -> what a summary needs beside the result line: versions, conditions, deviations, tokens, people's reviews.

Nothing here decides a verdict. What a folder does not say is None, and a line without a folder has no context.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import orjson

from steelyard.errors import DAMAGED, OperatorFault
from steelyard.evidence.folder.folder import (
    ANNOTATIONS_HEAD,
    CHANGE,
    FINAL_RESPONSE,
    GRADINGS,
    MANIFEST,
    REPORT,
    RunFolder,
)
from steelyard.evidence.folder.seal import Break, read_seal
from steelyard.review.record import list_annotations
from steelyard.review.status import review_status

# What must be the same for two runs to be compared -> where a manifest says it, as a digest.
CONDITIONS = ("budget", "environment", "graders", "judge", "oracle", "policy", "setup")


@dataclass(frozen=True, slots=True)
class RunContext:
    conditions: Mapping[str, str] = field(default_factory=dict)  # name -> digest or word
    agent_version: str = ""  # digest of the agent's parameters, hosts and folders
    agent_parameters: Mapping[str, Any] = field(default_factory=dict)
    harness: str = ""
    image: str | None = None
    system: str | None = None
    toolchains: tuple[str, ...] = ()
    lock_files: tuple[str, ...] = ()
    content_root: str | None = None
    caps: Mapping[str, Any] = field(default_factory=dict)
    deviations: tuple[Mapping[str, Any], ...] = ()
    seed: int | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    tool_calls: int | None = None
    people: str = "none"  # what reviewers decided: none, pass, fail, defer, disputed
    human_minutes: float | None = None
    cost_method: str | None = None
    pass_threshold: float | None = None
    change: str | None = None  # digest, of the seal
    answer: str | None = None  # digest of the final response


def read_context(folder: str | None) -> RunContext | None:
    """None where there is no folder on this machine, or its manifest cannot be read."""
    if not folder or not Path(folder).is_dir():
        return None
    run = RunFolder(Path(folder))
    try:
        manifest = _object(run.read_json(MANIFEST))
    except DAMAGED:
        return None
    try:
        report = _object(run.read_json(REPORT))
    except DAMAGED:
        report = {}
    people, minutes = _review(run)
    sealed = read_seal(run)
    files = {} if isinstance(sealed, Break) else _object(sealed["files"])
    return replace(
        context_of(manifest, report, people, minutes),
        pass_threshold=_threshold(run),
        change=_text(files.get(CHANGE)),
        answer=_text(files.get(FINAL_RESPONSE)),
    )


def _threshold(run: RunFolder) -> float | None:
    try:
        threshold = run.read_json(f"{GRADINGS}/0001.json")["verdict"]["pass_threshold"]
    except DAMAGED:
        return None
    return float(threshold) if isinstance(threshold, int | float) else None


def context_of(
    manifest: Mapping[str, Any], report: Mapping[str, Any], people: str = "none", minutes: float | None = None
) -> RunContext:
    configuration, environment = _object(manifest.get("configuration")), _object(manifest.get("environment"))
    agent, repository = _object(manifest.get("agent")), _object(manifest.get("repository"))
    usage, protocol = _object(report.get("usage")), _object(report.get("protocol"))
    return RunContext(
        conditions=_conditions(configuration, environment),
        agent_version=_digest([agent.get("parameters"), agent.get("hosts"), agent.get("folders")]),
        agent_parameters=_object(agent.get("parameters")),
        harness=str(_object(manifest.get("harness")).get("version") or ""),
        image=_image(environment.get("image")),
        system=_text(environment.get("system")),
        toolchains=tuple(f"{one.get('name')} {one.get('version')}" for one in _objects(environment.get("toolchains"))),
        lock_files=tuple(_lock_file(one) for one in _list(repository.get("lock_files"))),
        content_root=_text(repository.get("content_root")),
        caps={
            name: value
            for name, value in _object(configuration.get("budget")).items()
            if isinstance(value, int | float) and not isinstance(value, bool)
        },
        deviations=tuple(_objects(protocol.get("deviations"))),
        seed=_whole(_object(manifest.get("seeds")).get("protocol")),
        tokens_in=_whole(usage.get("tokens_in")),
        tokens_out=_whole(usage.get("tokens_out")),
        tool_calls=_whole(usage.get("tool_calls")),
        people=people,
        human_minutes=minutes,
        cost_method=_text(_object(report.get("cost")).get("method")),
    )  # fmt: skip


def _conditions(configuration: Mapping[str, Any], environment: Mapping[str, Any]) -> dict[str, str]:
    digests = _object(configuration.get("digests"))
    found = {name: str(digests[name]) for name in CONDITIONS if isinstance(digests.get(name), str)}
    words = {
        "comparability class": configuration.get("comparability_class"),
        "isolation": environment.get("isolation"),
        "network": _network(environment.get("network")),
        "bench": configuration.get("bench"),
        "image": _image(environment.get("image")) or "none",
    }
    return found | {name: str(word) for name, word in words.items() if word is not None}


def _network(reached: Any) -> str | None:
    """The hosts that the agent reached. The gateway to its models is no condition: agents of different makers have different ones."""
    if not isinstance(reached, list):
        return _text(reached)
    hosts = [str(one) for one in reached if not str(one).startswith("model gateway ")]
    return ", ".join(sorted(hosts)) or "none"


def _review(run: RunFolder) -> tuple[str, float | None]:
    if not run.file(ANNOTATIONS_HEAD).exists():
        return "none", None
    try:
        entries = list_annotations(run)
    except (OperatorFault, *DAMAGED):
        return "none", None
    if not entries:
        return "none", None
    status = review_status(entries)
    return status.decision, status.minutes


def _image(image: Any) -> str | None:
    if isinstance(image, dict):
        return _text(image.get("digest")) or _text(image.get("id"))
    return _text(image)


def _lock_file(one: Any) -> str:
    if isinstance(one, dict):
        return f"{one.get('path')} {str(one.get('sha256') or one.get('digest') or '')[:12]}".strip()
    return str(one)


def _digest(value: Any) -> str:
    return hashlib.sha256(orjson.dumps(value, option=orjson.OPT_SORT_KEYS, default=str)).hexdigest()[:12]


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _objects(value: Any) -> list[Mapping[str, Any]]:
    return [one for one in _list(value) if isinstance(one, dict)]


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None

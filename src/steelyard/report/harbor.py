"""A graded run -> a folder in the layout of a Harbor trial, for tools that read those.

DIR/RUN/result.json                       {"task_name", "agent_info", "verifier_result": {"rewards": {"reward": 1.0}}, ...}
DIR/RUN/config.json                       the same `config` as in the result
DIR/RUN/verifier/reward.json, test-stdout.txt, test-stderr.txt   of checks with hidden files only where their output is
DIR/RUN/agent/stdout.txt, stderr.txt
DIR/RUN/artifacts/..., manifest.json      what the task wants to be kept, as far as it was changed
DIR/RUN/exception.txt                     when there was one

A rendering: the run folder stays the record. A run that does not count has no rewards, and says why in `exception_info`.
"""

from __future__ import annotations

import fnmatch
import json
import posixpath
import uuid
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from steelyard import __version__
from steelyard.contract.catalogue import GraderEntry
from steelyard.contract.contract import Contract
from steelyard.evidence.evidence import Evidence
from steelyard.evidence.folder.folder import CHECKS, OUTCOME
from steelyard.evidence.output_view import output_text
from steelyard.evidence.trace.chain import Event, read_events
from steelyard.filesystem.tree import is_within, printable
from steelyard.graders.output import may_show_hidden
from steelyard.sandbox_paths import PUBLISHED, WORKSPACE

MOST_ARTIFACT_FILES = 10_000
_NAMES = {"reference": "oracle", "noop": "nop"}  # as Harbor calls them
# How a run ended -> the name that Harbor has for it.
_ENDINGS = {
    "infrastructure": "EnvironmentError",
    "wall_time": "AgentTimeoutError",
    "agent_crash": "NonZeroAgentExitCodeError",
    "memory": "MemoryLimitExceededError",
}


class TrialOfHarbor(NamedTuple):
    """What one folder is made of."""

    contract: Contract
    evidence: Evidence
    line: Mapping[str, Any]  # the result line
    task: Path  # where the task is, as it was named


def write_trial(out: Path, trial: TrialOfHarbor) -> Path:
    folder = out / str(trial.line["run"])
    folder.mkdir(parents=True, exist_ok=True)
    result = trial_result(trial, folder)
    _write(folder / "result.json", result)
    _write(folder / "config.json", result["config"])
    if result["exception_info"] is not None:
        (folder / "exception.txt").write_text(f"{result['exception_info']['exception_message']}\n")
    if result["verifier_result"] is not None:
        _write(folder / "verifier/reward.json", result["verifier_result"]["rewards"])
    _outputs(folder, trial)
    _artifacts(folder / "artifacts", trial)
    return folder


def trial_result(trial: TrialOfHarbor, folder: Path) -> dict[str, Any]:
    """The keys of Harbor's TrialResult."""
    contract, line = trial.contract, trial.line
    described = _describe(contract)
    agent = str(line["agent"])
    times = _Times(read_events(trial.evidence.folder.events))
    config = {
        "task": {"path": str(trial.task.absolute()), "source": described.get("source")},
        "trial_name": line["run"],
        "trials_dir": str(folder.parent.absolute()),
        "agent": {"name": _NAMES.get(agent, agent)},
    }
    steps = _steps(trial)
    return {
        "id": str(uuid.uuid5(uuid.NAMESPACE_OID, str(line["run"]))),
        "task_name": described.get("task", {}).get("name") or contract.id,
        "trial_name": line["run"],
        "trial_uri": folder.absolute().as_uri(),
        "task_id": {"path": str(trial.task.absolute())},
        "source": described.get("source"),
        "task_checksum": contract.digest,
        "config": config,
        "agent_info": {"name": _NAMES.get(agent, agent), "version": __version__, "model_info": None},
        "agent_result": None if steps else {"cost_usd": line["cost"]["usd"]},
        "verifier_result": _verifier_result(trial),
        "verifier_environment_mode": None if steps else "separate",
        "exception_info": _exception(line, times),
        "started_at": times.of("run.start"),
        "finished_at": times.of("run.end"),
        "environment_setup": times.between("run.start", "stage.enter"),
        "agent_setup": None,
        "agent_execution": times.between("stage.enter", "stage.leave"),
        "verifier": times.between("check.start", "check.end"),
        "step_results": steps or None,
    }


def _describe(contract: Contract) -> dict[str, Any]:
    metadata = contract.spec.metadata.model_dump(mode="json")
    found = metadata.get("harbor") or metadata.get("aec_bench") or {}
    return dict(found) if isinstance(found, dict) else {}


class _Times:
    """When each kind of event was first and last seen."""

    def __init__(self, events: Iterator[Event]) -> None:
        self._first: dict[str, str] = {}
        self._last: dict[str, str] = {}
        for event in events:
            self._first.setdefault(event.type, event.at)
            self._last[event.type] = event.at

    def of(self, kind: str) -> str | None:
        return self._last.get(kind)

    def between(self, first: str, last: str) -> dict[str, str | None] | None:
        if first not in self._first:
            return None
        return {"started_at": self._first[first], "finished_at": self._last.get(last)}


def _verifier_result(trial: TrialOfHarbor) -> dict[str, Any] | None:
    """Every number that the verifier wrote; the reward is the one that counts here. Empty where it is unknown."""
    line = trial.line
    if line["reward"] is None:
        return None
    rewards = [outcome.get("verified") or {} for outcome in trial.evidence.outcomes.values()]
    others = rewards[0].get("rewards") or {} if len(rewards) == 1 else {}
    return {"rewards": {**others, "reward": line["reward"]}}


def _exception(line: Mapping[str, Any], times: _Times) -> dict[str, Any] | None:
    name, message = _ENDINGS.get(line["termination"], ""), line["rationale"]
    if not name and line["status"] != "scorable":
        name, message = "EnvironmentError", line["reason"]
    elif not name and line["verdict"] == "error":
        name, message = "VerifierOutputParseError", line["reason"]
    if not name:
        return None
    at = times.of("termination") or times.of("run.end") or times.of("run.start")
    return {
        "exception_type": name,
        "exception_message": printable(str(message)),
        "exception_traceback": "",
        "occurred_at": at,
    }


def _steps(trial: TrialOfHarbor) -> list[dict[str, Any]]:
    """One entry a step that was taken."""
    endings = trial.evidence.summary.steps
    found = []
    for step in trial.contract.steps:
        if step.name not in endings:
            continue
        checks = {entry.name for entry in step.checks}
        scores = [grade["score"] for grade in trial.line["grades"] if grade["name"] in checks]
        known = [score for score in scores if score is not None]
        rewards = {"reward": sum(known) / len(known)} if known and len(known) == len(scores) else None
        found.append(
            {"step_name": step.name, "verifier_result": None if rewards is None else {"rewards": rewards}}
        )
    return found


def _outputs(folder: Path, trial: TrialOfHarbor) -> None:
    """What the agent and the verifiers printed, as far as the run keeps it."""
    for kind in ("stdout", "stderr"):
        output = trial.evidence.folder.path / "agent" / f"{kind}.txt"
        if output.is_file():
            _put(folder / "agent" / f"{kind}.txt", output.read_bytes())
        text = "".join(_printed(trial, entry, kind) for entry in trial.contract.checks)
        if text:
            _put(folder / "verifier" / f"test-{kind}.txt", text.encode(errors="replace"))


def _printed(trial: TrialOfHarbor, entry: GraderEntry, kind: str) -> str:
    """The end of a check's output; of one that has hidden files, where the operator finds it."""
    outcome = trial.evidence.outcomes.get(entry.name)
    if outcome is None:
        return ""
    if may_show_hidden(trial.contract, entry):
        path = trial.evidence.folder.path / CHECKS / entry.name / OUTCOME
        return f"[the output of {entry.name} may show hidden files and is kept in {printable(str(path))}]\n"
    return output_text(outcome.get(kind))


def _put(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def _artifacts(folder: Path, trial: TrialOfHarbor) -> None:
    wanted = [*_describe(trial.contract).get("artifacts", ()), {"source": PUBLISHED}]
    manifest = [_collected(folder, trial, artifact) for artifact in wanted]
    _write(folder / "manifest.json", manifest)


def _collected(folder: Path, trial: TrialOfHarbor, artifact: Mapping[str, Any]) -> dict[str, Any]:
    """What an artifact names, as the agent left it: files that it changed, and no others."""
    root = _root(trial.contract)
    source = posixpath.normpath(posixpath.join(root, artifact["source"]))
    exclude: Sequence[str] = artifact.get("exclude", ())
    place = artifact.get("destination") or source.lstrip("/")
    count, is_file = 0, False
    for entry in trial.evidence.change.file_entries:
        path = _absolute(entry.path, trial.contract)
        new = entry.new
        if not is_within(path, source) or new is None or new.kind != "file" or not new.sha256:
            continue
        below = posixpath.relpath(path, source)
        if any(fnmatch.fnmatch(below, pattern) for pattern in exclude) or count >= MOST_ARTIFACT_FILES:
            continue
        is_file = below == "."
        to = folder / place if is_file else folder / place / below
        if not _is_inside(to, folder):
            continue
        _put(to, trial.evidence.blobs.read(new.sha256))
        count += 1
    return {
        "source": source,
        "destination": place,
        "type": "file" if is_file else "directory",
        "status": "ok" if count else "empty",
        "service": None,
        "exclude": [*exclude],
    }


def _root(contract: Contract) -> str:
    return contract.spec.environment.workdir or (
        "/" if contract.spec.environment.scope == "system" else WORKSPACE
    )


def _absolute(path: str, contract: Contract) -> str:
    return f"/{path}" if contract.spec.environment.scope == "system" else f"{_root(contract)}/{path}"


def _is_inside(path: Path, folder: Path) -> bool:
    """The destination is the task's to say, so it may say anything."""
    return Path(posixpath.normpath(path)).is_relative_to(folder) and path.name != "manifest.json"


def _write(path: Path, data: Any) -> None:
    _put(path, f"{json.dumps(data, indent=2)}\n".encode())

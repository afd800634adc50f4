"""A recorded run and its replay -> whether both come to the same result, and where they first differ.

Compared in this order: identity of the environment (only noted), the exit code of each command that was run again, the change
path by path, each check, the verdict. Outputs of commands are noted: clients cut and dress them in ways of their own.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from steelyard.deferred.data_class import dataclass
from steelyard.evidence.change.change import Change, ChangeEntry
from steelyard.evidence.evidence import Evidence
from steelyard.evidence.trace.chain import read_events
from steelyard.filesystem.tree import path_to_json, printable

SCHEMA = "steelyard.replay/1"
_IDENTITY = (
    *(
        ("harness", "version"),
        ("environment", "sandbox"),
        ("environment", "image"),
        ("environment", "toolchains"),
    ),
    *(
        ("environment", "setup"),
        ("environment", "system"),
        ("repository", "content_root"),
        ("machine", "kernel"),
    ),
    *(("machine", "architecture"), ("configuration", "comparability_class")),
)


@dataclass(frozen=True, slots=True)
class Divergence:
    """The first thing that is not the same: where, what was recorded, what the replay gave."""

    kind: str  # termination | tool | path | check | verdict
    where: str
    recorded: Any
    replayed: Any

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "where": self.where, "recorded": self.recorded, "replayed": self.replayed}

    def __str__(self) -> str:
        return f"{self.kind} {self.where}: {_short(self.recorded)} was recorded, {_short(self.replayed)} is replayed"


def entries_digest(change: Change) -> str:
    """Of the changed paths alone: what was generated on the way is no part of a change."""
    entries = [
        [path_to_json(path), side.to_json() if side else None]
        for entry in change.entries
        for path, side in _sides(entry)
    ]
    return hashlib.sha256(orjson.dumps(sorted(entries, key=repr))).hexdigest()


def compare_replay(recorded: Evidence, replayed: Evidence, verdicts: tuple[str, str]) -> dict[str, Any]:
    """As `steelyard replay --json` prints it; `verdicts` are those of the two runs."""
    first = next(_divergences(recorded, replayed, verdicts), None)
    digests = entries_digest(recorded.change), entries_digest(replayed.change)
    return {
        "schema": SCHEMA,
        "run": recorded.folder.run_id,
        "replay": replayed.folder.run_id,
        "folder": str(replayed.folder.path),
        "same": first is None,
        "divergence": None if first is None else first.to_json(),
        "change": {"recorded": digests[0], "replayed": digests[1], "same": digests[0] == digests[1]},
        "tools": _tools(recorded, replayed),
        "checks": [
            {"id": name, "recorded": one, "replayed": other}
            for name, one, other in _checks(recorded, replayed)
        ],
        "verdict": {"recorded": verdicts[0], "replayed": verdicts[1]},
        "environment": list(_environment(recorded.manifest, replayed.manifest)),
    }


def first_divergence(compared: Mapping[str, Any]) -> Divergence | None:
    found = compared["divergence"]
    return None if found is None else Divergence(**found)


def _divergences(recorded: Evidence, replayed: Evidence, verdicts: tuple[str, str]) -> Iterator[Divergence]:
    summary = replayed.summary
    if summary.termination != "completed":
        yield Divergence("termination", summary.rationale, recorded.summary.termination, summary.termination)
    for command, result in _repeated(replayed):
        if not result["same_exit"]:
            status = result["recorded"]["exit_status"]
            ended = "an error" if status is None else f"exit code {status}"
            where = f"event {result['recorded']['event']}, {printable(command)[:200]}"
            yield Divergence("tool", where, ended, f"exit code {result['exit_status']}")
    before, after = _by_path(recorded.change), _by_path(replayed.change)
    for path in sorted(before.keys() | after.keys()):
        if before.get(path, "unchanged") != after.get(path, "unchanged"):
            yield Divergence(
                "path", printable(path), before.get(path, "unchanged"), after.get(path, "unchanged")
            )
    for name, one, other in _checks(recorded, replayed):
        if one != other:
            yield Divergence("check", name, one, other)
    if verdicts[0] != verdicts[1]:
        yield Divergence("verdict", recorded.folder.run_id, *verdicts)


def _repeated(replayed: Evidence) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Each command that was run again, with its result."""
    commands: dict[str, str] = {}
    for event in read_events(replayed.folder.events):
        payload = event.payload
        if event.type == "tool.call" and payload.get("source") == "replay":
            commands[payload["id"]] = str(payload["input"]["command"])
        elif event.type == "tool.result" and payload.get("source") == "replay":
            yield commands.get(payload["id"], ""), payload


def _tools(recorded: Evidence, replayed: Evidence) -> dict[str, Any] | None:
    """None for a replay of the changes alone."""
    if not replayed.manifest["agent"]["parameters"].get("replay", {}).get("tools"):
        return None
    calls = sum(
        1
        for event in read_events(recorded.folder.events)
        if event.type == "tool.call"
        and event.payload.get("kind") == "execute"
        and not event.payload.get("whole_agent")
    )
    repeated = list(_repeated(replayed))
    other = next(((command, one) for command, one in repeated if not one["same_output"]), None)
    return {
        "recorded": calls,
        "repeated": len(repeated),
        "same_exit": sum(bool(one["same_exit"]) for _, one in repeated),
        "same_output": sum(bool(one["same_output"]) for _, one in repeated),
        "first_output": None
        if other is None
        else {
            "event": other[1]["recorded"]["event"],
            "command": other[0],
            "recorded": other[1]["recorded"]["output"],
            "replayed": other[1]["output"],
        },
    }


def _by_path(change: Change) -> dict[str, Any]:
    return {
        path: side.to_json() if side else None for entry in change.entries for path, side in _sides(entry)
    }


def _sides(entry: ChangeEntry) -> Iterator[tuple[str, Any]]:
    """What stands at each path of an entry in the end."""
    if entry.renamed_from is not None:
        yield entry.renamed_from, None
    yield entry.path, entry.new


def _checks(recorded: Evidence, replayed: Evidence) -> Iterator[tuple[str, str | None, str | None]]:
    for name in sorted(recorded.outcomes.keys() | replayed.outcomes.keys()):
        one, other = (of.outcomes.get(name, {}).get("outcome") for of in (recorded, replayed))
        yield name, one, other


def _environment(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """What is not the same about the two environments; it may be the reason for a difference."""
    for outer, name in _IDENTITY:
        one, other = ((of.get(outer) or {}).get(name) for of in (before, after))
        if one != other:
            yield {"field": f"{outer}.{name}", "recorded": one, "replayed": other}


def _short(value: Any) -> str:
    if isinstance(value, Mapping):
        return str(value.get("sha256") or value.get("kind"))[:12]
    return "nothing" if value is None else str(value)

"""A contract's parts -> its digest, which is its identity and its version.

    sha256 over RFC 8785 JSON of
    {"schema": "steelyard.contract/1", "spec": {... every default filled in ...}, "brief": "...",
     "repository": {"root": "...", "history": "none"}, "checks": [...], "graders": [...],
     "files": [["hidden/test_a.py", "644", "<sha256>"]]}

The brief of a contract with steps is the list of their briefs.

A key that was added after contracts existed is left out where it has its default (`_LATER`), so that the digest of an older
contract stays what it is.

Everything that can change a verdict is in it. Where things lie, absolute paths, comments, the order of keys,
times, owners and the `version` label are not: a contract that is moved is the same contract.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import rfc8785

from steelyard.contract.catalogue import ContractFile, GraderEntry
from steelyard.contract.model import ContractSpec
from steelyard.contract.snapshot.snapshot import Snapshot
from steelyard.filesystem.tree import path_to_json

SCHEMA = "steelyard.contract/1"

# Said elsewhere in the digest, by content instead of by place; or a label.
_LEFT_OUT = {"version", "brief", "brief_file", "repository", "graders"}

# Keys that are younger than the first contracts: (outer key, keys).
_LATER: dict[str, tuple[str, ...]] = {
    "policy": ("require", "on_violation", "on_write_in_inspect", "rules", "breakers", "operator"),
    "budget": ("cpu_s", "memory_mb", "disk_mb", "processes"),
    "oracle": ("compliance",),
}


def contract_digest(
    spec: ContractSpec,
    brief: str | Sequence[str],
    snapshot: Snapshot,
    entries: Sequence[GraderEntry],
    files: Mapping[str, ContractFile],
) -> str:
    """The digest of a contract, as 64 hex digits."""
    own = spec.model_dump(mode="json", by_alias=True, exclude=_LEFT_OUT)
    for part in (own["oracle"], *own["steps"]):
        for name in ("brief", "brief_file", "checks"):
            part.pop(name, None)
    _leave_out_defaults(own, spec)
    document: Any = {
        "schema": SCHEMA,
        "spec": own,
        "brief": brief if isinstance(brief, str) else list(brief),
        "repository": _repository(spec, snapshot),
        "checks": [_entry(entry) for entry in entries if entry.is_check],
        "graders": [_entry(entry) for entry in entries if not entry.is_check],
        "files": [[path_to_json(name), file.mode, file.sha256] for name, file in sorted(files.items())],
    }
    return hashlib.sha256(rfc8785.dumps(document)).hexdigest()


def graders_digest(entries: Sequence[GraderEntry]) -> str:
    """Which graders a grading used, with all of their options."""
    return hashlib.sha256(rfc8785.dumps([_entry(entry) for entry in entries])).hexdigest()


def _leave_out_defaults(own: dict[str, Any], spec: ContractSpec) -> None:
    for outer, names in _LATER.items():
        part = getattr(spec, outer)
        defaults = type(part)().model_dump(mode="json", by_alias=True)
        for name in names:
            if own[outer][name] == defaults[name]:
                del own[outer][name]


def _repository(spec: ContractSpec, snapshot: Snapshot) -> dict[str, Any]:
    """The content; with a visible history also the commit, since the agent can read what is behind it."""
    history = spec.history
    return {
        "root": snapshot.root,
        "history": history,
        "commit": snapshot.commit if history == "full" else None,
    }


def _entry(entry: GraderEntry) -> dict[str, Any]:
    common = {
        field.name: getattr(entry, field.name)
        for field in dataclasses.fields(entry)
        if field.name != "grader"
    }
    left_out = entry.grader.UNDIGESTED
    options = {key: value for key, value in dataclasses.asdict(entry.grader).items() if key not in left_out}
    return {**common, "options": options}

"""A request for permission and a contract's policy -> allow or deny, and why (pure)."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from steelyard.agents.traces.items import ToolCall, as_mapping, sequence, text
from steelyard.contract.model import Policy
from steelyard.sandboxes.base import WORKSPACE


class Decision(NamedTuple):
    is_allowed: bool
    why: str


def decide(policy: Policy, call: ToolCall, request: Mapping[str, Any], *, may_write: bool = True) -> Decision:
    """What the policy does not forbid is allowed: the sandbox is the boundary."""
    if call.kind == "write" and not may_write:
        return Decision(False, "the stage inspect allows no writes; run `steelyard-stage write` first")
    names = {call.tool, call.kind or ""}
    denied = [pattern for pattern in policy.tools.deny if _fits(names, pattern)]
    if denied:
        return Decision(False, f"policy.tools.deny has {denied[0]}")
    if policy.tools.allow and not any(_fits(names, pattern) for pattern in policy.tools.allow):
        return Decision(False, f"policy.tools.allow does not have {call.tool}")
    command = text(as_mapping(call.input).get("command")) or (
        text(call.input) if call.kind == "execute" else ""
    )
    if forbidden := [one for one in policy.deny_commands if command and fnmatch.fnmatch(command, f"*{one}*")]:
        return Decision(False, f"policy.deny_commands has {forbidden[0]}")
    if call.kind == "write" and policy.allowed_paths:
        strays = [path for path in _paths(request) if not _is_allowed(path, policy.allowed_paths)]
        if strays:
            return Decision(False, f"policy.allowed_paths does not have {strays[0][:200]}")
    return Decision(True, "the policy does not forbid it")


def _fits(names: set[str], pattern: str) -> bool:
    return any(fnmatch.fnmatch(name, pattern) for name in names if name)


def _paths(request: Mapping[str, Any]) -> Iterator[str]:
    """The files that an edit names."""
    for place in (*sequence(request.get("locations")), *sequence(request.get("content"))):
        if path := text(as_mapping(place).get("path")):
            yield path


def _is_allowed(path: str, patterns: tuple[str, ...]) -> bool:
    if not path.startswith(f"{WORKSPACE}/"):
        return not path.startswith("/") and any(fnmatch.fnmatch(path, one) for one in patterns)
    inside = path.removeprefix(f"{WORKSPACE}/")
    return any(fnmatch.fnmatch(inside, one) for one in patterns)

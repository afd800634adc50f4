"""Sealed evidence and its contract -> `RunFacts`: what a verdict needs beside the grades."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from steelyard.contract.contract import Contract
from steelyard.deferred.pattern import deferred_pattern
from steelyard.errors import DAMAGED
from steelyard.evidence.change import size as change_size
from steelyard.evidence.evidence import Evidence
from steelyard.evidence.folder.folder import PATCH
from steelyard.evidence.trace.chain import Event, read_events
from steelyard.filesystem.plain_file import open_plain
from steelyard.filesystem.tree import printable
from steelyard.verdict.run_facts import ChangeSize, RunFacts, ShortEvent

MOST_EVENTS, MOST_PATHS, MOST_CHARS = 5000, 200, 2000
EVENT_TYPES = frozenset(
    {
        *("termination", "monitor.alert", "intervention", "patch.apply", "check.end", "model.error"),
        *("workspace.change", "workspace.changes", "tool.call", "tool.result", "network.connection"),
        *("permission.decision", "stage.leave", "capture.end"),
    }
)
MOST_PATCH = 4 << 20
_MISSING = deferred_pattern(
    r"No module named|Cannot find (?:module|package)|unresolved import|provides package"
)
_HUNK = deferred_pattern(r"@@ -\d+(?:,\d+)? \+(\d+)")
_IMPORT = deferred_pattern(
    r"""\s*(?:(?:from|import)\s+([A-Za-z_][\w.]*)|use\s+(\w+)::|.*?(?:require\(|from\s+|import\s+)['"]([@\w./-]+)['"])"""
)


def run_facts(contract: Contract, evidence: Evidence) -> RunFacts:
    has_workspace = contract.spec.workspace == "code"
    change = evidence.change
    return RunFacts(
        size=_size(contract, evidence) if has_workspace else None,
        changed=len(change.file_entries) if has_workspace else None,
        missing_artefacts=tuple(_missing(evidence)) if contract.spec.quality is not None else (),
        budget_left=_budget_left(contract, evidence),
        changed_paths=tuple(printable(path) for path in change.changed_paths[:MOST_PATHS]),
        events=tuple(_events(evidence)),
        added_imports=_added_imports(evidence) if has_workspace else {},
        layers={entry.name: entry.layer for entry in contract.checks if entry.layer is not None},
    )


def _size(contract: Contract, evidence: Evidence) -> ChangeSize | None:
    """Only where the contract has an envelope: a large patch takes a second to count."""
    quality = contract.spec.quality
    if quality is None or quality.envelope is None:
        return None
    change = evidence.change
    return ChangeSize(
        len(change.file_entries), change_size.changed_lines(evidence.folder.file(PATCH), change)
    )


def _missing(evidence: Evidence) -> Iterator[str]:
    """What reproducing the result needs and the record does not have."""
    identity = ("contract", "repository", "environment", "configuration")
    yield from (f"manifest.json: {name}" for name in identity if not evidence.manifest.get(name))
    if not evidence.folder.file(PATCH).is_file():
        yield PATCH
    if not evidence.change.complete:
        yield "change.json: the whole change"
    for name, outcome in evidence.outcomes.items():
        if outcome.get("started") and not outcome.get("argv"):
            yield f"checks/{name}: its command"
        if not isinstance(outcome.get("stdout"), dict) or not isinstance(outcome.get("stderr"), dict):
            yield f"checks/{name}: its output"
    types = evidence.summary.types
    acted = types["tool.call"] + types["model.response"] + types["patch.apply"]
    if evidence.change.file_entries and not acted:
        yield "events.jsonl: what made the change"


def _budget_left(contract: Contract, evidence: Evidence) -> float | None:
    budget, summary = contract.spec.budget, evidence.summary
    calls = summary.kinds.total() if summary.traced else None
    used = (
        (evidence.durations["working_s"], budget.agent_wall_s),
        (evidence.cost_usd, budget.cost_usd),
        (summary.tokens, budget.tokens),
        (calls, budget.tool_calls),
    )
    shares = [spent / cap for spent, cap in used if spent is not None and cap > 0]
    return max(0.0, 1.0 - max(shares)) if shares else None


def _added_imports(evidence: Evidence) -> dict[str, str]:
    """Module -> where the change imports it; read only where a check's output names a module that is missing."""
    outputs = (
        str((outcome.get(stream) or {}).get(part, ""))
        for outcome in evidence.outcomes.values()
        for stream in ("stdout", "stderr")
        for part in ("prefix", "tail")
    )
    if not any(_MISSING.search(text) for text in outputs):
        return {}
    try:
        with open_plain(evidence.folder.file(PATCH)) as stream:
            text = stream.read(MOST_PATCH).decode(errors="replace")
    except OSError:
        return {}
    found: dict[str, str] = {}
    path, number = "", 0
    for line in text.splitlines():
        if line.startswith("+++ b/"):
            path = line[6:]
        elif hunk := _HUNK.match(line):
            number = int(hunk[1]) - 1
        elif line[:1] in ("+", " "):
            number += 1
            if line[0] == "+" and (match := _IMPORT.match(line[1:])):
                name = next(filter(None, match.groups()))
                found.setdefault(name.split(".")[0].split("/")[0], f"{printable(path)}:{number}")
                found.setdefault(name, f"{printable(path)}:{number}")
    return found


def _events(evidence: Evidence) -> Iterator[ShortEvent]:
    """The first and the last ones of those that count; a damaged log ends where it is damaged."""
    found: list[ShortEvent] = []
    try:
        for event in read_events(evidence.folder.events):
            if event.type in EVENT_TYPES:
                found.append(_short(event))
                if len(found) > 2 * MOST_EVENTS:
                    del found[MOST_EVENTS // 2 : -MOST_EVENTS // 2]
    except DAMAGED:
        pass
    if len(found) > MOST_EVENTS:
        del found[MOST_EVENTS // 2 : -MOST_EVENTS // 2]
    yield from found


def _short(event: Event) -> ShortEvent:
    return ShortEvent(event.seq, event.type, {name: _cut(value) for name, value in event.payload.items()})


def _cut(value: Any) -> Any:
    return value[:MOST_CHARS] if isinstance(value, str | list) else value

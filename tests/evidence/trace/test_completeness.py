"""A trace is complete when every check, change, exchange, call and decision that began has its other half on record."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from steelyard.evidence.change.change import Change, ChangeEntry
from steelyard.evidence.folder.folder import RunFolder
from steelyard.evidence.trace.completeness import measure_completeness
from steelyard.evidence.trace.events import EventLog
from steelyard.filesystem.tree import Entry

FILE = Entry("file", "644", 1, "a" * 64)
LIVE = {"observed": "live", "renamed_from": None, "before": None, "after": FILE.to_json()}
EventOf = tuple[str, dict[str, Any]]


def missing(
    tmp_path: Path, events: list[EventOf], entries: tuple[ChangeEntry, ...] = (), **agent: Any
) -> dict[str, Any]:
    folder = RunFolder.create(tmp_path, "run")
    folder.write_json("manifest.json", {"agent": {"in_sandbox": True, **agent}, "workspace": "code"})
    folder.write_bytes("change.json", Change("root", entries).to_bytes())
    with EventLog(folder.events) as log:
        for kind, payload in [("run.start", {}), *events, ("termination", {}), ("run.end", {})]:
            log.append(kind, "harness", payload)
    found = measure_completeness(folder)
    assert found.is_complete is not any(item.missing for item in found.items)
    return {item.name: item.missing for item in found.items if item.missing}


CHECK = ("check.start", {"id": "unit"})
ADDED = (ChangeEntry("a", None, FILE),)
ALERT = ("monitor.alert", {"code": "wall_time"})

COMPLETE: list[tuple[list[EventOf], tuple[ChangeEntry, ...]]] = [
    ([CHECK, ("check.end", {"id": "unit"})], ()),
    ([("tool.call", {"id": "x"}), ("tool.result", {"id": "x"})], ()),
    ([("tool.call", {"whole_agent": True}), ("tool.call", {"id": "x"}), ("tool.result", {"id": "x"}),
      ("tool.result", {"whole_agent": True})], ()),
    ([("model.request", {"request": 1}), ("model.error", {"request": 1})], ()),
    ([("workspace.change", {"path": "a", **LIVE})], ADDED),
    ([("workspace.changes", {"observed": "live", "rows": [["a", None, None, "a" * 64]]})], ADDED),
    ([("workspace.change", {**LIVE, "path": "d", "before": {"kind": "dir"}, "after": None})],
     (ChangeEntry("d/e/f", FILE, None),)),
    ([ALERT, ("intervention", {"action": "terminate", "alert": 2})], ()),
    ([("intervention", {"action": "terminate", "alert": None})], ()),
    ([ALERT, ("intervention", {"action": "pause", "alert": 2}), ("operator.decision", {"alert": 2})], ()),
]  # fmt: skip
INCOMPLETE: list[tuple[list[EventOf], tuple[ChangeEntry, ...], dict[str, list[str]]]] = [
    ([CHECK], (), {"acceptance": ["event 2: check unit has no end"]}),
    ([("tool.call", {"id": "x", "kind": "read"}), ("tool.result", {"id": "y"})], (),
     {"tool_calls": ["event 2: read has no result"]}),
    ([("model.request", {"request": 1}), ("model.response", {"request": 2})], (),
     {"exchanges": ["event 2: a request without an answer"]}),
    ([], ADDED, {"mutations": ["a"]}),
    ([("workspace.change", {"path": "a", **LIVE, "observed": "capture"})], ADDED, {"mutations": ["a"]}),
    ([("workspace.change", {"path": "a", **LIVE}), ("workspace.change", {"path": "a", **LIVE, "observed": "capture"})],
     ADDED, {"mutations": ["a"]}),
    ([("intervention", {"action": "terminate", "alert": 9})], (),
     {"decisions": ["event 2: terminate follows from alert 9, which is not there"]}),
    ([ALERT, ("intervention", {"action": "pause", "alert": 2})], (), {"decisions": ["event 3: pause has no decision"]}),
]  # fmt: skip


@pytest.mark.parametrize(("events", "entries"), COMPLETE)
def test_a_trace_with_both_halves_is_complete(
    tmp_path: Path, events: list[EventOf], entries: tuple[ChangeEntry, ...]
) -> None:
    assert missing(tmp_path, events, entries) == {}


@pytest.mark.parametrize(("events", "entries", "named"), INCOMPLETE)
def test_a_missing_half_is_named(
    tmp_path: Path, events: list[EventOf], entries: tuple[ChangeEntry, ...], named: dict[str, list[str]]
) -> None:
    assert missing(tmp_path, events, entries) == named


def test_a_change_that_was_handed_over_needs_no_live_event(tmp_path: Path) -> None:
    shown = [("workspace.change", {"path": "a", **LIVE, "observed": "capture"})]
    assert missing(tmp_path, shown, ADDED, in_sandbox=False) == {}

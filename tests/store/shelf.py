"""Folders of runs whose entries a function makes: no sandbox, no grading."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from steelyard.evidence.folder.folder import RunFolder
from steelyard.evidence.live_state import started_at
from steelyard.store.entry import Entry, entry_of_line
from steelyard.store.store import Store

LONG_AGO_NS = 1_700_000_000_000_000_000


def line_of(**keys: Any) -> dict[str, Any]:
    return {
        "contract": {"id": "sum", "digest": "d" * 64},
        "agent": "noop",
        "verdict": "fail",
        "status": "scorable",
        "tags": [],
        "cost": {"usd": 0.5},
        "durations": {"wall_s": 2.0},
        **keys,
    }


@dataclass
class Shelf:
    """A folder of runs; `lines` says what each run's result line is."""

    root: Path
    url: str | None
    lines: dict[str, dict[str, Any]] = field(default_factory=dict)
    reads: list[str] = field(default_factory=list)

    def add(self, number: int, **keys: Any) -> str:
        run = f"20260307T1200{number:02d}000Z-sum-noop-{number:06x}"
        (self.root / run).mkdir(parents=True)
        (self.root / run / "manifest.json").write_text("{}")
        self.lines[run] = line_of(run=run, **keys)
        self.touch(run, LONG_AGO_NS)
        return run

    def touch(self, run: str, at_ns: int) -> None:
        os.utime(self.root / run, ns=(at_ns, at_ns))

    def read(self, folder: RunFolder) -> Entry:
        self.reads.append(folder.run_id)
        return entry_of_line(folder.run_id, self.lines[folder.run_id], started_at(folder))

    def open(self) -> Store:
        return Store(self.root, self.read, self.url)


def at(second: int) -> datetime:
    return datetime(2026, 3, 7, 12, 0, second, tzinfo=UTC)

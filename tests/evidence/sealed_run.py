"""A small run folder with everything in it, for tests to seal and to spoil."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from steelyard.evidence.change.change import Change, ChangeEntry
from steelyard.evidence.folder.folder import RunFolder
from steelyard.evidence.folder.seal import seal
from steelyard.evidence.trace.events import EventLog
from steelyard.filesystem.tree import Entry

CONTENT = b"print(1)\n"
CONTRACT = {"id": "c", "digest": "c" * 64}


def make_grading(outcome: str = "pass", **more: object) -> dict[str, Any]:
    """What a grader of the run below would have said, had its check ended with `outcome`."""
    grade = {"name": "unit", "check": True, "required": True, "outcome": outcome}
    gates = {"acceptance": {"outcome": outcome, "why": ""}}
    verdict = {"verdict": outcome, "status": "scorable", "acceptance": "success", "gates": gates}
    whole = {"schema": "steelyard.grading/1", "contract": CONTRACT, "grades": [grade], "verdict": verdict}
    return {**whole, **more}


def make_run(
    root: Path, run_id: str = "20260307T120000000Z-c-noop-abcdef", *, outcome: str = "pass"
) -> RunFolder:
    folder = RunFolder.create(root, run_id)
    folder.write_json("manifest.json", {"run": run_id, "contract": CONTRACT, "seeds": {"grading": 7}})
    with EventLog(folder.events) as log:
        log.append("run.start", "harness", {"run": run_id})
        log.append("stage.enter", "harness", {"stage": "write"})
        log.append("tool.call", "agent", {"kind": "execute"})
        log.append("tool.result", "agent", {"wall_ns": 5_000_000_000})
        log.append("stage.leave", "harness", {"stage": "write"})
        log.append("check.start", "harness", {"id": "unit"})
        log.append("check.end", "harness", {"id": "unit"})
        log.append("termination", "harness", {"code": "completed", "rationale": "done"})
    folder.blobs.put_bytes(CONTENT)
    new = Entry("file", "644", len(CONTENT), hashlib.sha256(CONTENT).hexdigest())
    change = Change("0" * 64, (ChangeEntry("a.py", None, new),))
    folder.write_bytes("change.json", change.to_bytes())
    folder.write_bytes("patch.diff", b"")
    folder.write_json("checks/unit/outcome.json", {"id": "unit", "outcome": outcome})
    folder.write_bytes("agent/stdout.txt", b"hello\n")
    return folder


def make_sealed_run(root: Path, run_id: str = "20260307T120000000Z-c-noop-abcdef") -> RunFolder:
    folder = make_run(root, run_id)
    seal(folder)
    return folder

"""Run folders that are sealed and graded, in which every text that an agent or a judge can write attacks its reader."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from steelyard.evidence.change.change import Change, ChangeEntry
from steelyard.evidence.folder.folder import RunFolder
from steelyard.evidence.folder.gradings import append_grading
from steelyard.evidence.folder.seal import seal
from steelyard.evidence.trace.events import EventLog
from steelyard.filesystem.tree import Entry

ATTACKS = (
    "<script>window.pwned = 1</script>",
    "\"><img src=x onerror='window.pwned = 2'>",
    "<svg onload=window.pwned=3>",
    "</pre></td></script><iframe srcdoc='<script>parent.pwned = 4</script>'></iframe>",
    "<a href='javascript:window.pwned = 5'>open</a>",
    "javascript:window.pwned=6",
    "<style>* { display: none }</style><link rel=stylesheet href=//evil.example/x.css>",
    "<base href=//evil.example/><form action=//evil.example/><input name=csrf>",
    "{{7*7}} ${7*7} <%= 7*7 %>",
    "\x1b[2J\x1b]0;owned\x07\x1b]8;;http://evil.example\x07link",
    "\u202etxt.exe\u202c \u2066hidden\u2069 zero\u200bwidth \ufeff",
    "\x00\x08\x0b\x7f\x9b\ud800",
)


def json_text(text: str) -> str:
    """As JSON can hold it: no half of a surrogate pair."""
    return text.encode("utf-8", "replace").decode()


EVERYTHING = " ".join(ATTACKS)
LONG = "A" * (10 << 20)
CONTRACT = {"id": "<script>window.pwned=7</script>c", "digest": "c" * 64}
RUN = "20260307T120000000Z-hostile-noop-abcdef"
TABS = (
    "",
    "/diff",
    "/scorers",
    "/judge",
    "/why",
    "/checks",
    "/cost",
    "/files",
    "/evidence",
    "/review",
    "/event/3",
    "/event/5",
    "/file/agent/stdout.txt",
)
PAGES = (
    *(f"/run/{RUN}{tab}" for tab in TABS),
    "/",
    "/?q=%3Cscript%3E",
    "/contracts",
    "/agents",
    "/studies",
    "/study/all",
    "/compare",
)
ASSURANCE = {
    "isolation": "bubblewrap",
    "tree": "fresh",
    "oracle": "twin",
    "control_coverage": 0.5,
    "chance": None,
    "runner": "reporter",
    "network": json_text(EVERYTHING),
    "limits": {json_text(EVERYTHING): json_text(EVERYTHING)},
    "findings": 1,
}


def make_hostile_run(root: Path, run: str = RUN, *, events: int = 0) -> RunFolder:
    """A folder that verifies; `events` more tool calls make its log long."""
    evil = json_text(EVERYTHING)
    folder = RunFolder.create(root, run)
    folder.write_json(
        "manifest.json",
        {"run": run, "contract": CONTRACT, "agent": {"name": evil}, "seeds": {"grading": 7, "repeat": 0}},
    )
    _write_log(folder, run, evil, events)
    stored = folder.blobs.put_bytes(EVERYTHING.encode("utf-8", "surrogatepass") + b"\xff\xfe" + LONG.encode())
    path = "a/<script>window.pwned=8</script>\x1b[31m\u202e.py"
    change = Change("0" * 64, (ChangeEntry(path, None, Entry("file", "644", stored.size, stored.sha256)),))
    folder.write_bytes("change.json", change.to_bytes())
    folder.write_bytes("patch.diff", _patch())
    folder.write_json("checks/unit/outcome.json", _outcome(evil))
    folder.write_bytes(
        "agent/stdout.txt", EVERYTHING.encode("utf-8", "surrogatepass") + b"\xff" + LONG.encode()
    )
    seal(folder)
    append_grading(folder, _grading(evil))
    return folder


def _write_log(folder: RunFolder, run: str, evil: str, events: int) -> None:
    with EventLog(folder.events) as log:
        log.append("run.start", "harness", {"run": run})
        log.append("stage.enter", "harness", {"stage": evil})
        log.append("brief", "harness", {"text": EVERYTHING})
        log.append("agent.message", "agent", {"prefix": EVERYTHING, "pointer": "agent/stdout.txt"})
        log.append("tool.call", "agent", {"kind": "execute", "cmd": LONG})
        log.append("tool.result", "agent", {"exit_status": 0, "wall_ns": 5, evil: evil})
        for number in range(events):
            log.append(
                "tool.call" if number % 2 else "tool.result",
                "agent",
                {"kind": "execute", "cmd": f"step {number}"},
            )
        log.append("stage.leave", "harness", {"stage": "write"})
        log.append("check.start", "harness", {"id": "unit"})
        log.append("check.end", "harness", {"id": "unit", "outcome": "fail", "why": evil})
        log.append("monitor.alert", "monitor", {"code": evil, "signals": {evil: evil}})
        log.append("termination", "harness", {"code": "completed", "rationale": evil})


def _patch() -> bytes:
    lines = "".join(f"+{line}\n" for line in ATTACKS).encode("utf-8", "surrogatepass")
    return (
        b"diff --git a/x.py b/x.py\n--- a/x.py\n+++ b/<script>window.pwned=9</script>.py\n@@ -0,0 +1,3 @@\n"
        + lines
        + b"+\xff\xfe invalid\n+"
        + LONG[: 1 << 20].encode()
        + b"\n"
    )


def _outcome(evil: str) -> dict[str, Any]:
    stream = {"digest": "0" * 64, "bytes": 9000, "prefix": evil, "tail": evil, "blob": None, "cut": 0}
    return {
        "schema": "steelyard.outcome/1",
        "id": "unit",
        "under": "acceptance",
        "outcome": "fail",
        "why": evil,
        "argv": ["/bin/sh", "-c", evil],
        "exit": 1,
        "observed_s": 1.0,
        "ceiling_s": 60.0,
        "stdout": stream,
        "stderr": stream,
        "runs": ["fail"],
        "notes": [evil],
        "oracle": evil,
        "reported": {
            "runner": evil,
            "channel": "reporter",
            "counts": {"failed": 2, evil: 1},
            "results": [[evil, "failed", evil, evil], [evil * 30, evil, evil, evil]],
            "problems": [evil],
            "tampering": [evil],
        },
        "controls": {
            "kind": "twin",
            "changed": 1,
            "counted": 1,
            "wrong": [evil],
            "coverage": 0.5,
            "problem": evil,
            "weak": evil,
        },
    }


def _grading(evil: str) -> dict[str, Any]:
    grade = {
        "name": "unit",
        "type": evil,
        "check": True,
        "required": True,
        "outcome": "fail",
        "score": 0.0,
        "why": evil,
        "output_tail": evil,
        "hidden": False,
        "under": "acceptance",
        "weight": 1.0,
        "gate": False,
        "data": {evil: [evil]},
        "pointers": [evil, f"checks/{evil}", "javascript:window.pwned=10", "events.jsonl#1"],
    }
    opinion = {
        "model": evil,
        "verdict": "FAIL",
        "scores": {"task_completion": 1, "instruction_adherence": 2, "efficiency": 3},
        "failure_mode": evil,
        "reasoning": evil * 100,
        "facts": [{"claim": evil, "supported": False, "evidence": evil}],
        "steered": True,
        "reused": False,
        "error": evil,
        "question": "",
        "at": evil,
        "tokens_in": 1,
        "tokens_out": 1,
    }
    judge = {
        "verdict": "FAIL",
        "why": evil,
        "failure_mode": evil,
        "scores": {"task_completion": 1.0, "instruction_adherence": 2.0, "efficiency": 3.0},
        "split": True,
        "steered": True,
        "agreement": 0.5,
        "opinions": [opinion],
    }
    finding = {"id": evil, "severity": "warning", "where": f"x.py{evil}:1", "why": evil}
    gate = {"outcome": "fail", "why": evil}
    return {
        "schema": "steelyard.grading/1",
        "contract": CONTRACT,
        "grades": [grade],
        "assurance": ASSURANCE,
        "evaluation": {"breakdown": {evil: evil}},
        "verdict": {
            "verdict": "fail",
            "status": "scorable",
            "reason": evil,
            "acceptance": "failure",
            "checks": "FAIL",
            "badge": "PASS",
            "score": 0.0,
            "mean_score": 0.0,
            "reward": 0.0,
            "judge": judge,
            "disagreement": "none",
            "tags": [evil],
            "findings": [finding],
            "gates": {"patch": gate, "build": gate, "acceptance": gate, "safety": gate},
        },
    }

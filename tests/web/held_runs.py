"""A run folder whose run waits for an operator, and a controller that takes the first decision about it."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from steelyard.evidence.folder.folder import RunFolder
from steelyard.evidence.in_use import InUse
from steelyard.evidence.trace.events import EventLog
from steelyard.execution.supervision.decisions import read_decision

HELD = "20260307T120000000Z-widgets-quick-abcdef"
ALERT = {
    "monitor": "policy",
    "code": "privilege_escalation",
    "severity": "high",
    "rule": "privilege_escalation",
    "why": "runs a command as another user: sudo id <script>window.pwned = 1</script>",
    "signals": {"commands": 1},
    "events": [2],
}
ARGV = ["sh", "-c", "sudo id; sleep 1 <img src=x onerror=alert(1)>"]


@contextmanager
def held_run_folder(root: Path, *, action: str = "pause") -> Iterator[RunFolder]:
    """While the block runs, the run waits; the controller lets it go on with the first decision that it reads."""
    folder = RunFolder.create(root, HELD)
    contract = {"id": "widgets", "digest": "c" * 64}
    folder.write_json("manifest.json", {"run": HELD, "contract": contract, "agent": {"name": "quick"}})
    ended = threading.Event()
    with InUse(folder.path), EventLog(folder.events) as log:
        log.append("run.start", "harness", {"run": HELD})
        log.append("process.start", "harness", {"argv": ARGV})
        alert = log.append("monitor.alert", "monitor", {**ALERT, "action": action})
        waits = {"deadline_s": 600, "default": "terminate"}
        log.append("intervention", "harness", {"action": action, "alert": alert, **waits})
        log.append("tool.call", "agent", {"kind": "execute"})

        def take() -> None:
            while not ended.is_set():
                decision = read_decision(folder, alert)
                if decision is not None:
                    taken: dict[str, Any] = {**decision.to_json(), "alert": alert}
                    log.append("operator.decision", "operator", taken)
                    return
                time.sleep(0.02)

        controller = threading.Thread(target=take)
        controller.start()
        try:
            yield folder
        finally:
            ended.set()
            controller.join()

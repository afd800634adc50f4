"""Killed at any moment, a run leaves a folder that is incomplete or whole, never a sealed one that is wrong."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from steelyard.evidence.evidence import load_evidence
from steelyard.evidence.folder.folder import find_runs
from steelyard.evidence.trace.events import read_events, verify_chain

HERE = Path(__file__).parents[1]
ENDLESS = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from sealed_run import make_sealed_run
number = 0
while True:
    make_sealed_run(Path(sys.argv[2]), f"run-{number:06d}")
    number += 1
"""
ENDLESS_LOG = """
import sys
from pathlib import Path
from steelyard.evidence.trace.events import EventLog
log = EventLog(Path(sys.argv[2]) / "events.jsonl")
while True:
    log.append("tool.call", "agent", {"text": "x" * 3000})
"""


def kill_while(script: str, root: Path, delay_s: float, appears: str) -> None:
    """Start the endless script, wait until it does its work, and kill it at an arbitrary moment."""
    child = subprocess.Popen(
        [sys.executable, "-c", script, str(HERE), str(root)], env={**os.environ, "PYTHONPATH": _source()}
    )
    try:
        while not list(root.glob(appears)) and child.poll() is None:
            time.sleep(0.005)
        time.sleep(delay_s)
    finally:
        child.send_signal(signal.SIGKILL)
        child.wait()


def _source() -> str:
    return str(Path(__file__).parents[3] / "src")


@pytest.mark.parametrize("delay_s", [0.0, 0.013, 0.031, 0.052])
def test_a_run_killed_while_it_writes_is_never_sealed_and_wrong(tmp_path: Path, delay_s: float) -> None:
    kill_while(ENDLESS, tmp_path, delay_s, "run-000001")
    runs = find_runs(tmp_path)
    assert runs
    for run in runs:
        evidence = load_evidence(run)
        assert (evidence.broken is None) == (run.state == "sealed")
    assert sum(run.state == "incomplete" for run in runs) <= 1


@pytest.mark.parametrize("delay_s", [0.01, 0.02])
def test_a_log_killed_while_it_writes_is_a_whole_chain(tmp_path: Path, delay_s: float) -> None:
    kill_while(ENDLESS_LOG, tmp_path, delay_s, "events.jsonl")
    broken = verify_chain(tmp_path / "events.jsonl")
    assert broken is None or "truncated" in broken.why
    assert all(event.payload["text"] for event in read_events(tmp_path / "events.jsonl"))

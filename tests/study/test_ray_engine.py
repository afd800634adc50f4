"""A study on a real Ray cluster, of which one node dies."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from authoring import Author, Steelyard


@pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="ray is not installed")
def test_a_node_that_dies_costs_no_result_and_doubles_none(
    steelyard: Steelyard, author: Author, tmp_path: Path, cache: Path
) -> None:
    study, runs = tmp_path / "study.yaml", tmp_path / "runs"
    folder = author.write(
        environment={"cpu": 1, "memory_mb": {"guaranteed": 64, "limit": 512}, "disk_mb": 64}
    )
    words = ("plan", folder, "--agent", "mine=command:sleep 0.5", "--repeats", 3, "--out", study)
    assert steelyard(*words).code == 0
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("ray_study.py")), str(study), str(runs)],
        env={
            **os.environ,
            "STEELYARD_CACHE": str(cache),
            "RAY_DEDUP_LOGS": "0",
            "RAY_USAGE_STATS_ENABLED": "0",
            "RAY_worker_register_timeout_seconds": "600",
            "RAY_health_check_timeout_ms": "60000",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == {"code": 0}, done.stdout + done.stderr
    lines = steelyard("runs", "--runs", runs, "--json").lines
    ended = [line for line in lines if line["state"] in {"pass", "fail"}]
    assert set(Counter(line["trial"] for line in ended).values()) == {1}
    verdicts = Counter((line["agent"], line["state"]) for line in ended)
    assert verdicts == {("mine", "fail"): 3, ("noop", "fail"): 3, ("reference", "pass"): 3}
    assert steelyard("study", "status", study, "--runs", runs, "--json").line["state"] == "complete"

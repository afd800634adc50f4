"""What a trial takes of the host it gives back: when it ends, and when anything of it is killed at any moment."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from left_behind import assert_no_mount_was_added, await_death, groups_of, mounts, temporary

from authoring import PATIENT, Author
from steelyard.evidence.evidence import load_evidence
from steelyard.evidence.folder.folder import find_runs
from steelyard.evidence.folder.gradings import read_gradings
from steelyard.sandboxes.limits.watch_usage import descendants

CONTROLLER = Path(__file__).with_name("controller.py")
SOAK = Path(__file__).parents[2] / "scripts/soak.py"
SEED = 20260307
KILLS = 50  # about eight of each of the six kinds; `make soak` kills a thousand times


@pytest.fixture
def contract(author: Author) -> Path:
    folder: Path = author.write(oracle={"checks": [{"id": "quick", "cmd": "true"}]}, budget=PATIENT)
    return folder


@pytest.fixture
def own_cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


@contextmanager
def controller(contract: Path, out: Path, cache: Path, *rest: object) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, str(CONTROLLER), str(contract), str(out), *map(str, rest)]
    environment = {**os.environ, "STEELYARD_CACHE": str(cache)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        try:
            yield process
        finally:
            with suppress(ProcessLookupError):
                process.kill()


def shown(process: subprocess.Popen[str]) -> list[dict[str, object]]:
    assert process.stdout is not None
    return [json.loads(line) for line in process.stdout]


def test_thirty_trials_in_a_row_leave_nothing(contract: Path, tmp_path: Path, own_cache: Path) -> None:
    mounted = mounts(tmp_path)
    with controller(contract, tmp_path / "runs", own_cache, 30, 1, "noop") as process:
        result = shown(process)
        assert process.wait() == 0
        assert len(result) == 30
        assert groups_of(process.pid) == []
    # The first trial starts the launcher; after it a trial takes no descriptor and no thread for good.
    assert {(one["descriptors"], one["threads"]) for one in result[2:]} == {
        (result[2]["descriptors"], result[2]["threads"])
    }
    assert {one["runs"] for one in result} == {1}
    assert_no_mount_was_added(mounted, tmp_path)
    assert temporary(own_cache) == []


def test_sixteen_trials_at_once_leave_nothing(contract: Path, tmp_path: Path, own_cache: Path) -> None:
    mounted = mounts(tmp_path)
    with controller(contract, tmp_path / "runs", own_cache, 32, 16, "command:echo x > new") as process:
        result = shown(process)
        assert process.wait() == 0
        assert groups_of(process.pid) == []
    assert [one["status"] for one in result] == ["scorable"] * 32
    assert_no_mount_was_added(mounted, tmp_path)
    assert temporary(own_cache) == []
    assert all(run.state == "sealed" for run in find_runs(tmp_path / "runs"))


def check_records(runs: Path) -> int:
    """Every folder is sealed and whole, or visibly unfinished and never graded; how many are unfinished."""
    unfinished = 0
    for run in find_runs(runs):
        evidence = load_evidence(run)
        if run.state == "sealed":
            assert evidence.broken is None or evidence.termination == "infrastructure", (run, evidence.broken)
        else:
            unfinished += 1
            assert evidence.broken is not None
            assert read_gradings(run) == []
    return unfinished


def test_fifty_random_kills_of_studies_lose_and_double_nothing_and_leave_nothing() -> None:
    """Launchers, sandboxes, agents, controllers, and a controller whose gateway streams; the script checks every record and budget."""
    line = [sys.executable, str(SOAK), str(KILLS), str(SEED)]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    summary = json.loads(done.stdout[done.stdout.index("{") :])
    assert (sum(summary["kills"].values()), len(summary["kills"]), summary["left"]) == (KILLS, 6, [])


def test_an_interrupt_ends_a_run_at_once_and_its_run_counts_for_nothing(
    contract: Path, tmp_path: Path, own_cache: Path
) -> None:
    runs = tmp_path / "runs"
    line = [
        sys.executable,
        "-m",
        "steelyard",
        "run",
        str(contract),
        "--agent",
        "command:sleep 3000",
        "--out",
        str(runs),
    ]
    signal.signal(
        signal.SIGINT, signal.default_int_handler
    )  # a shell's background jobs inherit that it is ignored
    with subprocess.Popen(
        line, env={**os.environ, "STEELYARD_CACHE": str(own_cache)}, stderr=subprocess.PIPE
    ) as process:
        while not any(
            b'"tool.call"' in run.events.read_bytes() for run in find_runs(runs) if run.events.exists()
        ):
            time.sleep(0.01)
        family = descendants(process.pid)
        process.send_signal(signal.SIGINT)
        assert process.wait() == 130
        await_death([pid for pid in family if pid != process.pid])
        assert process.stderr is not None
        assert b"interrupted" in process.stderr.read()
    assert check_records(runs) == 0
    (run,) = find_runs(runs)
    report = run.read_json("report.json")
    assert (report["status"], report["termination"]["code"]) == ("invalid", "operator")

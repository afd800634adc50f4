"""What a trial takes of the host it gives back: when it ends, and when anything of it is killed at any moment."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from left_behind import await_death, groups_of, mounts, temporary

from authoring import PATIENT, Author, Steelyard
from steelyard.evidence.evidence import load_evidence
from steelyard.evidence.folder.folder import find_runs
from steelyard.evidence.folder.gradings import read_gradings
from steelyard.filesystem.cache import Cache
from steelyard.sandboxes.limits.watch_usage import descendants

CONTROLLER = Path(__file__).with_name("controller.py")
SEED = 20260307
KILLS = 8  # of each kind of process; `make soak` kills more often
WORK = "command:i=0; while [ $i -lt 40 ]; do echo $i > f$i; sleep 0.01; i=$((i+1)); done"


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


def told(process: subprocess.Popen[str]) -> list[dict[str, object]]:
    assert process.stdout is not None
    return [json.loads(line) for line in process.stdout]


def test_sixty_trials_in_a_row_leave_nothing(contract: Path, tmp_path: Path, own_cache: Path) -> None:
    mounted = mounts(tmp_path)
    with controller(contract, tmp_path / "runs", own_cache, 60, 1, "noop") as process:
        said = told(process)
        assert process.wait() == 0
        assert len(said) == 60
        assert groups_of(process.pid) == []
    # The first trial starts the launcher; after it a trial takes no descriptor and no thread for good.
    assert {(one["descriptors"], one["threads"]) for one in said[2:]} == {
        (said[2]["descriptors"], said[2]["threads"])
    }
    assert {one["runs"] for one in said} == {1}
    assert mounts(tmp_path) == mounted
    assert temporary(own_cache) == []


def test_sixteen_trials_at_once_leave_nothing(contract: Path, tmp_path: Path, own_cache: Path) -> None:
    mounted = mounts(tmp_path)
    with controller(contract, tmp_path / "runs", own_cache, 32, 16, "command:echo x > new") as process:
        said = told(process)
        assert process.wait() == 0
        assert groups_of(process.pid) == []
    assert [one["status"] for one in said] == ["scorable"] * 32
    assert mounts(tmp_path) == mounted
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


def test_killing_the_controller_at_any_moment_loses_at_most_the_run_in_flight(
    contract: Path, tmp_path: Path, own_cache: Path, steelyard: Steelyard
) -> None:
    draw = random.Random(SEED)
    runs = tmp_path / "runs"
    killed = []
    for _ in range(KILLS):
        with controller(contract, runs, own_cache, 1000, 1, WORK) as process:
            assert process.stdout is not None
            process.stdout.readline()  # one trial is done: everything is warm
            time.sleep(draw.uniform(0, 0.6))
            family = descendants(process.pid)
            process.kill()
            process.wait()
            killed.append(process.pid)
            await_death([pid for pid in family if pid != process.pid])
    assert check_records(runs) <= KILLS
    cleaned = steelyard("doctor", "--clean", "--json", env={"STEELYARD_CACHE": str(own_cache)})
    assert cleaned.code == 0, cleaned.err
    assert [group for pid in killed for group in groups_of(pid)] == []
    assert temporary(own_cache) == []


def victims(process: subprocess.Popen[str], kind: str) -> list[int]:
    """Processes of that kind among the controller's, by what they are called."""
    found = []
    for pid in descendants(process.pid):
        with suppress(OSError):
            line = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
            name = line[0].rsplit(b"/", 1)[-1].decode(errors="replace")
            is_launcher = any(b"steelyard.sandboxes.bubblewrap.launcher" in word for word in line)
            if {"launcher": is_launcher, "bwrap": name == "bwrap", "agent": name in {"sh", "sleep"}}[kind]:
                found.append(pid)
    return found


def test_killing_launchers_bubblewraps_and_agents_at_any_moment_costs_runs_and_never_records(
    contract: Path, tmp_path: Path, own_cache: Path
) -> None:
    draw = random.Random(SEED)
    runs = tmp_path / "runs"
    killed = dict.fromkeys(("launcher", "bwrap", "agent"), 0)
    with controller(contract, runs, own_cache, 1000, 2, WORK) as process:
        assert process.stdout is not None
        process.stdout.readline()
        while sum(killed.values()) < 3 * KILLS:
            time.sleep(draw.uniform(0.02, 0.3))
            kind = min(killed, key=lambda name: killed[name])
            prey = victims(process, kind)
            if prey:
                with suppress(ProcessLookupError):
                    os.kill(draw.choice(prey), signal.SIGKILL)
                    killed[kind] += 1
            assert process.poll() is None, "the controller must survive all of it"
        family = descendants(process.pid)
        process.kill()
        process.wait()
        await_death([pid for pid in family if pid != process.pid])
    assert set(killed.values()) == {KILLS}
    check_records(runs)
    Cache(own_cache).sweep()
    assert temporary(own_cache) == []


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

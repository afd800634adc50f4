"""`steelyard operate`: what waits, why, what somebody decides; and what is left when the controller is killed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from containers import in_docker

from authoring import FIX, Author, Steelyard

SANDBOXES = ["bubblewrap", "docker"]
RISKY = f"{FIX}\nsh -c 'sudo id; sleep 3; : OF_TEST'\n"
Start = Callable[..., subprocess.Popen[bytes]]


@pytest.fixture
def start(author: Author, script: Any, tmp_path: Path, cache: Path) -> Iterator[Start]:
    """A run in the background; its output is in `cwd`."""
    started: list[subprocess.Popen[bytes]] = []
    where = tmp_path / "cwd"
    where.mkdir(exist_ok=True)

    def begin(action: str, kind: str = "bubblewrap", **operator: Any) -> subprocess.Popen[bytes]:
        policy = {
            "rules": {"privilege_escalation": action},
            "operator": {"deadline_s": 600, **operator},
            "breakers": {"throttle_s": 60},
        }
        environment = in_docker() if kind == "docker" else {}
        budget = {"wall_s": 1200, "headroom": {"wall_s": 600}}
        contract = author.write(policy=policy, budget=budget, environment=environment)
        words = ["run", str(contract), "--agent", script(RISKY.replace("OF_TEST", str(tmp_path))), "--json"]
        env = {**os.environ, "STEELYARD_CACHE": str(cache)}
        line = [sys.executable, "-P", "-m", "steelyard", *words]
        pipe = subprocess.PIPE
        started.append(subprocess.Popen(line, cwd=where, env=env, stdout=pipe, stderr=pipe))
        return started[-1]

    yield begin
    for one in started:
        one.kill()
        one.communicate()


def waiting(steelyard: Steelyard) -> dict[str, Any]:
    deadline = time.monotonic() + 600
    while not (lines := steelyard("operate", "--json").lines):
        assert time.monotonic() < deadline
    first: dict[str, Any] = lines[0]
    return first


def test_a_paused_run_is_listed_shown_and_resumed(start: Start, steelyard: Steelyard) -> None:
    running = start("pause")
    held = waiting(steelyard)
    assert "`steelyard operate" in steelyard("show", "last").err
    assert (held["state"], held["alert"]["code"], held["default"]) == (
        "pause",
        "privilege_escalation",
        "terminate",
    )
    assert [one["type"] for one in held["evidence"]] == ["process.start"]
    assert "sudo id" in steelyard("operate").out
    shown = steelyard("operate", "last")
    assert "runs a command as another user: sudo id" in shown.out
    assert "process.start" in shown.out
    refused = steelyard("operate", "last", "resume")
    assert (refused.code, "needs a reason" in refused.err) == (2, True)
    result = steelyard(
        *(
            "operate",
            "last",
            "resume",
            "--reason",
            "it is a sandbox",
            "--by",
            "Ada",
            "--category",
            "acceptable_risk",
        )
    )
    assert (result.code, "resume by Ada" in result.out) == (0, True), result
    out, err = running.communicate(timeout=240)
    assert f"`steelyard operate .steelyard/runs/{held['run']}` shows and decides it" in err.decode()
    line = json.loads(out)
    assert (line["verdict"], line["termination"]) == ("pass", "completed")
    for words in (("operate",), ("operate", "list")):
        assert steelyard(*words).out == "no run waits for a decision\n"
    assert steelyard("operate", "last").code == 2


@pytest.mark.parametrize("action", ["pause", "suspend_writes", "throttle"])
def test_a_controller_that_is_killed_while_its_run_waits_leaves_nothing_behind(
    start: Start, steelyard: Steelyard, tmp_path: Path, kind: str, action: str
) -> None:
    running = start(action, kind)
    events = intervened(tmp_path / "cwd", action)
    running.kill()
    running.wait()
    after = waiting(steelyard)
    assert (after["run"], after["state"]) == (events.parent.name, "interrupted")
    assert "its controller ended while the run was" in steelyard("operate").out
    assert "nothing runs" in steelyard("operate", "last", "resume", "--reason", "x").err
    deadline = time.monotonic() + 600
    while left := _processes_with(f"sudo id; sleep 3; : {tmp_path}".encode()):
        assert time.monotonic() < deadline, left
        time.sleep(0.05)


def intervened(where: Path, action: str) -> Path:
    """The log of the run, once it has that intervention."""
    deadline = time.monotonic() + 600
    while time.monotonic() < deadline:
        for log in where.glob(".steelyard/runs/*/events.jsonl"):
            if f'"action":"{action}"' in log.read_text() and '"type":"intervention"' in log.read_text():
                return log
        time.sleep(0.05)
    raise AssertionError(action)


def _processes_with(words: bytes) -> list[str]:
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            line = (folder / "cmdline").read_bytes()
        except OSError:
            continue
        if words in line.replace(b"\0", b" "):
            found.append(folder.name)
    return found


def test_a_run_in_quarantine_is_scored_after_a_review_and_a_regrade(
    start: Start, steelyard: Steelyard
) -> None:
    running = start("pause")
    waiting(steelyard)
    reason = ("--reason", "look at it first", "--by", "Ada", "--category", "unsafe")
    assert steelyard("operate", "last", "quarantine", *reason).code == 0
    out, _ = running.communicate(timeout=240)
    line = json.loads(out)
    assert (line["status"], line["termination"]) == ("invalid", "safety")
    again = steelyard("regrade", "last", "--json").line
    assert (again["status"], "not scored until it is reviewed" in again["reason"]) == ("invalid", True)
    steelyard("review", "last", "--verdict", "fail", "--by", "eve", "--reason", "it was an attack")
    released = steelyard("regrade", "last", "--json").line
    assert (released["status"], released["verdict"]) == ("scorable", "fail"), released


def test_a_run_that_does_not_exist_is_named(steelyard: Steelyard) -> None:
    result = steelyard("operate", "nothing", "resume", "--reason", "x")
    assert result.code == 2
    assert "no run" in result.err

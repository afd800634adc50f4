"""Evidence is read from any folder, however damaged; what cannot be trusted says why."""

from __future__ import annotations

import os
import random
import shutil
from pathlib import Path

import pytest
from sealed_run import make_run, make_sealed_run

from steelyard.evidence.evidence import load_evidence
from steelyard.evidence.folder.folder import RunFolder
from steelyard.evidence.folder.seal import seal
from steelyard.evidence.trace.events import EventLog, read_events
from steelyard.evidence.trace.summary import MOST_LISTED, summarise_events


def test_a_sealed_run_is_read_whole(tmp_path: Path) -> None:
    evidence = load_evidence(make_sealed_run(tmp_path))
    assert evidence.broken is None
    assert (evidence.termination, evidence.rationale, evidence.seed) == ("completed", "done", 7)
    assert evidence.changed_paths == ("a.py",)
    assert dict(evidence.outcomes["unit"]) == {"id": "unit", "outcome": "pass"}
    assert evidence.counts["tool_calls"] == {"execute": 1}
    assert evidence.durations["active_tool_s"] == 5.0
    assert evidence.seal_digest == evidence.folder.read_json("seal.json")["digest"]


def test_an_incomplete_run_is_broken(tmp_path: Path) -> None:
    evidence = load_evidence(make_run(tmp_path))
    assert evidence.broken is not None
    assert "incomplete" in evidence.broken


def test_an_altered_outcome_is_broken(tmp_path: Path) -> None:
    run = make_sealed_run(tmp_path)
    run.write_json("checks/unit/outcome.json", {"outcome": "pass", "forged": True})
    assert load_evidence(run).broken == (
        "checks/unit/outcome.json: altered: it changed after the run was sealed"
    )


@pytest.mark.parametrize("name", ["change.json", "manifest.json"])
def test_a_run_sealed_without_a_part_is_broken(tmp_path: Path, name: str) -> None:
    run = make_run(tmp_path)
    run.file(name).unlink()
    seal(run)
    assert load_evidence(run).broken == f"{name}: missing or not readable"


@pytest.mark.parametrize(
    "raw", [b"", b"[]", b"{", b"null", b'{"schema":"steelyard.change/1"}', b"\xff\xfe", b"[" * 10_000]
)
@pytest.mark.parametrize(
    "name", ["manifest.json", "change.json", "checks/unit/outcome.json", "findings.json", "events.jsonl"]
)
def test_a_damaged_file_is_broken_and_never_a_crash(tmp_path: Path, name: str, raw: bytes) -> None:
    run = make_sealed_run(tmp_path)
    run.file(name).write_bytes(raw)
    assert load_evidence(run).broken is not None


def test_a_folder_that_is_not_there_is_broken(tmp_path: Path) -> None:
    assert load_evidence(tmp_path / "nowhere").broken is not None


@pytest.mark.parametrize("seed", range(30))
def test_random_damage_is_always_found(tmp_path: Path, seed: int) -> None:
    run = make_sealed_run(tmp_path)
    draw = random.Random(seed)
    paths = sorted(path for path in run.path.rglob("*") if path.is_file())
    path = draw.choice(paths)
    path.chmod(0o600)
    damage = draw.choice(["flip", "cut", "grow", "remove", "fifo"])
    data = path.read_bytes()
    if damage == "remove" or not data:
        path.unlink()
    elif damage == "fifo":
        path.unlink()
        os.mkfifo(path)
    else:
        at = draw.randrange(len(data))
        flipped = data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]
        path.write_bytes({"flip": flipped, "cut": data[:at], "grow": data + b"x"}[damage])
    assert load_evidence(run).broken is not None


def test_a_moved_folder_still_holds(tmp_path: Path) -> None:
    run = make_sealed_run(tmp_path / "a")
    moved = tmp_path / "b" / run.run_id
    shutil.copytree(run.path, moved)
    assert load_evidence(RunFolder(moved)).broken is None


def test_a_phase_without_its_end_took_an_unknown_time(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    with EventLog(path) as log:
        log.append("stage.enter", "harness", {"stage": "write"})
        log.append("tool.call", "agent", {"kind": "execute", "whole_agent": True})
    known = summarise_events(read_events(path))
    assert (known.durations["working_s"], known.durations["active_tool_s"]) == (None, None)
    assert known.durations["acceptance_s"] == 0.0  # none began
    assert (known.counts["tool_calls"], known.counts["requests"]) == (None, None)


def test_advice_without_end_hides_no_violation(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    with EventLog(path) as log:
        for _ in range(MOST_LISTED + 5):
            log.append("monitor.alert", "monitor", {"code": "network", "severity": "advisory"})
        last = log.append("monitor.alert", "monitor", {"code": "deny_commands", "severity": "violation"})
    summary = summarise_events(read_events(path))
    assert (summary.alerts[-1]["event"], summary.left_out) == (last, {"monitor.alert": 5})


def test_tokens_are_known_only_if_every_response_says_both(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    with EventLog(path) as log:
        log.append("model.response", "harness", {"usage": {"tokens_in": 5, "tokens_out": 7}})
        log.append("model.response", "harness", {"usage": {"tokens_in": 5}})
    assert summarise_events(read_events(path)).tokens is None


def test_tokens_and_costs_that_only_the_agent_reports_are_not_believed(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    with EventLog(path) as log:
        log.append("model.response", "agent", {"usage": {"tokens_in": 1, "tokens_out": 1}})
        log.append("cost", "agent", {"usd": 0.0})
    known = summarise_events(read_events(path))
    assert (known.tokens, known.cost_usd) == (None, None)


def test_dollars_are_unknown_as_soon_as_one_answer_has_no_price(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    with EventLog(path) as log:
        log.append("cost", "harness", {"usd": 0.25, "method": "library"})
        log.append("cost", "harness", {"usd": None, "units": 3.5, "method": "fallback"})
    known = summarise_events(read_events(path))
    assert (known.cost_usd, known.models.units) == (None, 3.5)


def test_waiting_for_an_overloaded_model_is_not_working_time(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    with EventLog(path) as log:
        log.append("stage.enter", "harness", {"stage": "write"})
        log.append("model.wait", "harness", {"total_ns": 5})
        log.append("model.wait", "harness", {"total_ns": 9})
        log.append("stage.leave", "harness", {"stage": "write"})
    known = summarise_events(read_events(path))
    assert known.durations["waited_s"] == 9e-9
    assert known.durations["working_s"] == pytest.approx((known.working_ns - 9) / 1e9)

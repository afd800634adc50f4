"""Stages of an agent's work: the workspace is read-only in `inspect`, each step is an event, a refused write is an alert."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from containers import in_docker

from authoring import FIX, Author, Steelyard, events, payloads
from steelyard.evidence.trace.events import EventLog, read_events
from steelyard.execution.stages.stage_control import StageControl
from steelyard.sandboxes.fake import Answer, FakeSandbox

SANDBOXES = ["bubblewrap", "docker"]
STAGES = {"stages": ["inspect", "write", "test"], "require": ["enforced_stages"]}
STAGED = f"""
cat add.sh
echo no > add.sh || echo refused
steelyard-stage nonsense || echo no such stage
steelyard-stage write && {FIX}
steelyard-stage test && sh check.sh && echo tested
"""


def steps(line: dict[str, Any]) -> list[tuple[str, str]]:
    shown = events(line, "stage.enter", "stage.leave")
    return [(one["type"].partition(".")[2], one["payload"]["stage"]) for one in shown]


def test_the_workspace_is_read_only_until_the_agent_asks_to_write(
    author: Author, steelyard: Steelyard, script: Any, kind: str
) -> None:
    environment = in_docker() if kind == "docker" else {}
    contract = author.write(environment=environment, policy=STAGES)
    line = steelyard("run", contract, "--agent", script(STAGED), "--json").line
    assert line["verdict"] == "pass", line
    result = Path(line["folder"], "agent/stdout.txt").read_text()
    assert result.splitlines()[-3:] == ["refused", "no such stage", "tested"]
    in_order = [(word, stage) for stage in ("inspect", "write", "test") for word in ("enter", "leave")]
    assert steps(line) == in_order
    (alert,) = payloads(line, "monitor.alert")
    (attempt,) = events(line, "kernel.attempt")
    assert (attempt["payload"]["error"], attempt["payload"]["target"]) == ("EROFS", "/workspace/add.sh")
    assert (alert["code"], alert["stage"], alert["signals"]) == (
        "write_in_inspect",
        "inspect",
        {"event": attempt["seq"], "seen": "kernel.attempt"},
    )
    (refused,) = payloads(line, "intervention")
    assert (refused["action"], refused["code"]) == ("refuse", "write_in_inspect")
    (brief,) = payloads(line, "brief")
    assert "`steelyard-stage write`" in brief["text"]


def test_a_write_in_inspect_ends_the_run_where_the_contract_says_so(
    author: Author, steelyard: Steelyard, script: Any, kind: str
) -> None:
    environment = in_docker() if kind == "docker" else {}
    policy = {**STAGES, "on_write_in_inspect": "terminate"}
    contract = author.write(environment=environment, policy=policy)
    line = steelyard("run", contract, "--agent", script("echo no > add.sh; sleep 3000"), "--json").line
    assert (line["termination"], line["verdict"], line["stopped_by"]) == (
        "safety",
        "fail",
        "monitor stages write_in_inspect",
    )
    (alert,) = payloads(line, "monitor.alert")
    (attempt,) = events(line, "kernel.attempt")
    assert (alert["severity"], alert["events"][-1]) == ("violation", attempt["seq"])
    assert "/workspace/add.sh" in alert["why"]
    assert [one["action"] for one in payloads(line, "intervention")] == ["refuse", "terminate"]
    assert steelyard("verify", line["run"]).code == 0


def test_an_agent_that_never_asks_changes_nothing(author: Author, steelyard: Steelyard, script: Any) -> None:
    line = steelyard("run", author.write(policy=STAGES), "--agent", script(FIX), "--json").line
    assert line["verdict"] == "fail"
    assert payloads(line, "workspace.change") == []
    assert steps(line) == [("enter", "inspect"), ("leave", "inspect")]


def test_the_reference_is_not_held_to_stages(author: Author, steelyard: Steelyard) -> None:
    line = steelyard("run", author.write(policy=STAGES), "--agent", "reference", "--json").line
    assert line["verdict"] == "pass"


def test_without_the_requirement_the_first_change_is_the_step_to_write(
    author: Author, steelyard: Steelyard, script: Any
) -> None:
    contract = author.write(policy={"stages": ["inspect", "write"]})
    line = steelyard("run", contract, "--agent", script(FIX), "--json").line
    assert line["verdict"] == "pass"
    entered = payloads(line, "stage.enter")
    assert [(one["stage"], one["by"], one["enforced"]) for one in entered] == [
        ("inspect", "harness", False),
        ("write", "observation", False),
    ]
    assert payloads(line, "monitor.alert") == []


def test_a_sandbox_without_the_switch_is_refused_before_anything_starts(
    author: Author, steelyard: Steelyard, script: Any
) -> None:
    contract = author.write(policy=STAGES)
    result = steelyard("run", contract, "--agent", script(FIX), "--sandbox", "local", "--json")
    assert result.code == 2
    assert "requires enforced stages, and the local sandbox cannot" in result.out + result.err


@pytest.mark.parametrize("stages", [[], ["write", "inspect"], ["write", "write"]])
def test_stages_out_of_order_are_refused(author: Author, steelyard: Steelyard, stages: list[str]) -> None:
    result = steelyard("check", author.write(policy={"stages": stages}))
    assert result.code == 2
    assert "in the order inspect, write, test" in result.out + result.err


def control(tmp_path: Path, mode: Any = "enforced") -> tuple[StageControl, EventLog, FakeSandbox]:
    log = EventLog(tmp_path / "events.jsonl")
    made = StageControl(log, ("inspect", "write", "test"), mode)
    log.subscribe(made.observe)
    sandbox = FakeSandbox(lambda _: Answer())
    made.start(sandbox)
    return made, log, sandbox


def test_a_write_call_in_inspect_is_an_alert_that_names_the_call(tmp_path: Path) -> None:
    made, log, sandbox = control(tmp_path)
    assert not sandbox.is_writable
    seq = log.append("tool.call", "agent", {"kind": "write", "tool": "Edit"})
    log.append("tool.call", "agent", {"kind": "read"})
    assert made.request("write") == ""
    assert sandbox.is_writable
    log.append("tool.call", "agent", {"kind": "write"})
    alerts = [one.payload for one in read_events(tmp_path / "events.jsonl") if one.type == "monitor.alert"]
    assert [one["signals"] for one in alerts] == [{"event": seq, "seen": "tool.call"}]
    sandbox.close()


def test_a_write_call_of_an_agent_that_is_only_observed_is_the_step_to_write(tmp_path: Path) -> None:
    made, log, sandbox = control(tmp_path, "observed")
    log.append("tool.call", "agent", {"kind": "write", "tool": "Edit"})
    assert made.current == "write"
    assert "monitor.alert" not in [one.type for one in read_events(tmp_path / "events.jsonl")]
    sandbox.close()


def test_an_error_message_in_two_pieces_is_seen_once(tmp_path: Path) -> None:
    made, _, sandbox = control(tmp_path)
    for piece in (b"sh: a: Read-only file", b" system\n", b"ok\n"):
        made.observe_output(piece)
    types = [one.type for one in read_events(tmp_path / "events.jsonl")]
    assert types.count("monitor.alert") == 1
    sandbox.close()


def test_writes_that_an_intervention_suspended_are_not_allowed_by_a_stage(tmp_path: Path) -> None:
    made, _, sandbox = control(tmp_path)
    made.is_suspended = lambda: True
    assert made.request("write") == "writes are suspended"
    assert not sandbox.is_writable
    sandbox.close()


def stages_of(folder: Path) -> list[tuple[str, str]]:
    entered = [one.payload for one in read_events(folder / "events.jsonl") if one.type == "stage.enter"]
    return [(one["stage"], one["by"]) for one in entered]


def test_a_test_run_of_an_opaque_agent_is_the_step_to_test(tmp_path: Path) -> None:
    made, log, sandbox = control(tmp_path, "observed")
    log.append("process.start", "harness", {"argv": ["pytest", "-q"], "process": "1-1"})
    log.append("workspace.change", "harness", {"path": "a", "attributed": True})
    log.append("process.start", "harness", {"argv": ["ls"], "process": "2-2"})
    assert made.current == "write"
    log.append("process.start", "harness", {"argv": ["sh", "-c", "npm test"], "process": "3-3"})
    assert stages_of(tmp_path) == [("inspect", "harness"), ("write", "observation"), ("test", "observation")]
    sandbox.close()


def test_a_test_run_moves_no_agent_that_is_held_to_its_stages(tmp_path: Path) -> None:
    made, log, sandbox = control(tmp_path)
    assert made.request("write") == ""
    log.append("process.start", "harness", {"argv": ["pytest"], "process": "1-1"})
    assert made.current == "write"
    sandbox.close()


@pytest.mark.parametrize(("error", "target", "count"), [("EROFS", "/workspace/a", 1), ("EROFS", "/etc/a", 0)])
def test_a_write_that_the_kernel_refuses_in_inspect_is_one_alert(
    tmp_path: Path, error: str, target: str, count: int
) -> None:
    made, log, sandbox = control(tmp_path)
    log.append("kernel.attempt", "harness", {"kind": "open", "error": error, "target": target})
    alerts = [one.type for one in read_events(tmp_path / "events.jsonl")].count("monitor.alert")
    assert alerts == count
    made.observe_output(b"sh: a: Read-only file system\n")
    assert [one.type for one in read_events(tmp_path / "events.jsonl")].count("monitor.alert") == 1
    sandbox.close()

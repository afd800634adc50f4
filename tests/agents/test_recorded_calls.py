"""The shell commands of a recorded trace are run again, and the first difference is named."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from fake_client import install_fake

from authoring import Author, Steelyard
from command_line import run_command
from steelyard.agents.recorded_calls import RecordedCall, Repetition, compare_call, read_calls
from steelyard.evidence.trace.events import EventLog, read_events
from steelyard.gateway.scripted import ScriptedModel, environment, serving


def call(id_: str, tool_input: Any, kind: str = "execute") -> tuple[str, dict[str, Any]]:
    return "tool.call", {"kind": kind, "id": id_, "input": tool_input, "source": "c"}


def result(id_: str, **fields: Any) -> tuple[str, dict[str, Any]]:
    return "tool.result", {
        "id": id_,
        "source": "c",
        "exit_status": 0,
        "is_error": False,
        "output": {},
        **fields,
    }


def calls_in(tmp_path: Path, *events: tuple[str, dict[str, Any]]) -> list[RecordedCall]:
    with EventLog(tmp_path / "events.jsonl") as log:
        for kind, payload in events:
            log.append(kind, "agent", payload)
    return read_calls(read_events(tmp_path / "events.jsonl"))


def recorded(output: str = "", **fields: Any) -> RecordedCall:
    shown = {"prefix": output, "digest": hashlib.sha256(output.encode()).hexdigest(), "bytes": len(output)}
    facts: dict[str, Any] = {"exit_status": 0, "is_error": False, **fields}
    return RecordedCall(5, 1, "c", "true", "", output=shown, **facts)


def test_commands_are_read_in_every_shape_that_clients_give_them(tmp_path: Path) -> None:
    found = calls_in(
        tmp_path,
        ("brief", {}),
        call("1", {"command": "ls"}),
        call("2", {"cmd": ["echo", "a b"], "workdir": "/workspace/src"}),
        result("2", exit_status=3),
        result("1"),
    )
    shown = [(one.command, one.folder, one.exit_status, one.message) for one in found]
    assert shown == [("ls", "", 0, 1), ("echo 'a b'", "/workspace/src", 3, 1)]


def test_a_call_that_did_not_run_a_command_to_its_end_is_left_out(tmp_path: Path) -> None:
    found = calls_in(
        tmp_path,
        call("no result", {"command": "ls"}),
        call("denied", {"command": "rm -rf /"}),
        ("permission.decision", {"decision": "deny", "by": "c", "id": "denied"}),
        result("denied", is_error=True),
        call("background", {"command": "sleep 9", "run_in_background": True}),
        result("background"),
        call("keys", {"command": "q", "is_input": True}),
        result("keys"),
        call("edit", {"command": "view"}, kind="write"),
        result("edit"),
        call("too long", None),
        result("too long"),
    )
    assert found == []


def test_an_exit_code_that_differs_is_a_difference() -> None:
    assert not compare_call(recorded(exit_status=1), Repetition(0, ""))["same_exit"]
    assert not compare_call(recorded(exit_status=None, is_error=True), Repetition(0, ""))["same_exit"]
    assert compare_call(recorded(exit_status=None), Repetition(3, ""))["same_exit"]


def test_times_and_blanks_at_line_ends_are_no_difference_of_outputs() -> None:
    before = recorded("Ran 9 tests in 0.001s\n\nOK")
    assert compare_call(before, Repetition(0, "Ran 9 tests in 0.512s  \n\nOK\n"))["same_output"]
    assert not compare_call(before, Repetition(0, "Ran 8 tests in 0.001s\n\nOK"))["same_output"]


GRADERS = [
    {
        "type": "trace",
        "require_tools": [{"kind": "execute"}],
        "require_no_denied": True,
        "max_tool_calls": 3,
        "max_tokens": 1050,
    },
    {"type": "efficiency", "target_tokens": 1050, "target_cost_usd": 1.0, "target_tool_calls": 3},
]


@pytest.fixture(scope="module")
def weighed(tmp_path_factory: pytest.TempPathFactory, cache: Path) -> dict[str, Any]:
    """The result line of a client that calls three commands. The third one finds the placeholder of a key."""
    folder = tmp_path_factory.mktemp("weighed")
    (folder / "contract").mkdir()
    contract = Author(folder / "contract").write(graders=GRADERS)
    usage = {"tokens_in": 1000, "tokens_out": 50}
    with serving(ScriptedModel({"turns": [{"text": "go on"}], "usage": usage})) as url:
        env = {**environment(url), "STEELYARD_CACHE": str(cache)}
        words = ("--agent", install_fake(cache, "commands"), "--json", "--no-judge", "--out", folder / "runs")
        done = run_command("run", contract, *words, cwd=folder, env=env)
    line: dict[str, Any] = json.loads(done.stdout)
    assert line["verdict"] == "pass", json.dumps([line["termination"], line["grades"]])
    return line


def test_graders_of_a_trace_get_tool_calls_tokens_and_cost_of_the_run(weighed: dict[str, Any]) -> None:
    trace, efficiency = (one for one in weighed["grades"] if one["name"] in {"trace", "efficiency"})
    assert (trace["outcome"], trace["score"]) == ("pass", 1.0), trace
    assert (efficiency["outcome"], efficiency["score"]) == ("pass", 1.0), efficiency
    assert "1050 tokens, target 1050" in efficiency["why"]


def test_a_replay_with_tools_names_the_first_command_that_ends_otherwise(
    weighed: dict[str, Any], steelyard: Steelyard, tmp_path: Path
) -> None:
    """There is no placeholder of a key in a replay."""
    printed = steelyard("replay", weighed["folder"], "--tools", "--json", "--out", tmp_path / "replays")
    tools, first = printed.line["tools"], printed.line["divergence"]
    assert (tools["recorded"], tools["repeated"], tools["same_exit"], tools["same_output"]) == (3, 3, 2, 3)
    assert (printed.code, first["kind"], "ANTHROPIC_API_KEY" in first["where"]) == (1, "tool", True)
    assert (first["recorded"], first["replayed"]) == ("an error", "exit code 0")
    assert printed.line["change"]["same"]
    assert printed.line["verdict"] == {"recorded": "pass", "replayed": "pass"}


def test_a_replay_of_the_changes_alone_runs_no_command(
    weighed: dict[str, Any], steelyard: Steelyard, tmp_path: Path
) -> None:
    printed = steelyard("replay", weighed["folder"], "--json", "--out", tmp_path / "replays")
    assert (printed.code, printed.line["tools"], printed.line["same"]) == (0, None, True)

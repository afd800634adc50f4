"""The scripted model, as somebody without a network starts it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from steelyard.gateway.scripted import FAIL, PASS, read_script
from steelyard.judge.ask import Panel, judge_run
from steelyard.judge.judge_input import JudgeInput


def test_it_says_how_to_ask_it_and_writes_down_what_it_was_asked(tmp_path: Path) -> None:
    (tmp_path / "replies.json").write_text(json.dumps([PASS]))
    command = [
        sys.executable,
        "-m",
        "steelyard.gateway.scripted",
        "replies.json",
        "--requests",
        "asked.jsonl",
    ]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        lines = [server.stdout.readline().removeprefix("export ").strip() for _ in range(4)]
        panel = Panel.from_environment((), dict(line.split("=", 1) for line in lines))
        assert isinstance(panel, Panel)
        assert judge_run(JudgeInput("Add two numbers."), panel).verdict == "PASS"
        server.terminate()
    (request,) = map(json.loads, (tmp_path / "asked.jsonl").read_text().splitlines())
    assert request["headers"]["x-api-key"] == "given"
    assert "> Add two numbers." in request["body"]["messages"][0]["content"]


@pytest.mark.parametrize(
    "result", [[PASS, {"jsn": {}}], {"*": [{}]}, [], {"gpt-5.4": PASS}, [1], "PASS", {"gpt-5.4": []}]
)
def test_replies_that_say_nothing_are_refused_before_the_first_request(
    tmp_path: Path, result: object
) -> None:
    (tmp_path / "replies.json").write_text(json.dumps(result))
    with pytest.raises(ValueError, match="repl"):
        read_script(tmp_path / "replies.json")


def test_replies_may_be_written_for_each_model(tmp_path: Path) -> None:
    (tmp_path / "replies.json").write_text(json.dumps(result := {"gpt-5.4": [FAIL], "*": [PASS]}))
    assert read_script(tmp_path / "replies.json") == result

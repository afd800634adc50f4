"""Agents that are one process: how they are named, what they need, and how their end is read."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from steelyard.agents.base import ending_of
from steelyard.agents.process import PLACEHOLDERS, CommandLine, Script
from steelyard.errors import OperatorFault
from steelyard.sandboxes.base import CommandResult


@pytest.mark.parametrize(
    ("finished", "code", "rationale"),
    [
        (CommandResult(0), "completed", "the agent finished"),
        (CommandResult(3), "agent_crash", "exit code 3"),
        (CommandResult(127), "agent_crash", "exit code 127: a command was not found in the sandbox"),
        (CommandResult(None, signal=9), "agent_crash", "killed by signal 9"),
        (CommandResult(None, not_started="no such file"), "agent_crash", "could not start: no such file"),
        (CommandResult(None, timed_out=True), "wall_time", "the wall-clock budget of the run was used up"),
        (CommandResult(None, lost=True), "infrastructure", "the sandbox died under the agent"),
    ],
)
def test_the_end_of_a_process_is_the_end_of_its_agent(
    finished: CommandResult, code: str, rationale: str
) -> None:
    ending = ending_of(finished)
    assert (ending.code, ending.rationale, ending.finished) == (code, rationale, finished)


def test_a_command_is_named_by_its_program_and_its_digest() -> None:
    line = "/opt/bin/solve --brief {brief_file}"
    digest = hashlib.sha256(line.encode()).hexdigest()
    assert CommandLine(line).name == f"command:solve#{digest[:6]}"
    assert CommandLine(line).parameters() == {"command": line, "sha256": digest}


def test_two_commands_of_one_program_have_two_names() -> None:
    assert CommandLine("solve -a").name != CommandLine("solve -b").name


def test_a_command_needs_its_first_program() -> None:
    assert CommandLine("A=1 solve {brief_file} && true").programs() == ("solve",)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("", "needs a command line"),
        ("  ", "needs a command line"),
        ("echo 'open", "No closing quotation"),
        ("solve {briefs}", "no placeholder {briefs}"),
    ],
)
def test_a_command_that_cannot_be_run_is_refused(line: str, message: str) -> None:
    with pytest.raises(OperatorFault) as caught:
        CommandLine(line)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    "line", [*(f"solve {{{name}}}" for name in PLACEHOLDERS), "echo ${home}", "{ true; }"]
)
def test_known_placeholders_and_braces_of_the_shell_are_accepted(line: str) -> None:
    assert CommandLine(line).line == line


def test_a_script_is_named_by_its_file_and_recorded_by_its_digest(tmp_path: Path) -> None:
    path = tmp_path / "fix.sh"
    path.write_text("true\n")
    assert Script(path).name == "script:fix.sh"
    assert Script(path).parameters() == {"script": {"sha256": hashlib.sha256(b"true\n").hexdigest()}}


@pytest.mark.parametrize(
    ("first", "programs"),
    [("true\n", ("/bin/bash",)), ("#!/usr/bin/awk -f\n", ("/usr/bin/awk",))],
)
def test_a_script_needs_bash_or_the_interpreter_of_its_first_line(
    first: str, programs: tuple[str, ...], tmp_path: Path
) -> None:
    path = tmp_path / "fix"
    path.write_text(first)
    assert Script(path).programs() == programs


def test_a_script_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OperatorFault, match="is not a file"):
        Script(tmp_path / "none.sh")


def test_a_script_with_line_ends_of_windows_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "fix.sh"
    path.write_bytes(b"#!/bin/sh\r\ntrue\r\n")
    with pytest.raises(OperatorFault):
        Script(path)

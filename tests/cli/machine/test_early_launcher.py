"""The launcher of sandboxes starts while a command loads; a command that ends early ends it without a word."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from steelyard.cli.run_verb import _starts_sandboxes


def test_a_wrong_command_prints_its_message_only_and_ends_its_launcher(tmp_path: Path) -> None:
    """The launcher has the stderr of the command, so the pipe ends when both have ended."""
    line = [sys.executable, "-m", "steelyard", "run", str(tmp_path / "none"), "--agent", "noop"]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"steelyard: {tmp_path / 'none'} does not exist\n"


@pytest.mark.parametrize(
    ("words", "starts"),
    [
        ("run a --agent noop", True),
        ("grade a --patch b", True),
        ("grade a --patch b --sandbox docker", False),
        ("run a --agent noop --sandbox=local", False),
        ("run --help", False),
        ("show last", False),
    ],
)
def test_commands_that_start_no_sandbox_of_bubblewrap_start_no_launcher(words: str, starts: bool) -> None:  # noqa: FBT001
    assert _starts_sandboxes(words.split()) is starts


@pytest.mark.parametrize(
    ("path", "text", "starts"),
    [
        ("contract.yaml", "id: a\nenvironment:\n  memory_mb: 64\n", True),
        ("contract.yaml", "id: a\nenvironment:\n  image: debian\n", False),
        ("environment/Dockerfile", "FROM debian\n", False),
    ],
)
def test_a_contract_with_an_image_starts_no_launcher(
    tmp_path: Path,
    path: str,
    text: str,
    starts: bool,  # noqa: FBT001
) -> None:
    (tmp_path / path).parent.mkdir(exist_ok=True)
    (tmp_path / path).write_text(text)
    assert _starts_sandboxes(["run", str(tmp_path), "--agent", "noop"]) is starts

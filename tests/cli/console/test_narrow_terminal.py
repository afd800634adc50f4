"""Narrow terminals: `show` and `show --why` wrap between words, `diff` and paths are whole, the progress of a study fits."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from authoring import Author, Steelyard

COLUMNS = 60
LONG = "long_" * 40


def on_terminal(cache: Path, *words: object) -> list[str]:
    """The lines that a command writes to a terminal of 60 columns, without colours."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, COLUMNS, 0, 0))
    env = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "NO_COLOR")}
    command = [sys.executable, "-m", "steelyard", *map(str, words)]
    with subprocess.Popen(
        command, stdout=theirs, env={**env, "STEELYARD_CACHE": str(cache), "TERM": "xterm-256color"}
    ):
        os.close(theirs)
        printed = b""
        try:
            while piece := os.read(ours, 1 << 16):
                printed += piece
        except OSError:  # the terminal has no writer any more
            pass
    os.close(ours)
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", printed.decode()).replace("\r\n", "\n").splitlines()


def test_a_run_is_read_on_sixty_columns(
    steelyard: Steelyard, author: Author, tmp_path: Path, cache: Path
) -> None:
    script = tmp_path / "agent.sh"
    script.write_text(f"echo '# {LONG}' > add.sh\n")
    runs = tmp_path / "runs"
    line = steelyard("run", author.write(), "--agent", f"script:{script}", "--out", runs, "--json").line
    folder = line["folder"]
    shown = on_terminal(cache, "show", folder)
    assert f"evidence in {folder}" in shown
    copied = (str(folder), str(line["run"]), "replay: ")  # paths, names and commands that a reader copies
    assert [one for one in shown if len(one) > COLUMNS and not any(part in one for part in copied)] == []
    why = on_terminal(cache, "show", "--why", folder)
    assert all(len(one) <= COLUMNS for one in why[1:])  # the first line is the name of the run
    assert f"+# {LONG}" in on_terminal(cache, "diff", folder)
    piped = steelyard("show", "--why", folder).out.splitlines()
    assert len(piped) < len(why)
    assert "\x1b" not in "".join(piped)


@pytest.mark.parametrize("words", [["check"], ["plan", "--agent", "noop", "--out", "study.yaml"], ["--help"]])
def test_lines_are_cut_between_words(
    author: Author, cache: Path, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    """Only a word that is longer than the terminal is wide makes a longer line: a path or a digest, to be copied."""
    monkeypatch.chdir(author.folder.parent)
    contract = [os.path.relpath(author.write())] if words[0] != "--help" else []
    shown = on_terminal(cache, words[0], *contract, *words[1:])
    assert max(map(len, shown)) > COLUMNS / 2
    assert [line for line in shown if len(line) > COLUMNS and " " in line.strip()] == []


def test_the_progress_of_a_study_fits_the_terminal_and_names_agents_as_its_plan_does(
    steelyard: Steelyard, author: Author, tmp_path: Path, cache: Path
) -> None:
    study = tmp_path / "study.yaml"
    agent = "m=command:sleep 2; echo a command line of more than twenty characters"
    steelyard("plan", author.write(), "--agent", agent, "--repeats", 1, "--out", study)
    printed = on_terminal(cache, "study", "run", study, "--runs", tmp_path / "runs")
    drawn = [line for line in printed if " finished, " in line]
    assert all(len(line) < COLUMNS for line in drawn)
    assert any(line.split()[:4] == ["m", "0", "of", "1"] for line in drawn)
    assert not [line for line in drawn if "command:" in line]

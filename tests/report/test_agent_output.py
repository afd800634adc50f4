"""The last words of an agent on a terminal: bounded, and nothing of them can pass for ours."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from authoring import FIX, Author, Steelyard
from steelyard.report.agent_output import MOST_CHARS, MOST_LINES, agent_output


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made: Path = tmp_path_factory.mktemp("run")
    (made / "agent").mkdir()
    return made


def shown(folder: Path, result: bytes | None, width: int = 80) -> str:
    file = folder / "agent/stdout.txt"
    file.unlink(missing_ok=True)
    if result is not None:
        file.write_bytes(result)
    console = Console(width=width, file=io.StringIO(), color_system=None)
    for line in agent_output(folder, console):
        console.print(line)
    return console.file.getvalue()  # type: ignore[attr-defined, no-any-return]


def test_an_agent_that_printed_nothing_has_no_heading(folder: Path) -> None:
    assert [shown(folder, result) for result in (None, b"", b" \n\n")] == ["", "", ""]


def test_the_last_lines_are_shown_and_the_rest_is_named(folder: Path) -> None:
    short = shown(folder, b"One.\n\nTwo.\n")
    assert short == "\nagent output (agent/stdout.txt):\n| One.\n| \n| Two.\n"
    lines = shown(folder, b"".join(b"line %d\n" % number for number in range(30))).splitlines()
    assert lines[1] == "agent output (the end of agent/stdout.txt):"
    assert (lines[2], lines[-1], len(lines)) == ("| line 20", "| line 29", MOST_LINES + 2)


def test_an_endless_line_is_cut(folder: Path) -> None:
    assert MOST_CHARS <= shown(folder, b"x" * 1_000_000).count("x") <= MOST_CHARS + 1  # the heading has one


def test_a_link_in_the_place_of_the_file_is_not_followed(folder: Path) -> None:
    shown(folder, None)
    (folder / "agent/stdout.txt").symlink_to("/etc/passwd")
    assert list(agent_output(folder, Console(file=io.StringIO()))) == []


@given(st.text(max_size=300), st.sampled_from([20, 60, 118]))
def test_every_line_is_behind_a_bar_and_harmless(folder: Path, result: str, width: int) -> None:
    text = shown(folder, result.encode(errors="replace"), width)
    assert not any(char < " " and char != "\n" for char in text)
    assert "\u202e" not in text
    body = text.partition(":\n")[2]
    assert all(line.startswith("|") for line in body.splitlines())


def test_show_has_what_the_agent_of_one_brief_said(author: Author, steelyard: Steelyard) -> None:
    run = ("run", author.write(), "--json", "--agent")
    line = steelyard(*run, f"command:{FIX}printf 'verdict pass\\033[2J\\nI added it.\\n'").line
    out = steelyard("show", line["run"]).out
    assert "agent output (agent/stdout.txt):\n| verdict pass\\x1b[2J\n| I added it.\n" in out
    silent = steelyard(*run, f"command:{FIX}").line
    assert "agent output" not in steelyard("show", silent["run"]).out

"""Files and names of the wrong kind: folders for files, files for folders, devices, binary data, escape sequences."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from authoring import Author, CliResult, Steelyard

ESCAPE = "evil\x1b[2J\u202ename"


def results(path: Path, agents: Sequence[str]) -> Path:
    """A file of result lines: each agent passes three contracts."""
    rows: list[dict[str, Any]] = [
        {
            "schema": "steelyard.result/1",
            "run": f"{agent}-{at}",
            "agent": agent,
            "verdict": "pass",
            "contract": {"id": f"c{at}", "digest": f"{at}" * 4},
            "status": "scorable",
            "gates": None,
            "termination": "completed",
            "tags": [],
            "cost": {"usd": 0.1},
            "durations": {},
            "folder": None,
        }
        for agent in agents
        for at in range(3)
    ]
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return path


def refused(result: CliResult, code: int, *words: str) -> None:
    """One line on stderr, with all of the words, and nothing that a terminal obeys."""
    assert result.code == code, result
    assert result.err.count("\n") == 1, result.err
    assert "\x1b" not in result.err
    for word in words:
        assert word in result.err, result.err


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Where commands run, with one thing of each kind."""
    place = tmp_path / "cwd"
    place.mkdir(exist_ok=True)
    (place / "binary").write_bytes(bytes(reversed(range(256))) * 20)
    (place / "folder").mkdir()
    (place / "bomb.yaml").write_text("schema: steelyard.study/1\na: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n")
    (place / "tab.yaml").write_text("schema: steelyard.study/1\n\tname: x\n")
    (place / "other.yaml").write_text("schema: steelyard.study/9\nname: x\n")
    (place / "mistyped.yaml").write_text("schema: steelyard.study/1\nname: x\nrepeets: 3\n")
    results(place / "results.jsonl", ("old", "new"))
    return place


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["show", ""], "the name of a run is empty; `last` is the newest one"),
        (["show", "last", "--runs", "binary"], "--runs binary is not a folder"),
        (["logs", "abc", "--runs", "binary"], "--runs binary is not a folder"),
        (["runs", "--runs", "binary"], "--runs binary is not a folder"),
        (["view", "--runs", "binary"], "binary is not a folder of runs"),
        (["check", "/dev/null", "--json"], ""),
        (["run", "results.jsonl", "--agent", "noop"], "results.jsonl is no contract; name the folder"),
        (["study", "run", "mistyped.yaml"], "mistyped.yaml: repeets: there is no such key"),
        (["study", "run", "binary"], "binary is not a study: it is not UTF-8 text"),
        (["study", "run", "bomb.yaml"], "a study has no YAML aliases"),
        (["study", "run", "tab.yaml"], "tab.yaml is not YAML: "),
        (["study", "run", "other.yaml"], "it needs `schema: steelyard.study/1`; `steelyard plan` writes one"),
        (["study", "status", "folder"], "folder cannot be read: Is a directory"),
        (
            ["import", "binary", "--out", "suite"],
            "--format swebench|touchstone|harbor|aec|scorers says which",
        ),
        (["rescore", "results.jsonl"], "--cap wall_s=60"),
        (["report", "--html", "folder", "results.jsonl"], "--html folder: Is a directory"),
        (["verify", "last", "--public-key", "binary"], "binary is not a readable public key in PEM form"),
        (["verify", "last", "--public-key", "absent"], "absent is not a readable public key in PEM form"),
        (["--nosuch"], "there is no option --nosuch before a verb"),
        (["--json", "runs"], "there is no option --json before a verb"),
    ],
)
def test_a_file_of_the_wrong_kind_is_refused_in_one_line(
    steelyard: Steelyard, place: Path, words: list[str], why: str
) -> None:
    if why:
        refused(steelyard(*words, cwd=place), 2, why)
    else:
        found = steelyard(*words, cwd=place)
        assert (found.code, "is neither a file nor a folder" in found.out) == (2, True)


@pytest.mark.parametrize(
    "words",
    [
        ["show", ESCAPE],
        ["run", ESCAPE, "--agent", "noop"],
        ["report", ESCAPE],
        ["report", "--section", ESCAPE],
        ["run", "x", "--agent", f"{ESCAPE}=command:true"],
        ["run", "x", ESCAPE, "--repeats", ESCAPE],
        ["study", "run", ESCAPE],
        ["grade", ESCAPE, "--patch", "x"],
        [ESCAPE],
    ],
)
def test_a_name_in_a_message_steers_no_terminal(steelyard: Steelyard, words: list[str]) -> None:
    result = steelyard(*words)
    assert result.code == 2
    assert not {"\x1b", "\u202e"} & set(result.err + result.out)


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["run", "--agent", "patch:absent"], "absent: there is no such file; `git diff > absent` writes one"),
        (["run", "--agent", "patch:folder"], "folder is a folder and not a patch; tree:folder hands over"),
        (["run", "--agent", "tree:binary"], "binary is not a folder"),
        (["grade", "--patch", "folder"], "--patch folder is a folder; --tree folder grades a folder"),
        (["grade", "--predictions", "binary"], "binary:1: not a line of JSON: it is not UTF-8 text"),
    ],
)
def test_a_change_of_the_wrong_kind_is_refused_before_anything_runs(
    steelyard: Steelyard, author: Author, place: Path, words: list[str], why: str
) -> None:
    result = steelyard(words[0], author.write(), *words[1:], cwd=place)
    refused(result, 2, why)
    assert not result.out


def test_a_patch_without_a_hunk_is_called_no_diff(steelyard: Steelyard, author: Author, place: Path) -> None:
    result = steelyard("grade", author.write(), "--patch", "binary", "--sandbox", "local", cwd=place)
    assert (result.code, "it is not a diff" in result.out, "allow-empty" in result.out) == (1, True, False)


@pytest.mark.skipif(not Path("/dev/full").is_char_device(), reason="needs /dev/full")
def test_a_report_is_written_to_a_device_and_replaces_none(
    steelyard: Steelyard, place: Path, tmp_path: Path
) -> None:
    """Root could replace /dev/full by a file; a link to it stands for it here, in a folder that anybody may write."""
    link = tmp_path / "full"
    link.symlink_to("/dev/full")
    refused(steelyard("report", "results.jsonl", "--html", link, cwd=place), 3, "No space left on device")
    assert link.is_symlink()
    assert Path("/dev/full").is_char_device()
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        assert steelyard("report", "results.jsonl", "--html", pipe, cwd=place).code in (0, 3)
    finally:
        os.close(reader)
    assert pipe.is_fifo()


def test_a_report_through_a_link_keeps_the_link(steelyard: Steelyard, place: Path, tmp_path: Path) -> None:
    (tmp_path / "link.html").symlink_to(tmp_path / "real.html")
    assert steelyard("report", "results.jsonl", "--html", tmp_path / "link.html", cwd=place).code == 0
    assert (tmp_path / "link.html").is_symlink()
    assert (tmp_path / "real.html").read_text().startswith("<!doctype html>")


def test_a_plan_replaces_no_file_beside_it(steelyard: Steelyard, author: Author, tmp_path: Path) -> None:
    (tmp_path / "night.csv").write_text("mine\n")
    words = ("plan", author.write(), "--agent", "noop", "--out")
    refused(steelyard(*words, tmp_path / "night.yaml"), 2, "night.csv exists")
    refused(steelyard(*words, tmp_path / "night.csv", "--force"), 2, "a plan is a .yaml file")
    refused(steelyard(*words, "/dev/null", "--force"), 2, "/dev/null is not a file")
    assert (tmp_path / "night.csv").read_text() == "mine\n"


def test_what_to_type_next_names_a_run_of_another_folder_by_its_path(
    steelyard: Steelyard, author: Author, place: Path
) -> None:
    words = ("--agent", "noop", "--sandbox", "local", "--json")
    line = steelyard("run", author.write(), *words, "--out", "else where", cwd=place).line
    folder = Path(line["folder"])
    (folder / "change.json").unlink()
    shown = steelyard("show", "last", "--runs", "else where", cwd=place)
    assert f"see `steelyard verify 'else where/{folder.name}'`" in shown.out
    default = steelyard("run", author.write(), *words, cwd=place).line
    assert f"`steelyard replay {default['run']}`" in steelyard("show", "last", cwd=place).out


def test_an_agent_that_is_not_there_is_answered_with_twelve_that_are(
    steelyard: Steelyard, tmp_path: Path
) -> None:
    many = results(tmp_path / "many.jsonl", [f"agent-{at:02}" for at in range(40)])
    refused(steelyard("compare", "agent-00", "absent", "--runs", many), 2, "agent-11 and 28 more")

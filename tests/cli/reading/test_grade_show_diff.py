"""`grade`, `show` and `diff`, end to end."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import steelyard as api
from authoring import DEFAULT_FILES, FIX, Author, Steelyard

Script = Callable[[str], str]
GOOD = DEFAULT_FILES["reference.patch"]


def test_a_good_patch_passes_and_exits_zero(steelyard: Steelyard, author: Author, tmp_path: Path) -> None:
    patch = tmp_path / "p.diff"
    patch.write_text(GOOD)
    result = steelyard("grade", author.write(), "--patch", patch, "--json")
    assert (result.code, result.line["verdict"], result.line["agent"]) == (0, "pass", "patch:p.diff"), (
        result.err
    )


def test_a_patch_with_crlf_and_without_its_last_newline_is_applied(
    steelyard: Steelyard, author: Author, tmp_path: Path
) -> None:
    (tmp_path / "p.diff").write_bytes(GOOD.replace("\n", "\r\n").rstrip().encode())
    result = steelyard("grade", author.write(), "--patch", tmp_path / "p.diff", "--json")
    assert (result.code, result.line["verdict"]) == (0, "pass"), result.err
    folder = Path(result.line["folder"])
    assert b"\r" not in (folder / "patch.diff").read_bytes()


def test_an_empty_patch_fails(steelyard: Steelyard, author: Author, tmp_path: Path) -> None:
    (tmp_path / "p.diff").write_text("")
    result = steelyard("grade", author.write(), "--patch", tmp_path / "p.diff", "--json")
    assert (result.code, result.line["gates"]["patch"], result.line["verdict"]) == (1, "pass", "fail")


def test_a_patch_that_does_not_apply_fails_the_patch_gate_and_says_where(
    steelyard: Steelyard, author: Author, tmp_path: Path
) -> None:
    (tmp_path / "p.diff").write_text(GOOD.replace("-echo $(($1 - $2))", "-echo elsewhere"))
    result = steelyard("grade", author.write(), "--patch", tmp_path / "p.diff", "--json")
    assert (result.code, result.line["gates"]["patch"], result.line["status"]) == (1, "fail", "scorable")
    assert "add.sh" in result.line["why"]["patch"]


@pytest.mark.parametrize(
    ("name", "end"),
    [
        ("../outside.txt", "\n"),
        ("/etc/outside.txt", "\n"),
        (".git/hooks/pre-commit", "\n"),
        ("../outside.txt", "\r\n"),
    ],
    ids=["parent", "absolute", "git", "crlf"],
)
def test_a_patch_that_reaches_out_of_the_tree_changes_nothing(
    steelyard: Steelyard, author: Author, tmp_path: Path, name: str, end: str
) -> None:
    text = f"diff --git a/{name} b/{name}\nnew file mode 100644\n--- /dev/null\n+++ b/{name}\n@@ -0,0 +1 @@\n+x\n"
    (tmp_path / "p.diff").write_bytes(text.replace("\n", end).encode())
    result = steelyard("grade", author.write(), "--patch", tmp_path / "p.diff", "--json")
    assert (result.code, result.line["verdict"]) == (1, "fail")
    assert not (tmp_path / "outside.txt").exists()


def test_a_patch_file_that_is_missing_is_a_usage_error(steelyard: Steelyard, author: Author) -> None:
    result = steelyard("grade", author.write(), "--patch", "nowhere.diff")
    assert result.code == 2
    assert "nowhere.diff" in result.err


def test_a_folder_is_graded_by_what_differs_from_the_snapshot(
    steelyard: Steelyard, author: Author, tmp_path: Path
) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    for name in ("add.sh", "check.sh", "README.md"):
        (tree / name).write_text(DEFAULT_FILES[f"repo/{name}"])
    (tree / "add.sh").write_text("echo $(($1 + $2))\n")
    result = steelyard("grade", author.write(), "--tree", tree, "--json")
    assert (result.code, result.line["verdict"]) == (0, "pass"), result.err
    patch = (Path(result.line["folder"]) / "patch.diff").read_text()
    assert patch.count("diff --git") == 1


def test_show_tells_the_verdict_the_gates_and_why(steelyard: Steelyard, author: Author) -> None:
    run = steelyard("run", author.write(), "--agent", "noop", "--json").line["run"]
    result = steelyard("show", run)
    assert result.code == 0, result.err
    for word in (run, "fail", "acceptance", "adds: exit 1", "bubblewrap"):
        assert word in result.out


def test_show_as_json_is_the_line_that_run_printed(steelyard: Steelyard, author: Author) -> None:
    line = steelyard("run", author.write(), "--agent", "noop", "--json").line
    shown = steelyard("show", line["run"], "--json").line
    assert {**shown, "folder": ""} == {**line, "folder": ""}


def test_show_without_a_run_lists_all_of_them(steelyard: Steelyard, author: Author) -> None:
    steelyard("run", author.write(), "--agent", "noop", "--agent", "reference")
    result = steelyard("show")
    assert "noop" in result.out
    assert "reference" in result.out


def test_show_with_no_runs_says_how_to_make_some(steelyard: Steelyard) -> None:
    result = steelyard("show")
    assert (result.code, "steelyard demo" in result.out) == (0, True)


def test_a_run_that_was_killed_is_shown_as_interrupted(steelyard: Steelyard, author: Author) -> None:
    folder = Path(steelyard("run", author.write(), "--agent", "noop", "--json").line["folder"])
    (folder / "seal.json").unlink()
    result = steelyard("show", folder.name)
    assert result.code == 2
    assert "was interrupted" in result.err


def test_a_sealed_run_without_a_grading_shows_how_to_get_one(steelyard: Steelyard, author: Author) -> None:
    folder = Path(steelyard("run", author.write(), "--agent", "noop", "--json").line["folder"])
    for name in ("gradings/0001.json", "gradings-head.json", "report.json"):
        (folder / name).unlink()
    result = steelyard("show", folder.name)
    assert result.code == 2
    assert f"`steelyard regrade {folder.name} --contract CONTRACT` grades it" in result.err
    assert "1 run is not graded; `steelyard regrade" in steelyard("show").out


def test_diff_prints_a_patch_that_git_would_apply(steelyard: Steelyard, author: Author) -> None:
    run = steelyard("run", author.write(), "--agent", "reference", "--json").line["run"]
    assert "+echo $(($1 + $2))" in steelyard("diff", run).out


@pytest.mark.parametrize("words", [[], ["--raw"]])
def test_diff_of_a_run_without_a_change_says_so_beside_an_empty_stdout(
    steelyard: Steelyard, author: Author, words: list[str]
) -> None:
    run = steelyard("run", author.write(), "--agent", "noop", "--json").line["run"]
    result = steelyard("diff", run, *words)
    assert (result.code, result.out, result.err) == (0, "", f"steelyard: {run}: no change\n")


@pytest.mark.parametrize("words", [[], ["--json"], ["--raw"]])
def test_diff_of_a_run_that_was_killed_says_so(
    steelyard: Steelyard, author: Author, words: list[str]
) -> None:
    folder = Path(steelyard("run", author.write(), "--agent", "noop", "--json").line["folder"])
    for name in ("seal.json", "change.json", "patch.diff"):
        (folder / name).unlink()
    result = steelyard("diff", folder.name, *words)
    assert (result.code, result.out) == (2, "")
    assert "ended before its workspace was captured" in result.err


def test_diff_of_two_runs_tells_what_differs(steelyard: Steelyard, author: Author, script: Script) -> None:
    lines = steelyard(
        "run", author.write(), "--agent", "noop", "--agent", script(FIX + "echo 1 > new.txt"), "--json"
    ).lines
    result = steelyard("diff", lines[0]["run"], lines[1]["run"])
    assert result.code == 0, result.err
    assert "new.txt" in result.out
    assert "verdict" in result.out


def test_runs_of_two_versions_of_a_contract_are_not_comparable(steelyard: Steelyard, author: Author) -> None:
    one = steelyard("run", author.write(), "--agent", "noop", "--json").line["run"]
    two = steelyard("run", author.write(brief="Other words."), "--agent", "noop", "--json").line["run"]
    comparison = steelyard("diff", one, two, "--json").line
    assert comparison["comparable"] is False
    assert "contract digest" in comparison["incomparable"][0]


def test_show_says_which_files_of_the_change_the_checks_did_not_use(
    steelyard: Steelyard, author: Author, tmp_path: Path
) -> None:
    script = tmp_path / "agent.sh"
    script.write_text("mkdir -p tests; echo 'exit 0' > tests/hidden.sh\n")
    check = {
        "id": "hidden",
        "cmd": "sh tests/hidden.sh",
        "inject": [{"src": "h.sh", "dest": "tests/hidden.sh"}],
    }
    contract = author.write(files={"h.sh": "exit 1\n"}, oracle={"checks": [check]})
    run = steelyard("run", contract, "--agent", f"script:{script}", "--json").line["run"]
    assert "The checks used their own version of tests/hidden.sh" in steelyard("show", run).out


def test_the_python_api_tries_and_grades(
    author: Author, tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STEELYARD_CACHE", str(cache))
    contract = api.load_contract(author.write())
    assert api.run_trial(contract, "reference", out=tmp_path / "runs")["verdict"] == "pass"
    assert (
        api.grade(contract, patch=contract.folder / "reference.patch", out=tmp_path / "runs")["verdict"]
        == "pass"
    )


def unread(*words: object, cwd: Path, cache: Path) -> int:
    """The exit code of a command whose reader is gone before it writes, as `head` may be."""
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "steelyard.cli.main", *map(str, words)]
    try:
        return subprocess.run(
            command, cwd=cwd, stdout=writing, env={**os.environ, "STEELYARD_CACHE": str(cache)}, check=False
        ).returncode
    finally:
        os.close(writing)


def test_a_reader_that_leaves_early_does_not_change_the_exit_code(
    steelyard: Steelyard, author: Author, tmp_path: Path, cache: Path
) -> None:
    contract = author.write()
    tried = ("run", contract, "--out", tmp_path / "runs", "--agent")
    assert unread(*tried, "noop", "--json", cwd=tmp_path, cache=cache) == 1
    assert unread(*tried, "reference", cwd=tmp_path, cache=cache) == 0
    assert unread("show", "--runs", tmp_path / "runs", cwd=tmp_path, cache=cache) == 0
    assert len(steelyard("show", "--runs", tmp_path / "runs", "--json").lines) == 2
    next((tmp_path / "runs").glob("*noop*/change.json")).write_text("{}")
    assert unread("show", "--runs", tmp_path / "runs", "--json", cwd=tmp_path, cache=cache) == 1

"""`steelyard check`: every mistake before anything is spent."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from authoring import Author, CliResult, Steelyard
from steelyard.cli.authoring.check import check
from steelyard.graders.catalogue import CATALOGUE


def test_a_sound_contract_is_ok_with_its_digest(steelyard: Callable[..., Any], author: Any) -> None:
    folder = author.write()
    result = steelyard("check", folder)
    assert result.code == 0
    assert result.out.split() == ["ok", "sum", steelyard("check", folder, "--json").line["digest"]]


def test_every_mistake_is_printed_and_the_exit_code_is_2(steelyard: Callable[..., Any], author: Any) -> None:
    result = steelyard("check", author.write(budget={"wal_s": 1}, reward="most"))
    assert result.code == 2
    first, *problems = result.out.splitlines()
    assert first.startswith("wrong")
    assert "budget.wal_s: unknown key (did you mean wall_s?)" in problems[0]
    assert "reward: expected" in problems[1]


def test_a_suite_is_checked_contract_by_contract(
    steelyard: Callable[..., Any], author: Any, tmp_path: Path
) -> None:
    folder = author.write()
    suite = tmp_path / "suite"
    suite.mkdir()
    folder.rename(suite / "good")
    (suite / "bad").mkdir()
    (suite / "bad/contract.yaml").write_bytes(b"\xff")
    result = steelyard("check", suite, "--json")
    assert result.code == 2
    bad, good = result.lines
    assert (bad["ok"], bad["id"], bad["digest"]) == (False, None, None)
    assert bad["problems"] == [
        {
            "where": f"{suite}/bad/contract.yaml:1:1",
            "field": "",
            "message": "not UTF-8 text",
            "fix": "save the file as UTF-8",
            "severity": "error",
        }
    ]
    assert (good["schema"], good["ok"], good["id"]) == ("steelyard.check/1", True, "sum")


def test_a_warning_is_shown_and_is_no_failure(steelyard: Callable[..., Any], author: Any) -> None:
    oracle = {"checks": [{"id": "adds", "cmd": "sh check.sh"}]}
    result = steelyard("check", author.write(oracle=oracle), "--json")
    assert result.code == 0
    (problem,) = result.line["problems"]
    assert problem["severity"] == "warning"
    assert "no reference" in problem["message"]


def test_check_notes_that_checks_share_no_files_and_that_edits_to_hidden_files_are_reverted(
    steelyard: Steelyard, author: Author
) -> None:
    """The two things that surprise authors, where they have written what surprises them."""
    inject = [{"src": "h.sh", "dest": "tests/hidden.sh"}]
    hidden = {"id": "hidden", "cmd": "sh tests/hidden.sh && sh check.sh", "inject": inject}
    alone = steelyard("check", author.write(files={"h.sh": "exit 0\n"}, oracle={"checks": [hidden]}))
    assert (
        "note: hidden files are written over the change last: an agent's edits to tests/hidden.sh are"
        in alone.out
    )
    assert "each check gets its own fresh tree" not in alone.out
    both = steelyard("check", author.write(oracle={"checks": [{"id": "adds", "cmd": "sh check.sh"}, hidden]}))
    assert "note: each check gets its own fresh tree: a file that one check writes is not there" in both.out


def test_a_folder_that_is_not_there_is_reported_and_hides_no_other(
    steelyard: Callable[..., Any], author: Any, tmp_path: Path
) -> None:
    result = steelyard("check", tmp_path / "gone", author.write())
    assert result.code == 2
    assert "gone: does not exist\n" in result.out
    assert "ok     sum" in result.out


def test_nothing_in_a_contract_reaches_the_terminal_raw(steelyard: Callable[..., Any], author: Any) -> None:
    result = steelyard("check", author.write(**{"\x1b[2Jkey": 1}))
    assert result.code == 2
    assert "\x1b" not in result.out


@pytest.mark.parametrize(
    ("check", "warned"),
    [
        ({"id": "c", "cmd": "true"}, "always passes"),
        (
            {"id": "c", "cmd": "python3 t/a.py", "inject": [{"src": "hidden/a.py", "dest": "t/a.py"}]},
            "can replace a library",
        ),
        ({"id": "c", "cmd": "python3 -I t/a.py", "inject": [{"src": "hidden/a.py", "dest": "t/a.py"}]}, ""),
        ({"id": "c", "cmd": "python3 t/a.py"}, ""),
    ],
)
def test_a_check_that_asks_nothing_or_can_be_stood_in_for_is_warned_about(
    steelyard: Steelyard, author: Author, check: dict[str, object], warned: str
) -> None:
    oracle = {"checks": [check], "reference": "reference.patch"}
    result = steelyard("check", author.write(files={"hidden/a.py": "1"}, oracle=oracle), "--json")
    messages = [problem["message"] for problem in result.line["problems"]]
    assert result.code == 0
    assert [warned in message for message in messages] == ([True] if warned else [])


def test_a_frozen_file_that_counts_as_generated_is_warned_about(steelyard: Steelyard, author: Author) -> None:
    frozen = {"type": "tests_unmodified", "paths": ["check.sh"]}
    result = steelyard("check", author.write(graders=[frozen], generated=["*.sh"]), "--json")
    assert ["check.sh matches `generated`" in problem["message"] for problem in result.line["problems"]] == [
        True
    ]


def problems(result: CliResult) -> list[str]:
    return [f"{one['where'].rpartition('contract/')[2]} {one['message']}" for one in result.line["problems"]]


@pytest.fixture
def looked(author: Author, monkeypatch: pytest.MonkeyPatch, cache: Path) -> Callable[..., CliResult]:
    """What `check --json` says of a contract with one check and these files, without a process for each."""
    monkeypatch.setenv("STEELYARD_CACHE", str(cache))

    def look(check_keys: dict[str, Any], files: dict[str, str] | None = None, **keys: Any) -> CliResult:
        oracle = {"checks": [{"id": "c", **check_keys}], "reference": "reference.patch"}
        checked = check(author.write(files=files, oracle=oracle, **keys), CATALOGUE)
        return CliResult(checked.exit_code, json.dumps(checked.to_json()), "")

    return look


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        ("a.py", "def f():\n    return (1\n", "hidden/a.py:2 is not valid Python"),
        ("a.py", "def f():\n    return 1\n", ""),
        ("a.py", "print('\\d')\n", ""),
        ("a.py", "x = 1\0\n", "hidden/a.py:1 is not valid Python"),
        (
            "a.test.js",
            "const a = 1;\nconst b = ;\n",
            "hidden/a.test.js:2 is not valid JavaScript or TypeScript",
        ),
        ("a.ts", "let a: number = 1;\nlet b: = 2;\n", "hidden/a.ts:2 is not valid JavaScript or TypeScript"),
        ("a.tsx", "export const A = () => <b>1</b>;\n", ""),
        ("a.txt", "def f(\n", ""),
    ],
)
def test_a_hidden_file_that_does_not_parse_is_reported_with_its_line(
    name: str, text: str, found: str, looked: Callable[..., CliResult]
) -> None:
    result = looked({"cmd": "sh check.sh", "inject": ["hidden"]}, {f"hidden/{name}": text})
    assert (result.code, problems(result)) == (0, [found] if found else [])


@pytest.mark.parametrize(
    ("check", "found"),
    [
        ({"type": "tests", "cmd": "make test", "runner": "pytest"}, "`make test` is not a command of pytest"),
        ({"type": "tests", "cmd": "npx jest", "runner": "mocha"}, "`npx jest` is not a command of mocha; it fits jest"),
        ({"type": "tests", "cmd": "npm test", "runner": "mocha"}, "`npx jest` is not a command of mocha; it fits jest"),
        ({"type": "tests", "cmd": "npx jest", "runner": "jest", "junit_xml": "r.xml"}, "is not read: jest reports"),
        ({"cmd": "sh check.sh", "inject": [{"src": "gone.py", "dest": "a.py"}]}, "gone.py does not exist"),
        ({"cmd": "sh check.sh", "inject": ["gone.py"]}, "gone.py does not exist"),
        ({"type": "verifier", "script": "gone/test.sh"}, "gone does not exist"),
    ],
)  # fmt: skip
def test_what_can_never_work_is_refused(
    check: dict[str, Any], found: str, looked: Callable[..., CliResult]
) -> None:
    result = looked(check, {"repo/package.json": '{"scripts": {"test": "jest"}}'})
    assert result.code == 2
    assert [found in problem for problem in problems(result)] == [True]


def test_a_file_that_is_not_there_is_reported_where_it_is_named(looked: Callable[..., CliResult]) -> None:
    result = looked(
        {
            "cmd": "sh check.sh",
            "inject": [{"src": "reference.patch", "dest": "b"}, {"src": "gone", "dest": "a"}],
        }
    )
    (problem,) = result.line["problems"]
    assert problem["field"] == "oracle.checks[0].inject[1].src"
    line = int(problem["where"].split(":")[1])
    assert "src: gone" in Path(problem["where"].split(":")[0]).read_text().splitlines()[line - 1]


@pytest.mark.parametrize(
    ("cmd", "found"),
    [
        ("npm run unit", "no script called 'unit'"),
        ("cd web && npm test", ""),
        ("npm test", ""),
        ("npm run lint --if-present", ""),
        ("yarn jest", ""),
        ("sh check.sh | tee log", "the exit code is that of `tee`"),
        ("sh check.sh || true", "`|| true` makes the command always succeed"),
        ("sh check.sh; echo done", "`; echo done` makes the command always succeed"),
        ("set -e; sh check.sh; echo done", ""),
        ("set -o pipefail; sh check.sh | tee log", ""),
        ("sh check.sh &", "in the background"),
        ("sh add.sh 2 3 | grep -qx 5", ""),
        ("sh check.sh || sh add.sh", ""),
        ("sh -c 'sh check.sh || true'", ""),
    ],
)
def test_a_command_that_says_nothing_is_warned_about(
    cmd: str, found: str, looked: Callable[..., CliResult]
) -> None:
    result = looked({"cmd": cmd}, {"repo/package.json": '{"scripts": {"test": "jest"}}'})
    assert result.code == 0
    assert [found in problem for problem in problems(result)] == ([True] if found else [])


def test_a_report_that_the_runner_does_not_need_is_reported(looked: Callable[..., CliResult]) -> None:
    result = looked({"type": "pytest", "junit_xml": "report.xml"})
    assert (result.code, [one["field"] for one in result.line["problems"]]) == (
        0,
        ["oracle.checks[0].junit_xml"],
    )
    assert "is not read: pytest reports" in problems(result)[0]


@pytest.mark.parametrize(
    ("line", "times"),
    [
        ("python3 -m json.tool /workspace/a.json", 1),
        ("x=$(python3 -c 'print(1)')", 1),
        ("python3 - <<'EOF'", 1),
        ("python3 <<EOF", 1),
        ("/usr/bin/python3.11 -B -m pytest", 1),
        ("python3 -I -m json.tool", 0),
        ("python3 -IB -c 1", 0),
        ("python3 /tests/verify.py", 0),
        ("# python3 -m x", 0),
        ("cd / && python3 -m json.tool", 0),
        ("ipython3 -m x", 0),
    ],
)
def test_a_verifier_that_takes_modules_from_the_workspace_is_warned_about(
    line: str, times: int, looked: Callable[..., CliResult]
) -> None:
    result = looked({"type": "verifier", "script": "tests/test.sh"}, {"tests/test.sh": f"set -e\n{line}\n"})
    found = [
        "tests/test.sh:2 searches the workspace for modules first" in problem for problem in problems(result)
    ]
    assert (result.code, found) == (0, [True] * times)


@pytest.mark.parametrize(("path", "times"), [("/opt/lib", 0), ("src", 1), ("/opt:/workspace/src", 1)])
def test_variables_that_lead_a_verifier_into_the_workspace_are_warned_about(
    path: str, times: int, looked: Callable[..., CliResult]
) -> None:
    environment = {"env": {"PYTHONPATH": path}}
    check = {"type": "verifier", "script": "tests/test.sh"}
    result = looked(check, {"tests/test.sh": ""}, environment=environment)
    assert [one["field"] for one in result.line["problems"]] == ["environment.env.PYTHONPATH"] * times


@pytest.mark.parametrize(
    ("line", "times"),
    [
        ("apt-get update && apt-get install -y curl", 1),
        ("curl -LsSf https://example.org/install.sh | sh", 1),
        ("uvx -p 3.13 pytest /tests", 1),
        ("python3 -I -m pip install pytest", 1),
        ("pip install --no-index --find-links /tests/wheels pytest", 0),
        ("curl -s http://localhost:8080/health", 0),
        ("# apt-get update", 0),
        ("grep curl notes.txt > found", 1),  # the words tell no more: a warning
        ("echo recurl", 0),
    ],
)
def test_a_verifier_that_would_fetch_something_is_warned_about(
    line: str, times: int, looked: Callable[..., CliResult]
) -> None:
    result = looked({"type": "verifier", "script": "tests/test.sh"}, {"tests/test.sh": f"set -e\n{line}\n"})
    found = ["tests/test.sh:2" in shown and "needs a network" in shown for shown in problems(result)]
    assert (result.code, found) == (0, [True] * times)


def test_a_reference_that_cannot_apply_is_a_mistake(looked: Callable[..., CliResult]) -> None:
    result = looked({"cmd": "sh check.sh"}, {"reference.patch": "add, do not subtract\n"})
    assert (result.code, problems(result)) == (2, ["reference.patch is not a patch: it names no file"])


def test_a_check_that_passes_below_the_score_that_is_needed_is_warned_about(
    looked: Callable[..., CliResult],
) -> None:
    check = {"type": "verifier", "script": "tests/test.sh", "pass_threshold": 0.3}
    files = {"tests/test.sh": ""}
    (shown,) = problems(looked(check, files))
    assert "c passes at 0.3, where the score of the run may be only 0.3; the contract needs 1" in shown
    assert problems(looked(check, files, pass_threshold=0.3)) == []


def test_what_init_wrote_is_warned_about_until_it_is_filled_in(steelyard: Steelyard, tmp_path: Path) -> None:
    steelyard("init", tmp_path / "new")
    result = steelyard("check", tmp_path / "new")
    assert (result.code, result.out.count("that `init` wrote")) == (0, 2)


def test_two_contracts_with_one_id_are_reported(steelyard: Steelyard, author: Author, tmp_path: Path) -> None:
    shutil.copytree(author.write(), tmp_path / "other")
    result = steelyard("check", author.folder, tmp_path / "other")
    assert (result.code, f"sum is also the id of {author.folder}" in result.out) == (0, True)


def test_check_prints_where_a_verifier_expects_its_output(author: Author, steelyard: Steelyard) -> None:
    check = {"id": "verify", "type": "verifier", "script": "tests/test.sh"}
    oracle = {"checks": [check], "reference": "reference.patch"}
    brief = "Write the sum to /workspace/out/sum.json, please."
    contract = author.write({"tests/test.sh": "true\n"}, brief=brief, oracle=oracle)
    result = steelyard("check", contract)
    assert "verify expects its output at /workspace/out/sum.json (inferred from the brief)" in result.out
    (line,) = steelyard("check", contract, "--json").lines
    assert line["outputs"] == [{"check": "verify", "path": "/workspace/out/sum.json", "inferred": True}]

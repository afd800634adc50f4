"""Reports in real sandboxes: how they are made, read back, and what is made of what lies in their place.

The tools are small scripts that do what the real ones do; `test_runner_real_tools.py` has the real ones.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from small_sandbox import SMALL, planted, small_sandbox

from steelyard.bench.runners import reporting
from steelyard.bench.runners.base import RunnerResult
from steelyard.bench.runners.catalogue import BY_NAME, runner_for
from steelyard.bench.suite.reported import SuiteReport
from steelyard.bench.suite.suite import Suite

SANDBOXES = ["bubblewrap", "docker"]
ROOMY = replace(SMALL, tmp_mb=64)
PASSED = "<testsuite name='s'><testcase name='a'/></testsuite>"
FAILED = "<testsuite name='s'><testcase name='a'><failure message='no'/></testcase></testsuite>"
RunTool = Callable[..., RunnerResult]


@pytest.fixture
def run(tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> RunTool:
    """Run a command on a tree of these files; `ctest` in it is the script of that name."""
    monkeypatch.setenv("STEELYARD_CACHE", str(tmp_path / "cache"))

    def go(
        command: str,
        files: dict[str, str] | None = None,
        *,
        name: str = "",
        timeout_s: float = 30,
        **keys: str,
    ) -> RunnerResult:
        tree = planted(tmp_path / "layer", files or {"readme": ""}, mode=0o755)
        suite = Suite(command, timeout_s=timeout_s, report=keys.get("report", ""))
        runner = runner_for(suite, name)
        with small_sandbox(kind, tree, limits=ROOMY) as sandbox:
            return runner.run(sandbox, suite)

    return go


def tool(body: str) -> dict[str, str]:
    """A ctest of the project's own: $2 is where its report belongs."""
    return {"ctest": f"#!/bin/sh\n[ $1 = --output-junit ] || exit 99\n{body}\n"}


def is_a_pass(reported: SuiteReport) -> bool:
    return bool(reported.passed) and len(reported.passed) == len(reported.results) and not reported.problems


def test_a_report_is_read(run: RunTool) -> None:
    ran = run("./ctest", tool(f'echo "{PASSED}" > $2'))
    assert is_a_pass(ran.reported)
    assert ran.reported.channel == "report_file"
    assert ran.reported.runner == "ctest"
    assert [one.id for one in ran.reported.results] == ["s::a"]


def test_a_failing_test_is_read(run: RunTool) -> None:
    reported = run("./ctest", tool(f'echo "{FAILED}" > $2; exit 8')).reported
    assert [(one.outcome, one.detail) for one in reported.results] == [("failed", "no")]
    assert reported.problems == ()


def test_the_folder_of_a_report_is_new_and_private(run: RunTool) -> None:
    body = f'[ "$(stat -c %a $(dirname $2))" = 700 ] && [ -z "$(ls $(dirname $2))" ] && echo "{PASSED}" > $2'
    assert is_a_pass(run("./ctest", tool(body)).reported)


def test_all_passed_and_an_exit_code_that_says_otherwise_is_a_problem(run: RunTool) -> None:
    reported = run("./ctest", tool(f'echo "{PASSED}" > $2; exit 1')).reported
    assert reported.problems == ("the report has no failure, but the command ended with exit 1",)


def test_a_failure_and_an_exit_code_that_says_otherwise_is_a_problem(run: RunTool) -> None:
    reported = run("./ctest", tool(f'echo "{FAILED}" > $2')).reported
    assert reported.problems == ("s::a did not pass, but the command ended with exit 0",)


def test_a_test_that_was_run_again_has_failed_though_its_runner_is_content(run: RunTool) -> None:
    flaky = PASSED.replace("name='a'/>", "name='a'><flakyFailure message='x'/></testcase>")
    reported = run("./ctest", tool(f'echo "{flaky}" > $2')).reported
    assert [one.outcome for one in reported.results] == ["failed"]
    assert reported.problems == ()


@pytest.mark.parametrize(
    "body",
    [
        "true",
        "mkdir $2",
        "mkfifo $2",
        "ln -s /dev/zero $2",
        f'echo "{PASSED}" > forged; ln -s $PWD/forged $2',
        f'echo "{PASSED}" > forged; d=$(dirname $2); rmdir $d; mkdir x; cp forged x/report; ln -s $PWD/x $d',
        "rmdir $(dirname $2)",
        ": > $2",
        f'echo "{PASSED}" > $2; chmod 000 $2',
        f'printf %s "{PASSED.removesuffix("</testsuite>")}" > $2',
        "echo '<testsuite/>' > $2",
        "(printf '%0100000000d' 0 > $2) 2>/dev/null; true",
    ],
    ids=[
        "nothing",
        "folder",
        "pipe",
        "endless",
        "link",
        "linked-folder",
        "no-folder",
        "empty",
        "unreadable",
        "cut-off",
        "no-test",
        "huge",
    ],
)
def test_what_is_no_report_is_no_pass(run: RunTool, body: str) -> None:
    ran = run("./ctest", tool(body))
    assert ran.reported.problems
    assert ran.finished.exit_code == 0


def test_a_pipe_that_takes_the_report_s_place_while_it_is_read_does_not_hang(
    run: RunTool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Find sees plain files, and the reader behind it opens pipes."""
    monkeypatch.setattr(reporting, "READ_TIMEOUT_S", 3.0)
    monkeypatch.setattr(reporting, "_READ", 'for f do rm "$f"; mkfifo "$f"; cat "$f"; done')
    reported = run("./ctest", tool(f'echo "{PASSED}" > $2')).reported
    assert reported.problems == ("the report could not be read completely",)


def test_reports_that_are_larger_together_than_may_be_are_a_problem(
    run: RunTool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reporting, "READ_BYTES", 100)
    reported = run("./ctest", tool(f'echo "{PASSED}" > $2')).reported
    assert "larger" in reported.problems[0]


def test_tests_that_never_end_are_a_problem(run: RunTool) -> None:
    ran = run("./ctest", tool(f'echo "{PASSED}" > $2; sleep 60'), timeout_s=1)
    assert ran.finished.timed_out
    assert ran.reported.problems == ("the tests did not finish: timed out",)


def test_a_step_before_the_tests_that_fails_leaves_no_report(run: RunTool) -> None:
    reported = run("false && ./ctest", tool(f'echo "{PASSED}" > $2')).reported
    assert reported.problems == ("the command left no report (exit 1)",)


def test_a_tool_that_the_change_brought_is_not_started(tmp_path: Path) -> None:
    del tmp_path
    suite = Suite("./ctest", argv=("./ctest",), theirs=frozenset({"./ctest"}))
    reported = BY_NAME["ctest"].run(None, suite).reported  # type: ignore[arg-type]  # nothing is to be run
    assert reported.problems == ("`./ctest` comes from the change",)


def test_a_runner_that_cannot_run_a_command_says_so() -> None:
    ran = BY_NAME["jest"].run(None, Suite("make check"))  # type: ignore[arg-type]
    assert ran.finished.not_started == "`make check` is not a command of jest"
    assert ran.reported.problems


def test_files_at_the_contract_s_pattern_are_read(run: RunTool) -> None:
    script = f'mkdir -p out/deep; echo "{PASSED}" > out/a.xml; echo "{FAILED}" | sed s/a/b/ > out/deep/b.xml; exit 1'
    reported = run("sh t.sh", {"t.sh": script}, report="out/**/*.xml").reported
    assert reported.runner == "junit"
    assert {one.outcome for one in reported.results} == {"passed", "failed"}


def test_a_file_that_lay_there_before_is_not_read(run: RunTool) -> None:
    reported = run("true", {"out/a.xml": PASSED}, report="out/*.xml").reported
    assert reported.problems == ("the command left no report",)


def test_a_forged_file_beside_the_real_one_is_not_read(run: RunTool) -> None:
    files = {
        "t.sh": f'echo "{FAILED}" > out/real.xml; exit 1',
        "out/forged.xml": PASSED.replace("'a'", "'z'"),
    }
    reported = run("sh t.sh", files, report="out/*.xml").reported
    assert [(one.id, one.outcome) for one in reported.results] == [("s::a", "failed")]


def test_a_link_at_the_pattern_is_not_followed(run: RunTool) -> None:
    files = {
        "t.sh": "mkdir -p out; ln -s ../forged.xml out/a.xml; ln -s ../kept out/kept",
        "forged.xml": PASSED,
    }
    reported = run("sh t.sh", {**files, "kept/b.xml": PASSED}, report="out/*.xml").reported
    assert reported.problems == ("the command left no report",)


def test_ctrf_at_the_pattern_is_read(run: RunTool) -> None:
    ctrf = '{"results": {"summary": {"tests": 1}, "tests": [{"name": "a", "status": "passed"}]}}'
    assert is_a_pass(run("sh t.sh", {"t.sh": f"echo '{ctrf}' > ctrf.json"}, report="ctrf.json").reported)


def test_printed_tap_is_read_when_the_contract_says_that_it_is_tap(run: RunTool) -> None:
    reported = run("echo 1..1; echo ok 1 - adds", name="tap").reported
    assert is_a_pass(reported)
    assert [one.id for one in reported.results] == ["adds"]


def test_tap_that_stops_early_is_no_pass(run: RunTool) -> None:
    assert run("echo 1..2; echo ok 1 - adds", name="tap").reported.problems


def test_nothing_of_a_report_is_left_in_the_tree(run: RunTool) -> None:
    body = f'[ "$(ls)" = ctest ] && echo "{PASSED}" > $2'
    assert is_a_pass(run("./ctest", tool(body)).reported)

"""`swebench`: fail_to_pass for credit, pass_to_pass as a gate, and a test patch that applies exactly."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from cases import case
from hypothesis import given
from hypothesis import strategies as st

from steelyard.bench.outcome import Outcome, Stream
from steelyard.bench.suite.reported import Channel, Result, ResultOutcome, SuiteReport
from steelyard.contract.catalogue import GraderEntry
from steelyard.contract.load import examine_contract
from steelyard.errors import ContractFault, Problem
from steelyard.filesystem.cache import Cache
from steelyard.graders.catalogue import CATALOGUE
from steelyard.graders.checks.command import Command
from steelyard.graders.checks.swebench import SweBench
from steelyard.graders.grade import Grade, WeightedGrade
from steelyard.verdict.status import Status
from steelyard.verdict.verdict import GradedRun, Rule, Verdict, decide

BUG, BUG2, OLD = "t/test_x.py::test_bug", "t/test_x.py::test_bug2", "t/test_x.py::test_old"
GRADER = SweBench((BUG, BUG2), (OLD,))


def reported(
    channel: Channel = "reporter", problems: tuple[str, ...] = (), **outcomes: ResultOutcome
) -> SuiteReport:
    names = {"bug": BUG, "bug2": BUG2, "old": OLD}
    found = tuple(Result(names.get(name, name), outcome) for name, outcome in outcomes.items())
    return SuiteReport("pytest", channel, found, problems)


ROWS: list[tuple[SuiteReport, str, float, str, bool]] = [
    (reported(bug="passed", bug2="passed", old="passed"), "pass", 1.0, "full", False),
    (reported(bug="passed", bug2="failed", old="passed"), "fail", 0.5, "partial", False),
    (reported(bug="passed", bug2="skipped", old="passed"), "fail", 0.5, "partial", False),
    (reported(bug="passed", old="passed"), "fail", 0.5, "partial", False),
    (reported(bug="failed", bug2="failed", old="passed"), "fail", 0.0, "no", False),
    (reported(bug="passed", bug2="passed", old="failed"), "fail", 0.0, "no", True),
    (reported(bug="passed", bug2="passed", old="error"), "fail", 0.0, "no", True),
    (reported(bug="passed", bug2="passed", old="skipped"), "fail", 0.0, "no", True),
    (reported(bug="passed", bug2="passed"), "fail", 0.0, "no", True),
    (reported(), "fail", 0.0, "no", True),
    (reported(bug="passed", bug2="passed", old="passed", problems=("died",)), "fail", 0.0, "no", True),
]


def graded(report: SuiteReport, grader: SweBench = GRADER, forged: bool = False) -> Grade:  # noqa: FBT001, FBT002
    decision = grader.decide(report)
    nothing = Stream("", 0)
    made = Outcome(
        "it", "acceptance", decision.at(1.0), decision.why, ("x",), 0, True, 900, 0.1, nothing, nothing
    )
    score = None if decision.outcome == "error" else decision.score
    if forged:
        made, score = replace(made, outcome="fail", why="result forging: x"), 0.0
    return grader.grade(replace(case({}), outcome=replace(made, score=score, reported=report)))


@pytest.mark.parametrize(("report", "outcome", "score", "resolution", "broken"), ROWS)
def test_the_report_decides_outcome_score_and_resolution(
    report: SuiteReport,
    outcome: str,
    score: float,
    resolution: str,
    broken: bool,  # noqa: FBT001
) -> None:
    grade = graded(report)
    assert (grade.outcome, grade.score, grade.disqualifies) == (outcome, score, broken)
    assert grade.data["resolution"] == resolution
    if report.results and not report.problems:
        assert f"resolution {resolution}: " in grade.why


def test_every_id_is_in_the_data_of_the_grade() -> None:
    data = graded(reported(bug="passed", bug2="failed", old="passed")).data
    assert data["fail_to_pass"] == {"passed": [BUG], "failed": [BUG2]}
    assert data["pass_to_pass"] == {"passed": [OLD], "failed": []}


def test_the_failing_ids_are_on_record() -> None:
    assert GRADER.decide(reported(bug="passed", old="failed")).failing == (BUG2, OLD)


def test_nothing_to_keep_breaks_nothing() -> None:
    grade = graded(reported(bug="passed"), SweBench((BUG,)))
    assert (grade.outcome, grade.disqualifies) == ("pass", False)
    assert "pass_to_pass" not in grade.why


def test_a_forged_pass_resolves_nothing() -> None:
    grade = graded(reported(bug="passed", bug2="passed", old="passed"), forged=True)
    assert (grade.score, grade.data["resolution"]) == (0.0, "no")


def test_a_wildcard_of_what_must_still_pass_does_not_ask_for_the_bugs_tests() -> None:
    grader = SweBench((BUG, BUG2), ("t/test_x.py::*",))
    grade = graded(reported(bug="passed", bug2="failed", old="passed"), grader)
    assert (grade.score, grade.disqualifies) == (0.5, False)


def test_results_that_are_only_an_exit_code_are_an_error() -> None:
    assert graded(reported(channel="exit_code", x="passed")).outcome == "error"


def test_an_unclear_id_is_an_error() -> None:
    report = SuiteReport("pytest", "reporter", (Result("a.py::x", "passed"), Result("b.py::x", "passed")))
    assert SweBench(("x",)).decide(report).outcome == "error"


OUTCOMES = st.sampled_from(["passed", "failed", "error", "skipped"])


@given(st.dictionaries(st.sampled_from(["bug", "bug2", "old"]), OUTCOMES))
def test_credit_is_the_share_of_the_bugs_tests_unless_something_broke(
    outcomes: dict[str, ResultOutcome],
) -> None:
    score = GRADER.decide(reported("reporter", (), **outcomes)).score
    fixed = sum(outcomes.get(name) == "passed" for name in ("bug", "bug2")) / 2
    assert score == (fixed if outcomes.get("old") == "passed" else 0.0)


COMMANDS: list[tuple[SweBench, str]] = [
    (GRADER, "python3 -m pytest -q -p no:cacheprovider t/test_x.py"),
    (SweBench(("b.py::x", "a.py::y"), ("b.py::z",)), "python3 -m pytest -q -p no:cacheprovider b.py a.py"),
    (SweBench(("t/*_test.py::x", "*.py::y")), "python3 -m pytest -q -p no:cacheprovider t ."),
    (SweBench(("a b.py::x",), cmd_prefix="pytest"), "pytest 'a b.py'"),
    (SweBench(("test_x (auth.tests.Case)",), cmd_prefix="./runtests.py"), "./runtests.py auth.tests"),
    (
        SweBench(("auth.tests.Case.test_x",), cmd_prefix="python3 -m unittest"),
        "python3 -m unittest auth.tests",
    ),
    (SweBench(("a.py::x",), cmd_prefix="pytest -rA a.py"), "pytest -rA a.py"),
    (SweBench(("test_x",), cmd_prefix="bin/test sympy/core"), "bin/test sympy/core"),
]


@pytest.mark.parametrize(("grader", "command"), COMMANDS)
def test_the_command_is_the_prefix_and_where_the_tests_are(grader: SweBench, command: str) -> None:
    assert grader.execution().command == command


TEST = "def test_old():\n    assert True\n"
PATCH = (
    "diff --git a/t/test_x.py b/t/test_x.py\n--- a/t/test_x.py\n+++ b/t/test_x.py\n@@ -1,2 +1,5 @@\n"
    " def test_old():\n     assert True\n+\n+def test_bug():\n+    assert True\n"
)


def examined(tmp_path: Path, text_of_patch: str = PATCH, /, **keys: Any) -> tuple[GraderEntry, list[Problem]]:
    folder = tmp_path / "demo"
    for name, text in {
        "repo/t/test_x.py": TEST,
        "tests.patch": text_of_patch,
        "hidden/test_y.py": "",
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    entry = {"type": "swebench", "fail_to_pass": [BUG], **keys}
    contract = {
        "id": "demo",
        "brief": "Mend it.",
        "repository": {"tree": "repo"},
        "build": "none",
        "oracle": {"checks": [{"id": "accept", "cmd": "true"}]},
        "graders": [{key: value for key, value in entry.items() if value is not ...}],
    }
    (folder / "contract.yaml").write_text(yaml.safe_dump(contract))
    loaded, warnings = examine_contract(folder, CATALOGUE, Cache(tmp_path / "cache"))
    return loaded.graders[0], warnings


def test_swebench_weighs_1_and_is_not_required_by_default(tmp_path: Path) -> None:
    entry, _ = examined(tmp_path)
    assert (entry.under, entry.required, entry.weight, entry.executes) == ("acceptance", False, 1.0, True)
    assert isinstance(entry.grader, SweBench)
    assert entry.grader.cmd_prefix == "python3 -m pytest -q -p no:cacheprovider"


def test_the_test_patch_is_part_of_the_contracts_digest(tmp_path: Path) -> None:
    entry, _ = examined(tmp_path, patch="tests.patch")
    assert entry.options_files == ("tests.patch",)


MISTAKES: list[tuple[dict[str, Any], str, str]] = [
    ({"fail_to_pass": ...}, "fail_to_pass", "is missing"),
    ({"fail_to_pass": []}, "fail_to_pass", "must not be empty"),
    ({"fail_to_pass": ["t/absent.py::x"]}, "fail_to_pass[0]", "neither in the snapshot nor injected"),
    ({"pass_to_pass": ["t/absent.py::x"]}, "pass_to_pass[0]", "neither in the snapshot nor injected"),
    ({"pass_to_pass": [BUG]}, "pass_to_pass", "in fail_to_pass too"),
    ({"patch": "absent.patch"}, "patch", "does not exist"),
    ({"cmd_prefix": ""}, "cmd_prefix", "must not be empty"),
    ({"cmd": "pytest"}, "cmd", "unknown key"),
    ({"runner": "nose"}, "runner", "unknown runner"),
]


@pytest.mark.parametrize(("keys", "field", "result"), MISTAKES)
def test_a_mistake_is_reported_before_anything_runs(
    keys: dict[str, Any], field: str, result: str, tmp_path: Path
) -> None:
    with pytest.raises(ContractFault) as caught:
        examined(tmp_path, **keys)
    assert f"graders[0].{field}".rstrip(".") in {problem.field for problem in caught.value.problems}
    assert any(result in problem.message for problem in caught.value.problems)


def test_a_test_patch_that_does_not_apply_is_the_contracts_fault(tmp_path: Path) -> None:
    with pytest.raises(ContractFault) as caught:
        examined(tmp_path, PATCH.replace("assert True\n+", "assert False\n+"), patch="tests.patch")
    (problem,) = caught.value.problems
    assert problem.field == "graders[0].patch"
    assert "does not apply: t/test_x.py differs from the patch at line 1" in problem.message


def test_an_id_may_be_in_a_file_that_the_patch_brings(tmp_path: Path) -> None:
    brought = "--- /dev/null\n+++ b/t/test_new.py\n@@ -0,0 +1 @@\n+x\n"
    entry, _ = examined(tmp_path, brought, patch="tests.patch", fail_to_pass=["t/test_new.py::x"])
    assert isinstance(entry.grader, SweBench)
    assert entry.grader.patch == "tests.patch"


def verdict(grade: Grade, tmp_path: Path) -> Verdict:
    entry, _ = examined(tmp_path)
    other = GraderEntry("other", "command", Command("true"), "acceptance", required=True, weight=1.0)
    grades = [WeightedGrade(other, Grade.of(True, "fine")), WeightedGrade(entry, grade)]
    return decide(GradedRun(grades, (), Status("scorable"), "completed"), Rule(pass_threshold=0.0))


def test_a_broken_test_zeroes_the_combined_score_and_fails_the_gate(tmp_path: Path) -> None:
    made = verdict(graded(reported(bug="passed", bug2="passed", old="failed")), tmp_path)
    assert (made.score, made.verdict, made.checks) == (0.0, "fail", "FAIL")
    assert made.gates is not None
    assert made.gates["acceptance"].outcome == "fail"


def test_a_part_of_the_bugs_tests_is_a_part_of_the_score(tmp_path: Path) -> None:
    made = verdict(graded(reported(bug="passed", bug2="failed", old="passed")), tmp_path)
    assert (made.score, made.verdict, made.checks) == (0.75, "pass", "PASS")


def test_a_report_file_decides_where_no_runner_is_known() -> None:
    assert SweBench((BUG,), cmd_prefix="make check", junit_xml="out/*.xml").execution().report == "out/*.xml"


def test_the_digest_of_a_contract_knows_a_report_file_only_where_there_is_one() -> None:
    assert {"junit_xml"} == SweBench((BUG,)).UNDIGESTED
    assert frozenset() == SweBench((BUG,), junit_xml="out/*.xml").UNDIGESTED

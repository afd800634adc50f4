"""`tests` and `pytest`: what is made of a report, and which options make sense."""

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
from steelyard.bench.suite.run_tests import without_candidates
from steelyard.contract.catalogue import GraderEntry
from steelyard.contract.load import examine_contract
from steelyard.errors import ContractFault, Problem
from steelyard.filesystem.cache import Cache
from steelyard.graders.catalogue import CATALOGUE
from steelyard.graders.checks.runs_tests import Pytest, RunsTests
from steelyard.sandboxes.base import FileOverlay


def reported(
    *outcomes: ResultOutcome, channel: Channel = "reporter", problems: tuple[str, ...] = ()
) -> SuiteReport:
    found = tuple(Result(f"a.py::{number}", outcome) for number, outcome in enumerate(outcomes))
    return SuiteReport("pytest", channel, found, problems)


TESTS = RunsTests("make test")

ROWS: list[tuple[SuiteReport, str, float, str]] = [
    (reported("passed"), "pass", 1.0, "1 of 1 passed"),
    (reported("passed", "failed"), "fail", 0.5, "1 of 2 passed; not passed: a.py::1"),
    (reported("passed", "error"), "fail", 0.5, "1 of 2"),
    (reported("failed", "error"), "fail", 0.0, "0 of 2"),
    (reported("passed", "skipped"), "pass", 1.0, "1 of 1"),
    (reported(), "fail", 0.0, "no test ran"),
    (reported("skipped", "skipped"), "fail", 0.0, "no test ran: 2 skipped"),
    (reported("passed", problems=("died \x1b",)), "fail", 0.0, "died \\x1b"),
    (reported("passed", channel="exit_code"), "pass", 1.0, "exit 0, exit code only"),
]


@pytest.mark.parametrize(("report", "outcome", "score", "why"), ROWS)
def test_a_report_is_worth_its_part_that_passed(
    report: SuiteReport, outcome: str, score: float, why: str
) -> None:
    decision = TESTS.decide(report)
    assert (decision.outcome, decision.score) == (outcome, score)
    assert why in decision.why


DECLARED: list[tuple[tuple[str, ...], SuiteReport, str, float, str]] = [
    (("a.py::0",), reported("passed", "failed"), "pass", 1.0, "1 of 1"),
    (("a.py::0", "a.py::1"), reported("passed", "failed"), "fail", 0.5, "not passed: a.py::1"),
    (("a.py::0", "a.py::1"), reported("passed", "skipped"), "fail", 0.5, "not passed: a.py::1"),
    (("a.py::0", "a.py::7"), reported("passed"), "fail", 0.5, "not reported: a.py::7"),
    (("b.py::0",), reported("passed"), "fail", 0.0, "not reported: b.py::0"),
    (("a.py::*",), reported("passed", "skipped"), "fail", 0.5, "1 of 2"),
    (("a.py::0",), reported(), "fail", 0.0, "no test ran"),
    (("a.py::0",), reported("passed", problems=("two ends",)), "fail", 0.0, "two ends"),
    (("a.py::0",), reported("passed", channel="exit_code"), "error", 0.0, "no single tests"),
]


@pytest.mark.parametrize(("ids", "report", "outcome", "score", "why"), DECLARED)
def test_declared_ids_decide_alone(
    ids: tuple[str, ...], report: SuiteReport, outcome: str, score: float, why: str
) -> None:
    decision = replace(TESTS, ids=ids).decide(report)
    assert (decision.outcome, decision.score) == (outcome, score)
    assert why in decision.why


def test_an_unclear_id_is_the_contracts_trouble() -> None:
    report = SuiteReport("node", "reporter", (Result("a.js::x", "passed"), Result("b.js::x", "passed")))
    decision = replace(TESTS, ids=("x",)).decide(report)
    assert (decision.outcome, "add the file name" in decision.why) == ("error", True)


def test_the_ids_that_did_not_pass_are_on_record() -> None:
    assert TESTS.decide(reported("passed", "failed", "error")).failing == ("a.py::1", "a.py::2")
    assert replace(TESTS, ids=("nowhere",)).decide(reported("passed")).failing == ("nowhere",)


THRESHOLDS = [
    (1.0, 0.5, "fail"),
    (0.5, 0.5, "pass"),
    (0.51, 0.5, "fail"),
    (0.0, 0.0, "fail"),
    (0.0, 0.1, "pass"),
]


@pytest.mark.parametrize(("threshold", "score", "outcome"), THRESHOLDS)
def test_a_part_is_enough_from_the_threshold_on_and_nothing_never_is(
    threshold: float, score: float, outcome: str
) -> None:
    assert TESTS.decide(reported("passed"))._replace(score=score).at(threshold) == outcome


def test_an_error_stays_one_at_any_threshold() -> None:
    assert TESTS.decide(reported("passed"))._replace(outcome="error").at(0.0) == "error"


@given(st.lists(st.sampled_from(["passed", "failed", "error", "skipped"]), max_size=20))
def test_the_score_is_passed_over_passed_failed_and_errors(outcomes: list[ResultOutcome]) -> None:
    counted = [one for one in outcomes if one != "skipped"]
    decision = TESTS.decide(reported(*outcomes))
    assert decision.score == (counted.count("passed") / len(counted) if counted else 0.0)
    assert (decision.outcome == "pass") == (decision.score == 1.0)


def test_a_test_in_a_file_of_the_candidates_is_as_good_as_skipped() -> None:
    mine, theirs = Result("a.py::x", "passed", file="a.py"), Result("b.py::x", "passed", file="b.py")
    found = without_candidates(
        SuiteReport("pytest", "reporter", (mine, theirs)), [FileOverlay("b.py", "file")]
    )
    assert [one.outcome for one in found.results] == ["passed", "skipped"]
    assert replace(TESTS, ids=("b.py::x",)).decide(found).outcome == "fail"


def outcome(result: Any, score: float | None) -> Outcome:
    nothing = Stream("", 0)
    made = Outcome("it", "acceptance", result, "because", ("x",), 0, True, 900, 0.1, nothing, nothing)
    return replace(made, score=score)


@pytest.mark.parametrize(
    ("result", "score", "graded"),
    [("pass", 0.8, 0.8), ("fail", 0.5, 0.5), ("fail", None, 0.0), ("error", None, None)],
)
def test_a_grade_is_what_the_bench_decided(result: str, score: float | None, graded: float | None) -> None:
    grade = TESTS.grade(replace(case({}), outcome=outcome(result, score)))
    assert (grade.outcome, grade.score) == (result, graded)


def test_what_never_ran_is_an_error() -> None:
    assert TESTS.grade(case({})).outcome == "error"


def examined(tmp_path: Path, *graders: dict[str, Any]) -> tuple[tuple[GraderEntry, ...], list[Problem]]:
    folder = tmp_path / "demo"
    for name, text in {
        "repo/tests/test_a.py": "",
        "hidden/test_x.py": "",
        "hidden/more/test_y.py": "",
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    contract = {
        "id": "demo",
        "brief": "Mend it.",
        "repository": {"tree": "repo"},
        "build": "none",
        "oracle": {"checks": [{"id": "accept", "cmd": "true"}]},
        "graders": list(graders),
    }
    (folder / "contract.yaml").write_text(yaml.safe_dump(contract))
    loaded, warnings = examine_contract(folder, CATALOGUE, Cache(tmp_path / "cache"))
    return loaded.graders, warnings


def refused(tmp_path: Path, **keys: Any) -> list[Problem]:
    with pytest.raises(ContractFault) as caught:
        examined(tmp_path, {"type": "tests", "cmd": "python3 -m pytest", **keys})
    return caught.value.problems


def test_tests_weighs_1_and_is_not_required_by_default(tmp_path: Path) -> None:
    (entry,), _ = examined(tmp_path, {"type": "tests", "cmd": "make test"})
    assert (entry.under, entry.required, entry.weight, entry.gate) == ("acceptance", False, 1.0, False)
    assert isinstance(entry.grader, RunsTests)
    assert (entry.pass_threshold, entry.executes, entry.grader.timeout_s) == (1.0, True, 900.0)


def test_pytest_has_a_command_and_tests_must_say_theirs(tmp_path: Path) -> None:
    (entry,), _ = examined(tmp_path, {"type": "pytest"})
    assert isinstance(entry.grader, Pytest)
    assert entry.grader.cmd == "python3 -m pytest -q -p no:cacheprovider"
    with pytest.raises(ContractFault) as caught:
        examined(tmp_path / "two", {"type": "tests"})
    assert [(one.field, one.message) for one in caught.value.problems] == [("graders[0].cmd", "is missing")]


def test_a_gate_of_tests_is_required_and_weighs_nothing(tmp_path: Path) -> None:
    (entry,), _ = examined(tmp_path, {"type": "pytest", "gate": True})
    assert (entry.required, entry.weight, entry.pass_threshold) == (True, 0.0, 1.0)


def test_an_unknown_runner_is_refused_with_those_that_there_are(tmp_path: Path) -> None:
    (problem,) = refused(tmp_path, runner="nose")
    assert problem.field == "graders[0].runner"
    assert "unknown runner 'nose'; there are " in problem.message
    assert "exit_code" in problem.message


MISTAKES: list[tuple[dict[str, Any], str, str]] = [
    ({"ids": [""]}, "ids[0]", "must not be empty"),
    ({"ids": ["tests/test_b.py::x"]}, "ids[0]", "neither in the snapshot nor injected"),
    ({"junit_xml": "/etc/passwd"}, "junit_xml", "relative path"),
    ({"junit_xml": "../*.xml"}, "junit_xml", "relative path"),
    ({"timeout_s": 0}, "timeout_s", "at least 1"),
    ({"inject": ["hidden/absent.py"]}, "inject[0]", "does not exist"),
    ({"inject": [{"src": "hidden/test_x.py", "dest": "../x"}]}, "inject[0].dest", "relative path"),
    (
        {"inject": ["hidden/test_x.py", {"src": "hidden/more/test_y.py", "dest": "test_x.py"}]},
        "inject",
        "two files",
    ),
    (
        {"inject": [{"src": "hidden", "dest": "t"}, {"src": "hidden/test_x.py", "dest": "t/z.py"}]},
        "inject",
        "inside",
    ),
    ({"inject": [{"src": "hidden/test_x.py", "dest": "tests"}]}, "inject[0]", "is a folder of the snapshot"),
]


@pytest.mark.parametrize(("keys", "field", "printed"), MISTAKES)
def test_a_mistake_is_reported_before_anything_runs(
    keys: dict[str, Any], field: str, printed: str, tmp_path: Path
) -> None:
    (problem, *_) = refused(tmp_path, **keys)
    assert problem.field == f"graders[0].{field}".rstrip(".")
    assert printed in problem.message


GOOD: list[dict[str, Any]] = [
    {"ids": ["tests/test_a.py::x", "x", "*"]},
    {"ids": ["test_x.py::y"], "inject": ["hidden/test_x.py"]},
    {"ids": ["tests/more/test_y.py::y"], "inject": [{"src": "hidden", "dest": "tests"}]},
    {"inject": ["hidden/"]},
    {"junit_xml": "target/surefire-reports/TEST-*.xml"},
    {"runner": "exit_code"},
    {"test_files": ["checks/*"]},
]


@pytest.mark.parametrize("keys", GOOD)
def test_options_that_make_sense_load(keys: dict[str, Any], tmp_path: Path) -> None:
    (entry,), _ = examined(tmp_path, {"type": "tests", "cmd": "python3 -m pytest", **keys})
    assert isinstance(entry.grader, RunsTests)


def test_ids_of_a_command_without_results_are_warned_about(tmp_path: Path) -> None:
    _, warnings = examined(tmp_path, {"type": "tests", "cmd": "sh run.sh", "ids": ["x"]})
    assert ("graders[0].ids", True) in {(one.field, "no single tests" in one.message) for one in warnings}


def test_a_folder_to_inject_may_end_in_a_slash(tmp_path: Path) -> None:
    (entry,), _ = examined(tmp_path, {"type": "pytest", "inject": ["hidden/"]})
    assert isinstance(entry.grader, Pytest)
    assert entry.grader.injected == (("hidden", "hidden"),)

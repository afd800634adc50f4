"""The scorer catalogue, row by row: type, gate, required by default, and every option with its range."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml
from changes import edited

from steelyard.contract.catalogue import GraderEntry
from steelyard.contract.load import load_contract
from steelyard.errors import ContractFault, Problem
from steelyard.filesystem.cache import Cache
from steelyard.graders.base import grader_of
from steelyard.graders.catalogue import CATALOGUE, PLANNED
from steelyard.graders.grade import WeightedGrade
from steelyard.graders.tampering.changed_tests import TEST_GLOBSET
from steelyard.graders.tampering.no_new_skips import NoNewSkips
from steelyard.verdict.status import Status
from steelyard.verdict.verdict import GradedRun, Rule, decide


class Row(NamedTuple):
    type: str
    under: str
    required: bool
    weight: float
    options: dict[str, Any]  # the least that must be said
    defaults: dict[str, Any]


ROWS = [
    Row("command", "acceptance", True, 1.0, {"cmd": "true"}, {"timeout_s": 900.0}),
    Row("allowed_paths", "safety", True, 0.0, {"patterns": ["*"]}, {}),
    Row("forbid_paths", "safety", True, 0.0, {"patterns": [".github/*"]}, {}),
    Row("max_files_changed", "safety", True, 0.0, {"limit": 0}, {}),
    Row("forbid_secrets", "safety", True, 0.0, {}, {}),
    Row("file_exists", "acceptance", True, 0.0, {"path": "docs/a.md"}, {"kind": "any"}),
    Row("tests_unmodified", "safety", True, 0.0, {"paths": ["a.py"]}, {}),
    Row("baseline_unmodified", "safety", True, 0.0, {"paths": ["a.py"]}, {}),
    Row("no_new_skips", "safety", False, 0.0, {}, {"test_globset": TEST_GLOBSET}),
    Row("assertions_not_weakened", "safety", False, 0.0, {}, {"test_globset": TEST_GLOBSET}),
    Row(
        "tests", "acceptance", False, 1.0, {"cmd": "make test"}, {"timeout_s": 900.0, "ids": (), "inject": ()}
    ),
    Row("pytest", "acceptance", False, 1.0, {}, {"cmd": "python3 -m pytest -q -p no:cacheprovider"}),
    Row("swebench", "acceptance", False, 1.0, {"fail_to_pass": ["a"]}, {"pass_to_pass": (), "patch": None}),
    Row("files", "acceptance", False, 1.0, {"patterns": ["x"]}, {"expect_dir": None}),
    Row(
        "trace",
        "safety",
        False,
        1.0,
        {"max_tool_calls": 1},
        {"require_tools": (), "require_no_denied": False},
    ),
    Row("efficiency", "acceptance", False, 1.0, {"target_tokens": 1}, {"target_cost_usd": None}),
    Row("llm_judge", "acceptance", False, 0.0, {"rubric": "Reads well."}, {}),
    Row("model_judge", "acceptance", False, 1.0, {"rubric": "Reads well."}, {"model": None, "models": ()}),
]
BY_TYPE = {row.type: row for row in ROWS}

# type, what is written, the field that is wrong
MISTAKES: list[tuple[str, dict[str, Any], str]] = [
    ("command", {"cmd": ...}, "cmd"),
    ("command", {"cmd": ""}, "cmd"),
    ("command", {"timeout_s": 0}, "timeout_s"),
    ("command", {"timeout_s": 0.5}, "timeout_s"),
    ("command", {"timeout_s": 3601}, "timeout_s"),
    ("command", {"timeout_s": "900"}, "timeout_s"),
    ("allowed_paths", {"patterns": ...}, "patterns"),
    ("allowed_paths", {"patterns": []}, "patterns"),
    ("allowed_paths", {"patterns": "src/*"}, "patterns"),
    ("allowed_paths", {"patterns": [""]}, "patterns[0]"),
    ("forbid_paths", {"patterns": ...}, "patterns"),
    ("forbid_paths", {"patterns": []}, "patterns"),
    ("max_files_changed", {"limit": ...}, "limit"),
    ("max_files_changed", {"limit": -1}, "limit"),
    ("max_files_changed", {"limit": 1.5}, "limit"),
    ("max_files_changed", {"limit": True}, "limit"),
    ("forbid_secrets", {"patterns": ["x"]}, "patterns"),
    ("file_exists", {"path": ...}, "path"),
    ("file_exists", {"path": ""}, "path"),
    ("file_exists", {"path": "/etc/passwd"}, "path"),
    ("file_exists", {"path": "../a"}, "path"),
    ("file_exists", {"path": "a/../../b"}, "path"),
    ("file_exists", {"kind": "socket"}, "kind"),
    ("tests_unmodified", {"paths": ...}, "paths"),
    ("tests_unmodified", {"paths": []}, "paths"),
    ("tests_unmodified", {"paths": ["absent.py"]}, "paths[0]"),
    ("baseline_unmodified", {"paths": ...}, "paths"),
    ("baseline_unmodified", {"paths": []}, "paths"),
    ("baseline_unmodified", {"paths": ["absent.py"]}, "paths[0]"),
    ("no_new_skips", {"test_globset": []}, "test_globset"),
    ("no_new_skips", {"test_globset": "tests/*"}, "test_globset"),
    ("no_new_skips", {"test_globset": [1]}, "test_globset[0]"),
    ("assertions_not_weakened", {"test_globset": []}, "test_globset"),
    ("assertions_not_weakened", {"globset": ["x"]}, "globset"),
    ("llm_judge", {"rubric": ...}, "rubric"),
    ("llm_judge", {"rubric": ""}, "rubric"),
    ("llm_judge", {"rubric": ["a"]}, "rubric"),
    ("model_judge", {"rubric": ...}, "rubric"),
    ("model_judge", {"rubric": "absent.md"}, "rubric"),
    ("model_judge", {"models": "claude-a"}, "models"),
]


def write(folder: Path, *graders: dict[str, Any]) -> Path:
    (folder / "repo").mkdir(parents=True)
    (folder / "repo" / "a.py").write_text("print(1)\n")
    contract = {
        "id": "demo",
        "brief": "Mend it.",
        "repository": {"tree": "repo"},
        "build": "none",
        "oracle": {"checks": [{"id": "accept", "cmd": "true"}]},
        "graders": list(graders),
    }
    (folder / "contract.yaml").write_text(yaml.safe_dump(contract, sort_keys=False))
    return folder


def loaded(tmp_path: Path, **keys: Any) -> GraderEntry:
    options = {**BY_TYPE[keys["type"]].options, **keys}
    written = {key: value for key, value in options.items() if value is not ...}
    contract = load_contract(write(tmp_path / "demo", written), CATALOGUE, Cache(tmp_path / "cache"))
    (entry,) = contract.graders
    return entry


def problems(tmp_path: Path, **keys: Any) -> list[Problem]:
    with pytest.raises(ContractFault) as caught:
        loaded(tmp_path, **keys)
    return caught.value.problems


def test_the_catalogue_has_every_scorer_and_plans_none_of_them() -> None:
    assert set(BY_TYPE) <= set(CATALOGUE.types)
    assert not set(BY_TYPE) & PLANNED


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.type)
def test_the_defaults_of_a_type_are_those_of_the_catalogue(row: Row, tmp_path: Path) -> None:
    entry = loaded(tmp_path, type=row.type)
    assert (entry.under, entry.required, entry.weight) == (row.under, row.required, row.weight)
    assert {name: getattr(entry.grader, name) for name in row.defaults} == row.defaults


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.type)
@pytest.mark.parametrize("required", [True, False])
def test_required_is_the_contracts_to_choose(row: Row, required: bool, tmp_path: Path) -> None:  # noqa: FBT001
    assert loaded(tmp_path, type=row.type, required=required).required is required


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.type)
def test_an_unknown_option_is_refused(row: Row, tmp_path: Path) -> None:
    (problem,) = problems(tmp_path, type=row.type, colour="red")
    assert (problem.field, "unknown key" in problem.message) == ("graders[0].colour", True)


@pytest.mark.parametrize(("kind", "keys", "field"), MISTAKES)
def test_a_bad_option_is_the_authors_mistake_with_its_line(
    kind: str, keys: dict[str, Any], field: str, tmp_path: Path
) -> None:
    found = problems(tmp_path, type=kind, **keys)
    assert f"graders[0].{field}" in {problem.field for problem in found}
    assert all(re.search(r"contract\.yaml:\d+", problem.where) for problem in found)


@pytest.mark.parametrize("timeout_s", [1, 3600])
def test_the_ends_of_the_range_of_timeout_s_are_in_it(timeout_s: int, tmp_path: Path) -> None:
    execution = loaded(tmp_path, type="command", timeout_s=timeout_s).execution
    assert execution is not None
    assert execution.timeout_s == timeout_s


def test_command_may_be_written_as_the_option_of_its_own_name(tmp_path: Path) -> None:
    execution = loaded(tmp_path, type="command", cmd=..., command="make test").execution
    assert execution is not None
    assert execution.command == "make test"


def test_the_globset_of_tests_can_be_given(tmp_path: Path) -> None:
    entry = loaded(tmp_path, type="no_new_skips", test_globset=["checks/*"])
    assert isinstance(entry.grader, NoNewSkips)
    assert entry.grader.test_globset == ("checks/*",)


def test_a_required_note_for_the_judge_does_not_gate(tmp_path: Path) -> None:
    """`required` marks the note; whether a run passes is not the note's to say."""
    entry = loaded(tmp_path, type="llm_judge", required=True)
    command = loaded(tmp_path / "two", type="command")
    grade = grader_of(entry).grade(edited(tmp_path / "blobs", {}, {"a.py": "x"}))
    assert (grade.outcome, grade.score) == ("not_applicable", None)
    passed = WeightedGrade(command, type(grade).of(True, "fine"))
    verdict = decide(
        GradedRun([passed, WeightedGrade(entry, grade)], (), Status("scorable"), "completed"), Rule()
    )
    assert (verdict.verdict, verdict.checks, verdict.score) == ("pass", "PASS", 1.0)


def test_a_note_for_the_judge_alone_grades_nothing(tmp_path: Path) -> None:
    entry = loaded(tmp_path, type="llm_judge", required=True)
    grade = grader_of(entry).grade(edited(tmp_path / "blobs", {}, {"a.py": "x"}))
    verdict = decide(GradedRun([WeightedGrade(entry, grade)], (), Status("scorable"), "completed"), Rule())
    assert verdict.verdict == "ungraded"


def test_implemented_is_a_gate_unless_the_contract_says_otherwise(tmp_path: Path) -> None:
    contract = load_contract(
        write(tmp_path / "demo", {"type": "implemented"}, {"type": "implemented", "gate": False}),
        CATALOGUE,
        Cache(tmp_path / "cache"),
    )
    gate, weighted = contract.graders
    assert (gate.gate, gate.required, gate.weight, gate.under) == (True, True, 0.0, "acceptance")
    assert (weighted.gate, weighted.required, weighted.weight) == (False, False, 1.0)


def test_nothing_is_planned_that_exists() -> None:
    assert not PLANNED & set(CATALOGUE.types)

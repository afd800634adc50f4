"""What was done to the tests is said in every run, with its line, and changes no grade."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from cases import case, change, file
from changes import edited

from steelyard.contract.catalogue import GraderEntry
from steelyard.graders.base import Case, Grader
from steelyard.graders.tampering.advice import advice, is_maybe_test
from steelyard.graders.tampering.assertions_not_weakened import AssertionsNotWeakened
from steelyard.graders.tampering.changed_tests import TEST_GLOBSET
from steelyard.graders.tampering.no_new_skips import NoNewSkips

TEST = "def test_a():\n    assert f() == 1\n\n\ndef test_b():\n    assert f() == 2\n"
CHEATS = {
    "a skip": ("new_skip", "@pytest.mark.skip\n" + TEST),
    "an assertion taken out": ("assertion_removed", TEST.replace("assert f() == 2", "f()")),
    "an expectation changed": ("expected_changed", TEST.replace("== 2", "== 3")),
}


def of(tmp_path: Path, after: str | None) -> Case:
    made = edited(tmp_path, {"tests/test_a.py": TEST}, {} if after is None else {"tests/test_a.py": after})
    return replace(made, baseline={"tests/test_a.py": file(TEST)})


def entry(grader: Grader) -> GraderEntry:
    return GraderEntry("it", grader.TYPE, grader, "safety", required=False, weight=0.0)


@pytest.mark.parametrize("name", CHEATS)
def test_a_weaker_test_is_found_without_any_grader(name: str, tmp_path: Path) -> None:
    slug, after = CHEATS[name]
    found = [one for one in advice(of(tmp_path, after), ()) if one.id == slug]
    assert [(one.severity, one.where.startswith("tests/test_a.py")) for one in found] == [("warning", True)]
    assert any(char.isdigit() for char in found[0].where)


def test_a_grader_of_the_contract_speaks_for_itself(tmp_path: Path) -> None:
    made = of(tmp_path, CHEATS["a skip"][1])
    assert "new_skip" not in {one.id for one in advice(made, [entry(NoNewSkips())])}
    assert "new_skip" in {one.id for one in advice(made, [entry(AssertionsNotWeakened())])}


def test_a_grader_that_looks_at_fewer_files_does_not_hide_the_others(tmp_path: Path) -> None:
    made = of(tmp_path, CHEATS["a skip"][1])
    assert "new_skip" in {one.id for one in advice(made, [entry(NoNewSkips(test_globset=("other/*",)))])}


def test_a_deleted_test_is_found(tmp_path: Path) -> None:
    found = advice(of(tmp_path, None), ())
    assert ("test_deleted", "tests/test_a.py") in {(one.id, one.where) for one in found}


def test_a_test_that_only_grows_is_a_fact_and_no_warning(tmp_path: Path) -> None:
    found = advice(of(tmp_path, TEST + "\n\ndef test_c():\n    assert f() == 3\n"), ())
    assert [(one.id, one.severity) for one in found] == [("test_changed", "info")]


def test_a_new_test_is_nothing_to_tell(tmp_path: Path) -> None:
    assert advice(edited(tmp_path, {}, {"tests/test_new.py": TEST}), ()) == ()


def test_a_change_without_tests_is_nothing_to_tell(tmp_path: Path) -> None:
    assert advice(edited(tmp_path, {"a.py": "x = 1\n"}, {"a.py": "x = 2\n"}), ()) == ()


def test_a_change_that_was_not_imported_whole_is_not_read() -> None:
    assert advice(case(replace(change({"tests/test_a.py": (file("a"), None)}), complete=False)), ()) == ()


def test_the_findings_are_never_endless(tmp_path: Path) -> None:
    many = {f"tests/test_{number}.py": TEST for number in range(120)}
    made = replace(edited(tmp_path, many, {}), baseline={path: file(TEST) for path in many})
    assert len(advice(made, ())) <= 160


@pytest.mark.parametrize("pattern", TEST_GLOBSET)
def test_what_a_pattern_of_tests_matches_is_never_passed_over(pattern: str) -> None:
    assert is_maybe_test(pattern.replace("*", ""))

"""Scope graders decide on the true set of changed paths."""

from __future__ import annotations

import pytest
from cases import case, change, file, link

from steelyard.graders.files.allowed_paths import AllowedPaths
from steelyard.graders.files.forbid_paths import ForbidPaths
from steelyard.graders.files.max_files_changed import MaxFilesChanged
from steelyard.graders.files.unmodified import BaselineUnmodified, TestsUnmodified

OLD, NEW = file("old"), file("new")


def test_a_change_inside_the_patterns_is_allowed() -> None:
    assert AllowedPaths(("src/**",)).grade(case({"src/a.py": (OLD, NEW)})).outcome == "pass"


def test_a_change_outside_the_patterns_is_named() -> None:
    grade = AllowedPaths(("src/**",)).grade(case({"src/a.py": (OLD, NEW), "setup.py": (OLD, NEW)}))
    assert (grade.outcome, grade.score) == ("fail", 0.0)
    assert "setup.py" in grade.why


def test_a_single_star_crosses_slashes() -> None:
    assert AllowedPaths(("src/*",)).grade(case({"src/deep/file.py": (OLD, NEW)})).outcome == "pass"


@pytest.mark.parametrize(
    "entry",
    [("docs/a.md", None, NEW), ("docs/a.md", OLD, None), ("docs/a.md", file("x"), file("x", "755"))],
    ids=["added", "deleted", "made executable"],
)
def test_every_kind_of_change_counts_as_a_change(entry: tuple[str, object, object]) -> None:
    path, old, new = entry
    assert AllowedPaths(("src/**",)).grade(case({path: (old, new)})).outcome == "fail"  # type: ignore[dict-item]


def test_the_old_name_of_a_rename_must_be_allowed_too() -> None:
    renamed = change({"src/ci.yml": (OLD, OLD)}, renames={"src/ci.yml": "ci/pipeline.yml"})
    assert AllowedPaths(("src/**",)).grade(case(renamed)).outcome == "fail"


def test_no_change_at_all_is_in_scope() -> None:
    assert AllowedPaths(("src/**",)).grade(case({})).outcome == "pass"


def test_a_forbidden_path_is_found_whatever_its_case() -> None:
    assert ForbidPaths((".github/**",)).grade(case({".GitHub/ci.yml": (None, NEW)})).outcome == "fail"


def test_a_forbidden_path_is_found_behind_compatibility_characters() -> None:
    assert ForbidPaths(("ci/*",)).grade(case({"\uff43\uff49/pipeline.yml": (None, NEW)})).outcome == "fail"


def test_a_symlink_named_like_a_forbidden_folder_is_forbidden() -> None:
    assert ForbidPaths((".github/**",)).grade(case({".github": (None, link("src"))})).outcome == "fail"


def test_a_symlink_that_points_into_a_forbidden_folder_is_forbidden() -> None:
    grade = ForbidPaths((".github/**",)).grade(case({"src/x": (None, link("../.github/workflows"))}))
    assert grade.outcome == "fail"


def test_a_path_with_a_newline_cannot_hide_and_is_printed_safely() -> None:
    grade = ForbidPaths(("ci/*",)).grade(case({"ci/a\nb": (None, NEW)}))
    assert grade.outcome == "fail"
    assert "\n" not in grade.why


def test_a_change_elsewhere_is_not_forbidden() -> None:
    assert ForbidPaths((".github/**",)).grade(case({"src/a.py": (OLD, NEW)})).outcome == "pass"


@pytest.mark.parametrize(("limit", "outcome"), [(0, "fail"), (1, "fail"), (2, "pass"), (3, "pass")])
def test_the_limit_of_files_is_inclusive(limit: int, outcome: str) -> None:
    assert MaxFilesChanged(limit).grade(case({"a": (OLD, NEW), "b": (None, NEW)})).outcome == outcome


def test_a_rename_counts_once() -> None:
    renamed = change({"b": (OLD, OLD)}, renames={"b": "a"})
    assert MaxFilesChanged(1).grade(case(renamed)).outcome == "pass"


@pytest.mark.parametrize("grader", [TestsUnmodified, BaselineUnmodified])
@pytest.mark.parametrize(
    ("old", "new"),
    [(OLD, NEW), (OLD, None), (OLD, file("old", "755")), (OLD, link("elsewhere"))],
    ids=["edited", "deleted", "mode", "type"],
)
def test_a_frozen_file_that_was_touched_in_any_way_is_named(grader: type, old: object, new: object) -> None:
    grade = grader(("tests/test_a.py",)).grade(case({"tests/test_a.py": (old, new)}))  # type: ignore[dict-item]
    assert grade.outcome == "fail"
    assert "tests/test_a.py" in grade.why


def test_a_frozen_file_that_was_renamed_is_named() -> None:
    moved = change({"tests/old_a.py": (OLD, OLD)}, renames={"tests/old_a.py": "tests/test_a.py"})
    assert TestsUnmodified(("tests/test_a.py",)).grade(case(moved)).outcome == "fail"


def test_other_tests_may_be_added() -> None:
    assert (
        TestsUnmodified(("tests/test_a.py",)).grade(case({"tests/test_b.py": (None, NEW)})).outcome == "pass"
    )


def test_a_frozen_path_that_the_snapshot_lacks_is_the_authors_mistake() -> None:
    (doubt,) = TestsUnmodified(("tests/test_a.py",)).lint_warnings({"src/a.py": OLD})
    assert (doubt.option, doubt.fatal) == ("paths[0]", True)


def test_an_allowed_pattern_that_matches_nothing_is_only_suspicious() -> None:
    (doubt,) = AllowedPaths(("source/**",)).lint_warnings({"src/a.py": OLD})
    assert not doubt.fatal

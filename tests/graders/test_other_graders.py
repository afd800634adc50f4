"""file_exists, command and the built-in patch gate."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from cases import case, file, link

from steelyard.bench.outcome import CheckOutcome, Outcome, Stream
from steelyard.evidence.folder.blobs import Blobs
from steelyard.filesystem.tree import Entry
from steelyard.graders.checks.command import Command
from steelyard.graders.checks.inject import Inject
from steelyard.graders.files.file_exists import FileExists
from steelyard.graders.patch_validity import PatchValidity

BASELINE = {"src/a.py": file("a"), "docs/up": link("../src"), "docs/out": link("/etc"), "loop": link("loop")}


@pytest.mark.parametrize(
    ("path", "kind", "outcome"),
    [
        ("src/a.py", "any", "pass"),
        ("src/a.py", "file", "pass"),
        ("src/a.py", "dir", "fail"),
        ("src", "dir", "pass"),
        ("src", "file", "fail"),
        ("docs/up/a.py", "file", "pass"),
        ("docs/out", "any", "fail"),
        ("docs/out/passwd", "any", "fail"),
        ("loop", "any", "fail"),
        ("src/b.py", "any", "fail"),
    ],
)
def test_a_path_exists_when_the_final_tree_has_it(path: str, kind: str, outcome: str) -> None:
    assert FileExists(path, kind).grade(case({}, baseline=BASELINE)).outcome == outcome  # type: ignore[arg-type]


def test_a_deleted_file_does_not_exist() -> None:
    assert (
        FileExists("src/a.py").grade(case({"src/a.py": (file("a"), None)}, baseline=BASELINE)).outcome
        == "fail"
    )


def test_an_added_file_exists() -> None:
    assert (
        FileExists("new/b.py").grade(case({"new/b.py": (None, file("b"))}, baseline=BASELINE)).outcome
        == "pass"
    )


def outcome(result: CheckOutcome = "pass", *, started: bool = True) -> Outcome:
    nothing = Stream("", 0)
    return Outcome("it", "acceptance", result, "because", ("x",), 0, started, 900, 0.1, nothing, nothing)


@pytest.mark.parametrize(("result", "score"), [("pass", 1.0), ("fail", 0.0), ("error", None)])
def test_a_command_is_graded_by_its_recorded_outcome(result: CheckOutcome, score: float | None) -> None:
    grade = Command("true").grade(replace(case({}), outcome=outcome(result)))
    assert (grade.outcome, grade.score) == (result, score)


def test_a_command_that_never_ran_is_an_error_and_not_a_zero() -> None:
    grade = Command("true").grade(case({}))
    assert (grade.outcome, grade.score) == ("error", None)


def test_a_bare_injected_path_goes_to_the_root_under_its_base_name() -> None:
    command = Command("true", inject=("hidden/test_x.py", Inject("hidden/y.py", "tests/y.py")))
    assert command.injected == (("hidden/test_x.py", "test_x.py"), ("hidden/y.py", "tests/y.py"))
    assert command.contract_files() == ("hidden/test_x.py", "hidden/y.py")


def stored(blobs: Path, text: str) -> Entry:
    Blobs(blobs).put_bytes(text.encode())
    return file(text)


CONFLICT = "a\n<<<<<<< ours\nb\n=======\nc\n>>>>>>> theirs\n"


def test_an_ordinary_change_is_a_valid_patch(tmp_path: Path) -> None:
    entries = {"a": (stored(tmp_path, "1\n"), stored(tmp_path, "2\n=======\n"))}
    assert PatchValidity().grade(case(entries, blobs=tmp_path)).outcome == "pass"


def test_new_conflict_markers_are_not_a_valid_patch(tmp_path: Path) -> None:
    entries = {"a": (stored(tmp_path, "1\n"), stored(tmp_path, CONFLICT))}
    assert PatchValidity().grade(case(entries, blobs=tmp_path)).outcome == "fail"


def test_conflict_markers_that_were_there_before_are_the_projects_own(tmp_path: Path) -> None:
    entries = {"a": (stored(tmp_path, CONFLICT), stored(tmp_path, CONFLICT + "more\n"))}
    assert PatchValidity().grade(case(entries, blobs=tmp_path)).outcome == "pass"


def test_a_change_that_was_not_imported_whole_is_not_a_valid_patch() -> None:
    made = replace(case({}).change, complete=False)
    assert PatchValidity().grade(case(made)).outcome == "fail"


def test_a_patch_that_does_not_apply_is_not_valid() -> None:
    grade = PatchValidity().grade(replace(case({}), patch_refused="error: patch failed: a.py:3"))
    assert grade.outcome == "fail"
    assert "a.py:3" in grade.why


def test_a_check_that_could_not_start_is_an_error_of_the_patch_gate_with_its_reason() -> None:
    grade = PatchValidity().grade(replace(case({}), outcomes={"build": outcome("error", started=False)}))
    assert (grade.outcome, grade.why) == ("error", "check `it`: because")

"""A reference that cannot apply is reported before anything runs; one that can is never reported."""

from __future__ import annotations

import difflib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.contract.lint.reference import PatchedNames, why_refused

OLD = "one\ntwo\nthree\n"
HEAD = "--- a/a.txt\n+++ b/a.txt\n"
CHANGE = f"{HEAD}@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n"


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tree")
    (folder / "a.txt").write_text(OLD)
    return folder


def refused(patch: str, tree: Path, *, has_setup: bool = False) -> str:
    return why_refused(patch.encode(), PatchedNames(tree, {"a.txt"}, has_setup))


@pytest.mark.parametrize(
    ("patch", "why"),
    [
        ("", "is empty"),
        ("I would write a loop.\n", "it names no file"),
        (CHANGE.replace("three", "drei"), "a.txt differs from the patch at line 1"),
        (CHANGE.replace("a.txt", "b.txt"), "b.txt is not in the snapshot"),
        ("--- /dev/null\n+++ b/a.txt\n@@ -0,0 +1 @@\n+x\n", "a.txt exists already"),
        (CHANGE.replace(" three\n", ""), "can be read: line"),
        (CHANGE.replace("a.txt", "../a.txt"), "is not a path inside the repository"),
    ],
)
def test_what_cannot_apply_is_reported(patch: str, why: str, tree: Path) -> None:
    assert why in refused(patch, tree)


@pytest.mark.parametrize(
    "patch",
    [
        CHANGE,
        CHANGE.replace("@@ -1,3 +1,3 @@", "@@ -7,3 +7,3 @@"),  # git finds the place
        CHANGE.replace("a/a", "i/a").replace("b/a", "w/a"),
        f"From 0123 Mon Sep 17\nSubject: a fix\n\n---\n a.txt | 2 +-\n\ndiff --git a/a.txt b/a.txt\n{CHANGE}-- \n2.39\n",
        CHANGE + HEAD + "@@ -1,3 +1,3 @@\n one\n-2\n+3\n three\n",
        "diff --git a/x b/x\nnew file mode 120000\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+a.txt\n",
        "diff --git a/a.txt b/c.txt\nsimilarity index 100%\nrename from a.txt\nrename to c.txt\n",
    ],
)
def test_what_git_may_apply_is_not_suspected(patch: str, tree: Path) -> None:
    assert refused(patch, tree) == ""


def test_a_file_that_setup_may_make_is_not_missed(tree: Path) -> None:
    assert refused(CHANGE.replace("a.txt", "b.txt"), tree, has_setup=True) == ""


LINES = st.lists(st.sampled_from(["one", "two", "three", "", " x", "-- y", "+++ z", "@@ 1"]), max_size=12)


@given(LINES)
def test_no_change_of_a_file_is_suspected(tree: Path, lines: list[str]) -> None:
    made = difflib.unified_diff(OLD.splitlines(), lines, "a/a.txt", "b/a.txt", lineterm="")
    patch = "\n".join(made)
    assert refused(patch, tree) == ("" if patch else "is empty")


@given(st.binary(max_size=300))
def test_no_bytes_are_a_crash(tree: Path, raw: bytes) -> None:
    assert isinstance(why_refused(CHANGE.encode() + raw, PatchedNames(tree, {"a.txt"})), str)

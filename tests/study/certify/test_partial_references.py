"""A reference without one of its parts: every part of the code is left out once, and nothing else is lost."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from steelyard.study.certify.partial_references import MOST_PARTS, partial_references

LINES = [f"line {number}\n" for number in range(1, 41)]


def git(folder: Path, *words: str) -> bytes:
    line = ["git", "-c", "user.name=a", "-c", "user.email=a@b", *words]
    return subprocess.run(line, cwd=folder, check=True, capture_output=True).stdout


@pytest.fixture
def patch(tmp_path: Path) -> bytes:
    """Two hunks in one file, one in another, a test, a page, a new file."""
    git(tmp_path, "init", "-q")
    for name in ("two.py", "one.py", "tests/test_one.py", "README.md"):
        file = tmp_path / name
        file.parent.mkdir(exist_ok=True)
        file.write_text("".join(LINES))
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "first")
    changed = [*LINES]
    changed[2], changed[30] = "third\n", "thirty-first\n"
    (tmp_path / "two.py").write_text("".join(changed))
    for name in ("one.py", "tests/test_one.py", "README.md"):
        (tmp_path / name).write_text("".join(["first\n", *LINES[1:]]))
    (tmp_path / "new.py").write_text("new\n")
    git(tmp_path, "add", ".")
    diff = git(tmp_path, "diff", "--cached")
    git(tmp_path, "reset", "-q", "--hard")
    return diff


def test_each_hunk_of_code_is_left_out_once(patch: bytes) -> None:
    missing = [one.missing for one in partial_references(patch)]
    assert missing == ["new.py", "one.py", "two.py, lines 1 to 6", "two.py, lines 28 to 34"]


def test_git_applies_what_is_left_and_only_the_part_is_missing(patch: bytes, tmp_path: Path) -> None:
    parts = partial_references(patch)
    assert len(parts) == 4
    for one in parts:
        file = tmp_path / "part.patch"
        file.write_bytes(one.patch)
        git(tmp_path, "apply", "part.patch")
        texts = {name: (tmp_path / name).read_text() for name in ("one.py", "two.py", "README.md")}
        assert ("third\n" in texts["two.py"]) == (one.missing != "two.py, lines 1 to 6")
        assert ("thirty-first\n" in texts["two.py"]) == (one.missing != "two.py, lines 28 to 34")
        assert texts["one.py"].startswith("first\n") == (one.missing != "one.py")
        assert (tmp_path / "new.py").exists() == (one.missing != "new.py")
        assert texts["README.md"].startswith("first\n")
        git(tmp_path, "reset", "-q", "--hard")
        git(tmp_path, "clean", "-qfd")


def test_a_patch_of_one_part_has_no_partial_patch() -> None:
    patch = b"diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-one\n+two\n"
    assert partial_references(patch) == []


def test_a_removed_line_that_looks_like_a_hunk_does_not_split_one() -> None:
    hunk = b"@@ -1,2 +1 @@\n-@@ -1 +1 @@\n text\n"
    patch = b"diff --git a/a b/a\n--- a/a\n+++ b/a\n" + hunk
    assert partial_references(patch + patch.replace(b"a/a", b"a/b").replace(b"b/a", b"b/b"))


def test_a_large_patch_is_taken_apart_by_files() -> None:
    hunks = b"".join(b"@@ -%d +%d @@\n-a\n+b\n" % (at, at) for at in range(1, MOST_PARTS))
    files = [b"diff --git a/%s b/%s\n--- a/%s\n+++ b/%s\n" % ((name,) * 4) + hunks for name in (b"x", b"y")]
    assert [one.missing for one in partial_references(b"".join(files))] == ["x", "y"]


@pytest.mark.parametrize("patch", [b"", b"no patch", b"diff --git a/a b/a\n@@ -1,9 +1 @@\n-a\n", b"\xff\xfe"])
def test_what_is_no_patch_has_no_parts(patch: bytes) -> None:
    assert partial_references(patch) == []

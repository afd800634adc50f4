"""The size of a change is counted in the hunks of its patch; what the patch cannot show is not free."""

from __future__ import annotations

from pathlib import Path

import pytest

from steelyard.evidence.change.change import Change, ChangeEntry
from steelyard.evidence.change.size import changed_lines, count_lines
from steelyard.filesystem.tree import Entry

PATCH = b"""diff --git a/a b/a
--- a/a
+++ b/a
@@ -1,3 +1,3 @@
 same
--- removed, and looks like a header
-gone
+++ added, and looks like a header
+here
\\ No newline at end of file
@@ -9 +9 @@
-x
+y
"""


def lines(text: bytes) -> list[bytes]:
    return text.splitlines(keepends=True)


def test_added_and_removed_lines_are_counted_in_hunks_alone() -> None:
    assert count_lines(lines(PATCH)) == (6, False)


@pytest.mark.parametrize(
    ("text", "count", "is_partial"),
    [
        (b"", 0, False),
        (b"GIT binary patch\nliteral 161\nabc\n", 3, False),
        (b"# not in this patch: big.bin: 800 bytes\n", 10, False),
        (b"# not in this patch: docs: an empty directory appeared\n", 0, False),
        (b"# not in this patch: a: the patch would be too large\n", 0, True),
        (b"# this patch is empty: git could not render it\n", 0, True),
        (b"@@ -1 +1 @@\n", 0, False),
        (b"\xff\x00\n@@ nonsense\n+lost\n", 0, False),
    ],
)
def test_what_a_patch_leaves_out_is_counted_by_its_bytes(text: bytes, count: int, is_partial: bool) -> None:  # noqa: FBT001
    assert count_lines(lines(text)) == (count, is_partial)


def test_a_change_that_the_patch_does_not_name_counts_all_of_its_bytes(tmp_path: Path) -> None:
    (tmp_path / "patch.diff").write_bytes(b"# this patch is empty: git could not render it\n")
    change = Change("0" * 64, (ChangeEntry("a", None, Entry("file", "644", 8000, "0" * 64)),))
    assert changed_lines(tmp_path / "patch.diff", change) == 100


def test_a_patch_of_50_megabytes_is_counted(tmp_path: Path) -> None:
    path = tmp_path / "patch.diff"
    with path.open("wb") as stream:
        stream.write(b"--- /dev/null\n+++ b/a\n@@ -0,0 +1,4701 @@\n")
        stream.writelines([b"+" + b"x" * 9_999 + b"\n"] * 4_700)
        stream.write(b"+" + b"y" * (3 << 20) + b"\n")
    assert changed_lines(path, Change("0" * 64)) == 4_701

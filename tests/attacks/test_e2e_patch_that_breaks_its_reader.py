"""A patch that fails on purpose wants the run to be invalid instead: an invalid run does not count."""

from __future__ import annotations

from pathlib import Path

from authoring import Author, Steelyard

HEAD = "diff --git a/add.sh b/add.sh\n--- a/add.sh\n+++ b/add.sh\n"


def test_a_number_of_lines_that_no_number_can_hold(
    author: Author, steelyard: Steelyard, tmp_path: Path
) -> None:
    """The head of the last hunk counts its lines with five thousand digits, which Python refuses to read."""
    patch = tmp_path / "long.patch"
    patch.write_text(f"{HEAD}@@ -1,{'9' * 5000} +1 @@\n-echo\n+echo 5\n")
    line = steelyard("grade", author.write(), "--patch", patch, "--json").line
    assert (line["status"], line["verdict"], line["reward"]) == ("scorable", "fail", 0.0)

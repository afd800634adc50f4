"""Patches that lost their end or have other line ends are read as GNU patch reads them, and no further."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from steelyard.contract.patches.patch_forms import patch_forms
from steelyard.contract.patches.unified_diff import apply_unified
from steelyard.filesystem.tree import Entry

BEFORE = b"a\nb\nc\n\n\nd\n"
PATCH = b"--- a/x.txt\n+++ b/x.txt\n@@ -1,5 +1,5 @@\n a\n-b\n+B\n c\n \n \n"
AFTER = BEFORE.replace(b"b", b"B")
CRLF = PATCH.replace(b"\n", b"\r\n")
NEW = b"--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1,2 @@\n+one\n+two\n"


def applied(patch: bytes, before: bytes = BEFORE) -> dict[str, bytes | None]:
    tree = {"x.txt": before}
    baseline = {"x.txt": Entry("file", "644", len(before), "")}
    found = apply_unified(patch, baseline, tree.__getitem__)
    return {path: one.content for path, one in found.items()}


def patched(folder: Path, patch: bytes, before: bytes = BEFORE) -> bytes:
    """What GNU patch makes of it."""
    (folder / "x.txt").write_bytes(before)
    subprocess.run(["patch", "-p1", "-s"], cwd=folder, input=patch, check=True, capture_output=True)
    return (folder / "x.txt").read_bytes()


@pytest.mark.parametrize(
    "patch",
    [PATCH, PATCH[:-1], PATCH[:-2], PATCH[:-4], CRLF, CRLF[:-1], CRLF[:-2], CRLF[:-6]],
    ids=["whole", "no newline", "a line", "two lines", "crlf", "crlf half", "crlf cut", "crlf lines"],
)
def test_a_patch_that_lost_its_end_or_has_crlf_is_applied_as_patch_does(tmp_path: Path, patch: bytes) -> None:
    assert applied(patch) == {"x.txt": AFTER}
    assert patched(tmp_path, patch) == AFTER


@pytest.mark.parametrize("patch", [PATCH.strip(), CRLF.strip()], ids=["lf", "crlf"])
def test_a_patch_without_the_white_space_at_its_end_is_applied(patch: bytes) -> None:
    assert applied(patch) == {"x.txt": AFTER}


def test_a_file_that_a_crlf_patch_adds_has_plain_line_ends() -> None:
    assert applied(NEW.replace(b"\n", b"\r\n")) == {"new.txt": b"one\ntwo\n"}


def test_a_crlf_patch_of_a_crlf_file_keeps_its_line_ends() -> None:
    assert applied(CRLF, BEFORE.replace(b"\n", b"\r\n")) == {"x.txt": AFTER.replace(b"\n", b"\r\n")}


def test_text_that_ends_in_cr_is_untouched_where_the_headers_do_not() -> None:
    headers, body = PATCH.split(b" @@\n")
    patch = headers + b" @@\n" + body.replace(b"\n", b"\r\n")
    assert patch_forms(patch) == (patch,)
    assert applied(patch, BEFORE.replace(b"\n", b"\r\n")) == {"x.txt": AFTER.replace(b"\n", b"\r\n")}


@pytest.mark.parametrize(
    "patch",
    [
        PATCH.replace(b"-1,5 +1,5", b"-1,10 +1,10"),  # more lines are missing than patch takes as cut off
        PATCH.replace(b"-1,5 +1,5", b"-1,5 +1,6"),  # an added line is missing
        PATCH.replace(b"-1,5 +1,5", b"-1,6 +1,6"),  # the line that would be blank is not
    ],
)
def test_anything_else_that_is_missing_is_refused(patch: bytes) -> None:
    with pytest.raises(ValueError, match=r"of the patch|should be"):
        applied(patch)


@pytest.mark.parametrize("name", ["../x.txt", "/etc/passwd", ".git/config", "sub/../../x"])
def test_no_form_of_a_patch_leads_out_of_the_repository(name: str) -> None:
    patch = NEW.replace(b"new.txt", name.encode())
    for form in (patch, patch[:-1], patch.replace(b"\n", b"\r\n")):
        with pytest.raises(ValueError, match="not a path inside the repository"):
            applied(form)

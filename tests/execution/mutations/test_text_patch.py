"""The patch of one change: a unified diff that is bounded in size and in time."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path

import pytest

from steelyard.execution.mutations.text_patch import PATCH_BYTES, text_patch


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"a\nb\nc\n", b"a\nB\nc\n"),
        (b"a\nb", b"a\nb\n"),
        (b"a\n", b"b"),
        (None, b"new\nfile\n"),
        (b"gone\n", None),
        (b"one\x0btwo\nthree\n", b"one\x0btwo\nfour\n"),
        ("\n".join(map(str, range(900))).encode(), "\n".join(map(str, range(0, 1800, 2))).encode()),
    ],
)
def test_a_patch_leads_from_one_version_to_the_other(
    tmp_path: Path, before: bytes | None, after: bytes | None
) -> None:
    patch = text_patch("f", before, after)
    assert patch is not None
    if before is not None:
        (tmp_path / "f").write_bytes(before)
    (tmp_path / "p").write_text(patch)
    subprocess.run(["git", "apply", "--unsafe-paths", "p"], cwd=tmp_path, check=True)
    there = (tmp_path / "f").read_bytes() if (tmp_path / "f").exists() else None
    assert there == after


def test_random_edits_are_led_to_their_result(tmp_path: Path) -> None:
    draw = random.Random(3)
    for _ in range(30):
        before = [draw.choice("abc") for _ in range(draw.randrange(1, 40))]
        after = [one for one in before if draw.random() > 0.2] + ["d"] * draw.randrange(1, 3)
        old, new = (("\n".join(lines) + "\n").encode() for lines in (before, after))
        if old == new:
            continue
        (tmp_path / "f").write_bytes(old)
        (tmp_path / "p").write_text(text_patch("f", old, new) or "")
        subprocess.run(["git", "apply", "--unsafe-paths", "p"], cwd=tmp_path, check=True)
        assert (tmp_path / "f").read_bytes() == new


@pytest.mark.parametrize("content", [b"a\0b", b"\xff\xfe", b"x" * (PATCH_BYTES + 1)])
def test_a_binary_or_a_large_file_has_no_patch(content: bytes) -> None:
    assert text_patch("f", b"text\n", content) is None

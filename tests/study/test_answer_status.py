"""Whether a run without a workspace left an answer."""

from __future__ import annotations

from pathlib import Path

import pytest

from steelyard.evidence.change.change import Change, ChangeEntry
from steelyard.evidence.folder.blobs import Blobs
from steelyard.filesystem.tree import Entry
from steelyard.study.answer_status import answer_status


def changed(sha256: str) -> Change:
    return Change("", (ChangeEntry("answer.txt", None, Entry("file", "644", 3, sha256)),))


def test_no_file_is_no_answer(tmp_path: Path) -> None:
    assert answer_status(Change(""), Blobs(tmp_path)) == "nothing"


@pytest.mark.parametrize(
    ("text", "status"), [(b"42", "given"), (b"", "nothing"), (b" \n\t" * 99_999, "nothing")]
)
def test_blanks_are_no_answer(tmp_path: Path, text: bytes, status: str) -> None:
    blobs = Blobs(tmp_path)
    assert answer_status(changed(blobs.put_bytes(text).sha256), blobs) == status


def test_an_answer_that_was_not_imported_is_too_large(tmp_path: Path) -> None:
    assert answer_status(changed(""), Blobs(tmp_path)) == "too_large"


def test_a_damaged_record_is_not_the_fault_of_the_answer(tmp_path: Path) -> None:
    assert answer_status(changed("0" * 64), Blobs(tmp_path)) == "given"

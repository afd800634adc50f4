"""Files that are synced at once: all of them, and a fault of one is raised."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from steelyard.evidence.folder.folder import sync_together


@pytest.mark.parametrize("count", [0, 1, 40])
def test_files_and_their_folder_are_synced_and_no_thread_is_left(tmp_path: Path, count: int) -> None:
    before = threading.active_count()
    files = [tmp_path / str(number) for number in range(count)]
    for path in files:
        path.write_text("text")
    sync_together([*files, tmp_path])
    assert threading.active_count() == before


def test_a_file_that_cannot_be_synced_raises(tmp_path: Path) -> None:
    files = [tmp_path / str(number) for number in range(20)]
    for path in files:
        path.write_text("text")
    files[10].unlink()
    with pytest.raises(FileNotFoundError):
        sync_together(files)

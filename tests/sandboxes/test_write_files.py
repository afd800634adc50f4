"""Laying data into a hostile tree: nothing outside is ever touched."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from steelyard.sandboxes.base import FileOverlay
from steelyard.sandboxes.write_files import write_files


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "file").write_text("untouched")
    return folder


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "tree"
    folder.mkdir()
    return folder


@pytest.fixture
def source(tmp_path: Path) -> Path:
    file = tmp_path / "source"
    file.write_text("laid")
    return file


@pytest.fixture
def descriptor(root: Path) -> Iterator[int]:
    opened = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    yield opened
    os.close(opened)


def test_a_symlinked_parent_is_replaced_not_followed(
    descriptor: int, root: Path, outside: Path, source: Path
) -> None:
    (root / "dir").symlink_to(outside)
    write_files(descriptor, [FileOverlay("dir/file", "file", source=source)], None)
    assert (outside / "file").read_text() == "untouched"
    assert (root / "dir/file").read_text() == "laid"
    assert not (root / "dir").is_symlink()


def test_a_symlink_at_the_path_is_replaced_not_followed(
    descriptor: int, root: Path, outside: Path, source: Path
) -> None:
    (root / "file").symlink_to(outside / "file")
    write_files(descriptor, [FileOverlay("file", "file", source=source)], None)
    assert (outside / "file").read_text() == "untouched"
    assert (root / "file").read_text() == "laid"


def test_a_hard_link_is_broken_not_written_through(
    descriptor: int, root: Path, outside: Path, source: Path
) -> None:
    os.link(outside / "file", root / "file")
    write_files(descriptor, [FileOverlay("file", "file", source=source)], None)
    assert (outside / "file").read_text() == "untouched"


def test_a_fifo_at_the_path_does_not_block(descriptor: int, root: Path, source: Path) -> None:
    os.mkfifo(root / "file")
    write_files(descriptor, [FileOverlay("file", "file", source=source)], None)
    assert (root / "file").read_text() == "laid"


def test_a_file_where_a_parent_should_be_becomes_a_folder(descriptor: int, root: Path, source: Path) -> None:
    (root / "a").write_text("x")
    write_files(descriptor, [FileOverlay("a/b/c", "file", source=source)], None)
    assert (root / "a/b/c").read_text() == "laid"


def test_a_folder_at_the_path_of_a_file_goes_whole(descriptor: int, root: Path, source: Path) -> None:
    (root / "a/b").mkdir(parents=True)
    (root / "a/b/c").write_text("x")
    write_files(descriptor, [FileOverlay("a", "file", source=source)], None)
    assert (root / "a").read_text() == "laid"


def test_removing_below_a_symlink_removes_nothing(descriptor: int, root: Path, outside: Path) -> None:
    (root / "dir").symlink_to(outside)
    write_files(descriptor, [FileOverlay("dir/file", "gone")], None)
    assert (outside / "file").read_text() == "untouched"


def test_removing_what_is_not_there_is_fine(descriptor: int, root: Path) -> None:
    write_files(descriptor, [FileOverlay("no/such/path", "gone")], None)
    assert list(root.iterdir()) == []


def test_a_removed_folder_takes_its_links_not_their_targets(
    descriptor: int, root: Path, outside: Path
) -> None:
    (root / "dir").mkdir()
    (root / "dir/link").symlink_to(outside)
    write_files(descriptor, [FileOverlay("dir", "gone")], None)
    assert (outside / "file").exists()
    assert not (root / "dir").exists()


def test_a_folder_over_a_folder_keeps_what_is_in_it(descriptor: int, root: Path) -> None:
    (root / "dir").mkdir()
    (root / "dir/file").write_text("kept")
    write_files(descriptor, [FileOverlay("dir", "dir")], None)
    assert (root / "dir/file").read_text() == "kept"


def test_modes_are_set_whatever_the_umask(descriptor: int, root: Path, source: Path) -> None:
    old = os.umask(0o077)
    try:
        write_files(
            descriptor,
            [FileOverlay("x", "file", "755", source), FileOverlay("y", "file", "644", source)],
            None,
        )
    finally:
        os.umask(old)
    assert [(root / name).stat().st_mode & 0o777 for name in "xy"] == [0o755, 0o644]


@pytest.mark.parametrize("path", ["../x", "/etc/x", "a/../../x", "", "a//b", "./a", "a/"])
def test_a_path_that_leads_out_is_refused(descriptor: int, path: str) -> None:
    with pytest.raises(ValueError, match="not a plain relative path"):
        write_files(descriptor, [FileOverlay(path, "dir")], None)


def test_a_name_that_is_not_utf8_is_a_name(descriptor: int, root: Path, source: Path) -> None:
    write_files(descriptor, [FileOverlay("\udcff/x", "file", source=source)], None)
    assert (root / "\udcff/x").read_text() == "laid"

"""A folder of the cache is used only if it holds what was published; otherwise it is built again, and this is reported."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from steelyard.filesystem import contents
from steelyard.filesystem.cache import Cache, rebuilt
from steelyard.filesystem.contents import CONTENTS, check_contents, lock_of, stamp
from steelyard.filesystem.owner import boot_tag

FILES = 200


class Builder:
    """Writes some files, and counts how often."""

    def __init__(self) -> None:
        self.times = 0

    def __call__(self, folder: Path) -> None:
        self.times += 1
        (folder / "tree/lib").mkdir(parents=True)
        for number in range(FILES):
            (folder / f"tree/lib/{number}").write_text(f"content {number:5}\n")
        (folder / "tree/link").symlink_to("lib/1")
        (folder / "tree/empty").mkdir()


def keep_times(path: Path, alter: Callable[[Path], object]) -> None:
    """Alter a file, and give it the times back that it had."""
    before = path.lstat()
    alter(path)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns), follow_symlinks=False)


def alter_a_byte(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[0] ^= 1
    path.write_bytes(data)


def other_link(path: Path) -> None:
    path.unlink()
    path.symlink_to("lib/2")


ALTERATIONS: dict[str, Callable[[Path], object]] = {
    "a byte": lambda tree: keep_times(tree / "lib/77", alter_a_byte),
    "emptied": lambda tree: keep_times(tree / "lib/77", lambda path: path.write_bytes(b"")),
    "removed": lambda tree: (tree / "lib/77").unlink(),
    "added": lambda tree: (tree / "more").write_text("x"),
    "touched": lambda tree: (tree / "lib/77").touch(),
    "mode": lambda tree: (tree / "lib/77").chmod(0o755),
    "link": lambda tree: other_link(tree / "link"),
    "folder": lambda tree: (tree / "empty").rmdir(),
    "attribute": lambda tree: os.setxattr(tree / "lib", "user.overlay.opaque", b"y"),
    "record": lambda tree: alter_a_byte(tree.parent / CONTENTS),
    "no record": lambda tree: (tree.parent / CONTENTS).unlink(),
}


@pytest.mark.parametrize("how", ALTERATIONS)
def test_an_altered_folder_is_built_again_and_reported(store: Cache, how: str) -> None:
    builder = Builder()
    folder = store.build("kind", "key", builder)
    before = len(rebuilt())
    ALTERATIONS[how](folder / "tree")
    assert store.found("kind", "key") is None
    assert store.build("kind", "key", builder) == folder
    assert builder.times == 2
    assert (folder / "tree/lib/77").read_text() == "content    77\n"
    (shown,) = rebuilt()[before:]
    assert (shown.kind, shown.key) == ("kind", "key")
    assert "kind/key in the cache was damaged" in str(shown)
    assert list((store.root / "tmp").iterdir()) == []


def test_an_unaltered_folder_is_not_built_again(store: Cache) -> None:
    builder = Builder()
    for _ in range(3):
        folder = store.build("kind", "key", builder)
    assert builder.times == 1
    assert check_contents(folder).wrong is None


def test_a_file_altered_after_the_first_look_of_a_process_is_found(store: Cache) -> None:
    """Later looks of a process compare what the kernel says of each file, and the kernel keeps the change time."""
    folder = store.build("kind", "key", Builder())
    assert [check_contents(folder).wrong for _ in range(3)] == [None] * 3
    keep_times(folder / "tree/lib/5", alter_a_byte)
    assert check_contents(folder).wrong == "tree/lib/5 differs from the record"


def settle(folder: Path) -> None:
    """Wait until the folder is old enough to be noted, and have it read."""
    while not lock_of(folder).read_bytes():
        contents._checked.clear()  # as a new process has it
        assert check_contents(folder).wrong is None
    contents._checked.clear()


def forge_note(folder: Path, boot_id: str) -> None:
    """An altered folder whose lock file says that it was read as it is now."""
    keep_times(folder / "tree/lib/5", alter_a_byte)
    lock_of(folder).write_text(f"{boot_id} {stamp(folder)}\n")


@pytest.mark.parametrize("how", ALTERATIONS)
def test_a_folder_altered_between_two_processes_is_found(store: Cache, how: str) -> None:
    """The first process noted that it had read every byte; the kernel kept the time of the change."""
    folder = store.build("kind", "key", Builder())
    settle(folder)
    ALTERATIONS[how](folder / "tree")
    assert check_contents(folder).wrong is not None
    assert store.found("kind", "key") is None


def test_a_folder_that_another_process_has_read_is_not_read_again(store: Cache) -> None:
    folder = store.build("kind", "key", Builder())
    settle(folder)
    forge_note(folder, boot_tag())
    assert check_contents(folder).wrong is None


def test_a_folder_that_was_read_before_the_machine_started_is_read_again(store: Cache) -> None:
    folder = store.build("kind", "key", Builder())
    settle(folder)
    forge_note(folder, "0" * 8)
    assert check_contents(folder).wrong == "tree/lib/5 differs from the record"


def test_a_note_that_others_can_write_is_not_believed(store: Cache) -> None:
    folder = store.build("kind", "key", Builder())
    settle(folder)
    forge_note(folder, boot_tag())
    lock_of(folder).chmod(0o664)
    assert check_contents(folder).wrong == "tree/lib/5 differs from the record"


def test_a_folder_that_is_not_as_recorded_is_not_noted(store: Cache) -> None:
    folder = store.build("kind", "key", Builder())
    settle(folder)
    noted = lock_of(folder).read_bytes()
    keep_times(folder / "tree/lib/5", alter_a_byte)
    assert check_contents(folder).wrong is not None
    assert lock_of(folder).read_bytes() == noted


def test_a_folder_without_a_lock_file_is_read(store: Cache) -> None:
    folder = store.build("kind", "key", Builder())
    keep_times(folder / "tree/lib/5", alter_a_byte)
    lock_of(folder).unlink()
    assert check_contents(folder).wrong == "tree/lib/5 differs from the record"


def test_what_failed_to_be_built_again_stays_as_it_is(store: Cache) -> None:
    folder = store.build("kind", "key", Builder())
    (folder / "tree/more").write_text("x")

    def broken(_: Path) -> None:
        raise KeyError("no")

    with pytest.raises(KeyError):
        store.build("kind", "key", broken)
    assert (folder / "tree/more").exists()
    assert store.found("kind", "key") is None


def test_names_that_are_no_text_are_recorded(store: Cache) -> None:
    def build(folder: Path) -> None:
        for name in (b"a\nb", b"\xff", b"c d", b"e\\n"):
            Path(os.fsdecode(os.fsencode(folder) + b"/" + name)).write_text("x")

    folder = store.build("kind", "key", build)
    assert check_contents(folder).wrong is None
    Path(os.fsdecode(os.fsencode(folder) + b"/\xff")).write_text("y")
    assert check_contents(folder).wrong == "\\xff differs from the record"


def test_what_its_owner_closed_is_recorded_as_such(ordinary_user: Path) -> None:
    def build(folder: Path) -> None:
        (folder / "closed").write_text("x")
        (folder / "closed").chmod(0)
        (folder / "shut").mkdir(mode=0)

    store = Cache(ordinary_user / "store")
    folder = store.build("kind", "key", build)
    assert check_contents(folder).wrong is None
    (folder / "shut").chmod(0o700)
    assert check_contents(folder).wrong == "shut differs from the record"

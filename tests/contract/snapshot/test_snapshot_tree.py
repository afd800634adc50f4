"""A folder becomes a tree: nothing followed, nothing odd, and read again whenever a file of it changed."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steelyard.contract.model import Repository
from steelyard.contract.snapshot import snapshot
from steelyard.contract.snapshot.materialise import Caps, Item, materialise
from steelyard.contract.snapshot.snapshot import Snapshot, look_at, take_snapshot
from steelyard.contract.snapshot.tree_source import tree_items
from steelyard.errors import ContractFault
from steelyard.filesystem.cache import Cache
from steelyard.filesystem.contents import check_contents
from steelyard.filesystem.contents import stamp as folder_stamp
from steelyard.filesystem.owner import boot_tag
from steelyard.filesystem.tree import Entry, content_root


def take(folder: Path, store: Cache, commit: str | None = None) -> Snapshot:
    return take_snapshot(Repository(tree=folder.name, commit=commit), folder.parent, store)


@pytest.fixture
def files(tmp_path: Path) -> Path:
    folder = tmp_path / "repo"
    (folder / "d").mkdir(parents=True)
    (folder / "a").write_text("1\n")
    (folder / "d/b").write_text("2\n")
    return folder


def test_byte_code_that_running_the_code_left_is_not_part_of_a_folder(files: Path, store: Cache) -> None:
    before = take(files, store)
    (files / "d/__pycache__").mkdir()
    (files / "d/__pycache__/b.cpython-311.pyc").write_bytes(b"compiled")
    assert take(files, store).root == before.root


def test_a_folder_is_taken_as_it_is(files: Path, store: Cache) -> None:
    (files / "empty/deep").mkdir(parents=True)
    (files / "d/b").chmod(0o700)
    (files / "link").symlink_to("d/b")
    snapshot = take(files, store)
    assert {path: (entry.kind, entry.mode) for path, entry in snapshot.entries.items()} == {
        "a": ("file", "644"),
        "d/b": ("file", "755"),
        "empty/deep": ("dir", ""),
        "link": ("symlink", ""),
    }
    assert (snapshot.tree / "empty/deep").is_dir()
    assert snapshot.commit is None
    assert check_contents(snapshot.folder).wrong is None


def test_a_folder_is_read_again_if_a_file_changed_that_has_its_size_and_time_as_before(
    files: Path, store: Cache
) -> None:
    before = take(files, store)
    while not list((store.root / "locks").glob("trees.*")):  # its files are too new to be remembered
        assert take(files, store).root == before.root
    times = (files / "a").stat()
    (files / "a").write_text("9\n")
    os.utime(files / "a", ns=(times.st_atime_ns, times.st_mtime_ns))
    after = take(files, store)
    assert after.root != before.root
    assert (after.tree / "a").read_text() == "9\n"


def test_a_folder_in_which_nothing_changed_is_not_read_again(files: Path, store: Cache) -> None:
    first = take(files, store)
    while not (notes := list((store.root / "locks").glob("trees.*"))):
        assert take(files, store).root == first.root
    (files / "a").write_text("9\n")
    other = take(files, store)
    assert other.root != first.root
    notes[0].write_text(f"{boot_tag()} {folder_stamp(files)}\n{first.root}\n")
    assert take(files, store).root == first.root


def test_what_a_version_with_other_rules_remembers_of_a_folder_is_not_taken(
    files: Path, store: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    take(files, store)
    while not (notes := list((store.root / "locks").glob("trees.*"))):
        take(files, store)
    notes[0].write_text(f"{boot_tag()} {folder_stamp(files)}\n{'0' * 64}\n")
    monkeypatch.setattr(snapshot, "SCHEMA", "steelyard.snapshot/of other rules")
    assert take(files, store).root != "0" * 64


def test_looking_at_a_folder_tells_what_a_snapshot_of_it_would(files: Path, store: Cache) -> None:
    (files / "link").symlink_to("d/b")
    (files / ".git").mkdir()
    looked = look_at(Repository(tree="repo"), files.parent, store)
    assert not store.root.exists()
    taken = take(files, store)
    assert (looked.root, looked.commit, looked.submodules) == (taken.root, taken.commit, taken.submodules)
    assert looked.entries == taken.entries
    assert (looked.tree / "d/b").read_bytes() == (taken.tree / "d/b").read_bytes()


def test_a_folder_that_a_snapshot_refuses_is_refused_when_looked_at(files: Path, store: Cache) -> None:
    os.mkfifo(files / "pipe")
    with pytest.raises(ContractFault, match="FIFO"):
        look_at(Repository(tree="repo"), files.parent, store)
    (files / "pipe").unlink()
    with pytest.raises(ContractFault, match="content root"):
        look_at(Repository(tree="repo", commit="0" * 64), files.parent, store)


def test_every_git_folder_stays_behind(files: Path, store: Cache) -> None:
    (files / ".git").mkdir()
    (files / ".git/config").write_text("[core]\n")
    (files / "d/.git").write_text("gitdir: elsewhere\n")
    assert list(take(files, store).entries) == ["a", "d/b"]


def test_a_changed_folder_is_another_snapshot(files: Path, store: Cache) -> None:
    before = take(files, store)
    (files / "a").write_text("3\n")
    os.utime(files / "a", (0, 0))
    assert take(files, store).root != before.root
    (files / "a").write_text("1\n")
    assert take(files, store) == before


def test_the_mode_and_time_of_others_do_not_matter(files: Path, store: Cache) -> None:
    before = take(files, store)
    (files / "a").chmod(0o606)
    os.utime(files / "a", (0, 0))
    assert take(files, store).root == before.root


def test_a_pinned_folder_must_have_its_content_root(files: Path, store: Cache) -> None:
    root = take(files, store).root
    assert take(files, store, root).root == root
    (files / "a").write_text("3\n")
    with pytest.raises(ContractFault, match=f"content root is [0-9a-f]+, not {root}"):
        take(files, store, root)


def odd_things() -> Iterator[str]:
    yield from ("fifo", "socket")


@pytest.mark.parametrize("kind", list(odd_things()))
def test_what_is_neither_file_nor_folder_is_refused(files: Path, store: Cache, kind: str) -> None:
    if kind == "fifo":
        os.mkfifo(files / "odd")
    else:
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(str(files / "odd"))
    with pytest.raises(ContractFault, match="odd is a FIFO, a socket or a device"):
        take(files, store)


def test_what_cannot_be_read_is_refused_by_name(ordinary_user: Path) -> None:
    folder = ordinary_user / "repo"
    folder.mkdir()
    (folder / "closed").write_text("x")
    (folder / "closed").chmod(0)
    with pytest.raises(ContractFault, match="closed cannot be read: Permission denied"):
        take(folder, Cache(ordinary_user / "store"))


def test_a_folder_that_cannot_be_listed_is_refused_by_name(ordinary_user: Path) -> None:
    (ordinary_user / "repo/closed").mkdir(parents=True)
    (ordinary_user / "repo/closed").chmod(0)
    with pytest.raises(ContractFault, match="closed/ cannot be read: Permission denied"):
        take(ordinary_user / "repo", Cache(ordinary_user / "store"))
    (ordinary_user / "repo/closed").chmod(0o700)


@pytest.mark.parametrize("target", ["/etc", "..", "loop"])
def test_a_symlink_out_or_round_is_refused(files: Path, store: Cache, target: str) -> None:
    (files / "loop").symlink_to(target)
    with pytest.raises(ContractFault, match="the symlink loop"):
        take(files, store)


@pytest.mark.parametrize(
    ("caps", "message"), [(Caps(entries=1), "more than 1 files"), (Caps(bytes=3), "more than 3 bytes")]
)
def test_beyond_the_caps_is_refused(files: Path, caps: Caps, message: str) -> None:
    with pytest.raises(ContractFault, match=message):
        materialise(tree_items(files), None, caps)


@pytest.mark.parametrize(
    "path", ["/a", "../a", "a/../../b", "a//b", "a/./b", "", ".", "a/", "x" * 300, "a\0b"]
)
def test_a_name_that_no_file_has_is_refused(tmp_path: Path, path: str) -> None:
    (tmp_path / "tree").mkdir()
    with pytest.raises(ContractFault):
        materialise([Item(path, "file")], tmp_path / "tree")
    assert list((tmp_path / "tree").iterdir()) == []


@pytest.mark.parametrize(
    "items",
    [
        [Item("a", "file"), Item("a", "file")],
        [Item("a", "file"), Item("a/b", "file")],
        [Item("a/b", "file"), Item("a", "file")],
        [Item("a", "symlink", target="."), Item("a/b", "file")],
        [Item("a", "symlink", target="."), Item("a/b/c", "dir")],
        [Item("a", "dir"), Item("a", "symlink", target="b")],
        [Item("a", "file"), Item("a", "dir")],
    ],
)
def test_two_things_of_one_name_are_refused(tmp_path: Path, items: list[Item]) -> None:
    (tmp_path / "tree").mkdir()
    with pytest.raises(ContractFault, match=r"twice|both a file and a directory"):
        materialise(items, tmp_path / "tree")


NAMES = st.text("abc.é ", min_size=1, max_size=4).filter(lambda name: name not in {".", ".."})


@settings(max_examples=50)
@given(st.dictionaries(NAMES, st.dictionaries(NAMES, st.binary(max_size=20), max_size=3), max_size=4))
def test_what_is_written_is_what_was_hashed(
    tmp_path_factory: pytest.TempPathFactory, tree: dict[str, dict[str, bytes]]
) -> None:
    folder = tmp_path_factory.mktemp("tree")
    items = [Item(top, "dir") for top in tree]
    items += [
        Item(f"{top}/{name}", "file", chunks=(data,))
        for top, files in tree.items()
        for name, data in files.items()
    ]
    hashed = materialise(items, None)
    assert materialise(items, folder) == hashed == materialise(tree_items(folder), None)


def test_a_content_root_tells_kinds_and_borders_apart() -> None:
    file = Entry("file", "644", 0, "0" * 64)
    roots = {
        content_root(entries)
        for entries in (
            {},
            {"a": file},
            {"b": file},
            {"a": Entry("file", "755", 0, "0" * 64)},
            {"a": Entry("dir")},
            {"a": Entry("symlink", target="b")},
            {"a": Entry("symlink", target="c")},
            {"a": file, "b": file},
            {"ab": file},
        )
    }
    assert len(roots) == 9

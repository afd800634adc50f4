"""Which entries of a change are written on the bench, and with which finding the others stay behind."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from authoring import Author
from steelyard.bench.rebuild import BenchFiles, hidden_modules, hidden_places, laid_entries, rebuild
from steelyard.contract.load import load_contract
from steelyard.environment.prepare import Environment
from steelyard.environment.setup_layer import SetupLayer
from steelyard.evidence.change.change import Change, ChangeEntry
from steelyard.evidence.folder.blobs import Blobs
from steelyard.filesystem.cache import Cache
from steelyard.filesystem.tree import Entry
from steelyard.graders.catalogue import installed_catalogue

FILES = {
    "repo/tests/test_add.py": "def test_add(): pass\n",
    "repo/lib/words.txt": "one\n",
    "hidden/probe.sh": "true\n",
}
ORACLE = {
    "checks": [
        {"id": "c", "cmd": "sh t/probe.sh", "inject": [{"src": "hidden/probe.sh", "dest": "t/probe.sh"}]}
    ]
}
Build = Callable[..., BenchFiles]


@pytest.fixture
def blobs(tmp_path: Path) -> Blobs:
    return Blobs(tmp_path / "blobs")


@pytest.fixture
def environment(author: Author, tmp_path: Path) -> Callable[..., Environment]:
    """Nothing runs here, so there is no backend."""
    cache = Cache(tmp_path / "store")

    def make(setup: SetupLayer | None = None, **keys: Any) -> Environment:
        contract = load_contract(author.write(FILES, oracle=ORACLE, **keys), installed_catalogue(), cache)
        backend: Any = None
        return Environment(contract, backend, "fake", (), setup, cache)

    return make


@pytest.fixture
def rebuilt(environment: Callable[..., Environment], blobs: Blobs) -> Build:
    """Path -> new content (None: deleted, a Path: a link there) -> what of it is written."""

    def build(
        changed: Mapping[str, str | Path | None], setup: SetupLayer | None = None, **keys: Any
    ) -> BenchFiles:
        made = environment(setup, **keys)
        entries = tuple(
            ChangeEntry(path, made.baseline.get(path), side(new, blobs)) for path, new in changed.items()
        )
        return rebuild(made, Change(made.contract.snapshot.root, entries), blobs)

    return build


def side(new: str | Path | None, blobs: Blobs) -> Entry | None:
    if new is None:
        return None
    if isinstance(new, Path):
        return Entry("symlink", "777", 0, "", str(new))
    stored = blobs.put_bytes(new.encode())
    return Entry("file", "644", stored.size, stored.sha256)


def overlays(rebuilt: BenchFiles) -> set[tuple[str, str]]:
    return {(one.path, one.kind) for one in rebuilt.overlays}


def found(rebuilt: BenchFiles) -> set[tuple[str, str]]:
    return {(one.id, one.where) for one in rebuilt.findings}


def test_work_is_written_without_a_finding(rebuilt: Build) -> None:
    made = rebuilt({"add.sh": "echo 5\n", "new/more.sh": "true\n", "README.md": None})
    assert overlays(made) == {("add.sh", "file"), ("new/more.sh", "file"), ("README.md", "gone")}
    assert found(made) == set()


def test_deletions_come_first(rebuilt: Build) -> None:
    made = rebuilt({"add.sh": "echo 5\n", "README.md": None})
    assert [one.kind for one in made.overlays] == ["gone", "file"]


def test_a_file_that_steers_a_runner_stays_behind(rebuilt: Build) -> None:
    made = rebuilt({"conftest.py": "import os; os._exit(0)\n", "add.sh": "echo 5\n"})
    assert overlays(made) == {("add.sh", "file")}
    assert found(made) == {("steers_runner", "conftest.py")}


def test_a_file_that_steers_is_written_where_the_contract_lists_it(rebuilt: Build) -> None:
    made = rebuilt({"conftest.py": "x = 1\n"}, runner_files=["conftest.py"])
    assert overlays(made) == {("conftest.py", "file")}


def test_a_link_out_of_the_tree_stays_behind(rebuilt: Build) -> None:
    made = rebuilt({"out.txt": Path("../../etc/passwd"), "in.txt": Path("lib/words.txt")})
    assert overlays(made) == {("in.txt", "symlink")}
    assert found(made) == {("escaping_symlink_dropped", "out.txt")}


def test_a_link_to_where_hidden_files_go_stays_behind(rebuilt: Build) -> None:
    made = rebuilt({"answer.txt": Path("t/probe.sh")})
    assert overlays(made) == set()
    assert found(made) == {("leads_to_hidden", "answer.txt")}


def test_a_file_where_a_hidden_file_goes_is_written_and_noted(rebuilt: Build) -> None:
    made = rebuilt({"t/probe.sh": "true\n"})
    assert found(made) == {("at_hidden_place", "t/probe.sh")}


def test_what_setup_made_stays_as_setup_made_it(rebuilt: Build, tmp_path: Path) -> None:
    setup = SetupLayer(tmp_path, tmp_path, "", Change(""), "offline", ("deps",), "")
    made = rebuilt({"deps/tool": "true\n", "add.sh": "echo 5\n"}, setup)
    assert overlays(made) == {("add.sh", "file")}
    assert found(made) == {("setup_layer_changed", "deps/tool")}


def test_a_file_over_an_import_cap_has_no_content_to_lay(blobs: Blobs) -> None:
    entry = ChangeEntry("huge", None, Entry("file", "644", 1 << 40, ""))
    assert laid_entries([entry], blobs) == ()


def test_an_empty_folder_is_not_written_and_takes_the_place_of_no_file(blobs: Blobs) -> None:
    folder, file = Entry("dir", "755", 0, ""), Entry("file", "644", 0, "0" * 64)
    assert laid_entries([ChangeEntry("made", None, folder)], blobs) == ()
    (gone,) = laid_entries([ChangeEntry("turned", file, folder)], blobs)
    assert (gone.path, gone.kind) == ("turned", "gone")


def test_a_rename_removes_the_old_name(blobs: Blobs) -> None:
    stored = blobs.put_bytes(b"x")
    file = Entry("file", "755", 1, stored.sha256)
    pieces = laid_entries([ChangeEntry("b", file, file, renamed_from="a")], blobs)
    assert [(one.path, one.kind) for one in pieces] == [("a", "gone"), ("b", "file")]


def test_hidden_files_are_known_by_their_places_and_their_files(
    environment: Callable[..., Environment],
) -> None:
    contract = environment().contract
    assert hidden_places(contract) == ("t/probe.sh",)
    assert hidden_modules(contract) == {"t/probe.sh"}

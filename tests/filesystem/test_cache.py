"""Folders are made once and whole, also if several processes ask and one of them dies."""

from __future__ import annotations

import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from steelyard.errors import InfraFault
from steelyard.filesystem.cache import Cache
from steelyard.filesystem.owner import owner_tag
from steelyard.filesystem.remove import remove_tree

BUILD = """
import sys, time
from pathlib import Path
from steelyard.filesystem.cache import Cache
def builder(folder):
    (folder / "half").write_text("x")
    (Path(sys.argv[1]) / "started").touch()
    time.sleep(float(sys.argv[2]))
    (folder / "who").write_text("child")
print(Cache(Path(sys.argv[1])).build("kind", "key", builder))
"""


def child(root: Path, seconds: float) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", BUILD, str(root), str(seconds)], stdout=subprocess.PIPE, text=True
    )


def wait_for(path: Path, process: subprocess.Popen[str]) -> None:
    while not path.exists():
        assert process.poll() is None
        time.sleep(0.01)


def test_a_folder_is_built_once(store: Cache) -> None:
    built: list[Path] = []

    def builder(folder: Path) -> None:
        built.append(folder)
        (folder / "x").write_text("1")

    first = store.build("kind", "key", builder)
    assert store.build("kind", "key", builder) == first == store.root / "kind/key"
    assert (first / "x").read_text() == "1"
    assert len(built) == 1


def test_threads_that_ask_together_build_once(store: Cache) -> None:
    built: list[Path] = []

    def builder(folder: Path) -> None:
        built.append(folder)
        time.sleep(0.05)

    with ThreadPoolExecutor(16) as pool:
        found = set(pool.map(lambda _: store.build("kind", "key", builder), range(16)))
    assert found == {store.root / "kind/key"}
    assert len(built) == 1


def test_processes_that_ask_together_get_the_same_folder(tmp_path: Path) -> None:
    children = [child(tmp_path, 0.05) for _ in range(6)]
    assert {process.communicate()[0].strip() for process in children} == {str(tmp_path / "kind/key")}
    assert list((tmp_path / "tmp").iterdir()) == []


def test_a_failed_build_leaves_nothing(store: Cache) -> None:
    def builder(folder: Path) -> None:
        (folder / "x").write_text("1")
        raise KeyError("no")

    with pytest.raises(KeyError):
        store.build("kind", "key", builder)
    assert not (store.root / "kind/key").exists()
    assert list((store.root / "tmp").iterdir()) == []


def test_a_builder_killed_in_the_middle_is_swept_and_built_again(tmp_path: Path) -> None:
    process = child(tmp_path, 600)
    wait_for(tmp_path / "started", process)
    process.kill()
    process.communicate()
    (left,) = (tmp_path / "tmp").iterdir()
    assert Cache(tmp_path).sweep() == [left.name]

    def builder(folder: Path) -> None:
        (folder / "who").write_text("parent")

    made = Cache(tmp_path).build("kind", "key", builder)
    assert (made / "who").read_text() == "parent"
    assert not (made / "half").exists()


def test_a_sweep_leaves_what_is_being_built(tmp_path: Path) -> None:
    process = child(tmp_path, 1)
    wait_for(tmp_path / "started", process)
    assert Cache(tmp_path).sweep() == []
    assert process.communicate()[0].strip() == str(tmp_path / "kind/key")


def test_a_sweep_leaves_what_is_not_ours(store: Cache) -> None:
    (store.root / "tmp/notes").mkdir(parents=True)
    (store.root / "tmp" / f"{owner_tag()}-x").mkdir()
    assert store.sweep() == []


def test_directories_without_permissions_are_removed(ordinary_user: Path) -> None:
    (ordinary_user / "top/work/inner").mkdir(parents=True)
    (ordinary_user / "top/work/inner").chmod(0)
    (ordinary_user / "top/work").chmod(0)
    remove_tree(ordinary_user / "top")
    assert not (ordinary_user / "top").exists()


def test_what_a_symlink_leads_to_is_not_removed(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir(mode=0o500)
    (tmp_path / "top").mkdir()
    (tmp_path / "top/link").symlink_to(tmp_path / "kept")
    remove_tree(tmp_path / "top")
    assert (tmp_path / "kept").stat().st_mode & 0o777 == 0o500


def test_a_cache_that_cannot_be_written_is_this_machines_fault(ordinary_user: Path) -> None:
    (ordinary_user / "closed").mkdir(mode=0o500)
    with pytest.raises(InfraFault, match="STEELYARD_CACHE"):
        Cache(ordinary_user / "closed").build("kind", "key", lambda _: None)


@pytest.mark.parametrize("name", ["", "..", "a/b", ".hidden", "a\0b", "a\n"])
def test_a_key_is_one_plain_name(store: Cache, name: str) -> None:
    with pytest.raises(ValueError, match="name"):
        store.build("kind", name, lambda _: None)


def test_the_root_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("STEELYARD_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert Cache.default().root == tmp_path / ".cache/steelyard"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert Cache.default().root == tmp_path / "xdg/steelyard"
    monkeypatch.setenv("STEELYARD_CACHE", str(tmp_path / "own"))
    assert Cache.default().root == tmp_path / "own"

"""The importer for somebody who is not root, and where the machine itself fails."""

from __future__ import annotations

import ctypes
import os
import shutil
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

from steelyard.errors import InfraFault
from steelyard.evidence.change.captured_tree import CapturedTree
from steelyard.evidence.change.change import Change
from steelyard.evidence.change.importer import Caps, import_folder, import_workspace
from steelyard.evidence.change.oddities import escapes, fold_name, odd_name
from steelyard.evidence.folder.blobs import Blobs

ORDINARY = 60700


def as_ordinary_user(action: Callable[[], bytes]) -> bytes:
    """What `action` returns in a child process of another user."""
    reader, writer = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # newer Pythons warn of fork; this child starts no thread
        child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setresgid(ORDINARY, ORDINARY, ORDINARY)
            os.setresuid(ORDINARY, ORDINARY, ORDINARY)
            ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)  # dumpable again: /proc/self is then ours
            os.write(writer, action())
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as stream:
        data = stream.read()
    os.waitpid(child, 0)
    return data


@pytest.fixture
def trees(tmp_path: Path) -> tuple[Path, Path]:
    new, old = tmp_path / "new", tmp_path / "old"
    for root in (new, old):
        (root / "src").mkdir(parents=True)
        (root / "src/a.py").write_text("a\n")
    return new, old


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_an_ordinary_user_reads_what_its_agent_shut() -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as root:
        change = _capture_shut_tree(Path(root))
    assert [entry.path for entry in change.entries] == ["dark/deep/f", "list/f", "noexec/f"]
    assert [entry.new.mode for entry in change.entries if entry.new] == ["644", "644", "644"]
    assert change.complete


def _capture_shut_tree(root: Path) -> Change:
    root.chmod(0o755)
    new, old = root / "new", root / "old"
    old.mkdir()
    for name in ("dark/deep", "noexec", "list"):
        (new / name).mkdir(parents=True)
        (new / name / "f").write_text(name)
    views = [os.open(path, os.O_RDONLY | os.O_DIRECTORY) for path in (new, old)]
    for path in [new, old, *new.rglob("*")]:
        os.chown(path, ORDINARY, ORDINARY)
    for name, mode in (
        ("dark/deep/f", 0),
        ("dark/deep", 0),
        ("dark", 0),
        ("noexec", 0o600),
        ("list", 0o100),
        ("", 0),
    ):
        (new / name).chmod(mode)
    captured_tree = CapturedTree(workspace=views[0], baseline=views[1])
    data = as_ordinary_user(lambda: import_workspace(captured_tree, baseline_root="0", blobs=None).to_bytes())
    for view in views:
        os.close(view)
    return Change.from_bytes(data)


def test_a_full_disk_is_the_machines_fault(trees: tuple[Path, Path]) -> None:
    new, old = trees
    (new / "b").write_text("b\n")

    class Full(Blobs):
        def _keep(self, name: str, sha256: str) -> None:
            raise OSError(28, "No space left on device", name, 0, sha256)

    with pytest.raises(InfraFault, match="No space left"):
        import_folder(new, old, baseline_root="0", blobs=Full(new.parent / "blobs"))
    assert list((new.parent / "blobs").glob(".tmp-*")) == []


def test_without_blobs_contents_are_hashed_and_nothing_is_stored(trees: tuple[Path, Path]) -> None:
    new, old = trees
    (new / "b").write_text("b\n")
    [entry] = import_folder(new, old, baseline_root="0", blobs=None).entries
    assert entry.new is not None
    assert len(entry.new.sha256) == 64


def test_entries_and_findings_are_in_byte_order(trees: tuple[Path, Path]) -> None:
    new, old = trees
    for name in ("b", "B", "é", "\udcff", "a", "a.b", "a-b"):
        (new / name).write_text(name.encode(errors="replace").decode())
    change = import_folder(new, old, baseline_root="0", blobs=None)
    paths = [entry.path for entry in change.entries]
    assert paths == sorted(paths, key=os.fsencode)
    assert list(change.findings) == sorted(change.findings, key=lambda one: (one.id, one.where, one.why))


def test_a_deleted_folder_takes_everything_below_it(trees: tuple[Path, Path]) -> None:
    new, old = trees
    (old / "gone/deep").mkdir(parents=True)
    (old / "gone/deep/f").write_text("f")
    change = import_folder(new, old, baseline_root="0", blobs=None)
    assert [entry.path for entry in change.entries] == ["gone", "gone/deep", "gone/deep/f"]
    assert change.changed_paths == ("gone/deep/f",)


def test_no_descriptor_is_left_open(trees: tuple[Path, Path]) -> None:
    new, old = trees
    shutil.copytree(old / "src", new / "more")
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208 (counts)
    import_folder(new, old, baseline_root="0", blobs=None, caps=Caps(visits=3))
    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208


def test_the_baseline_is_not_touched(trees: tuple[Path, Path]) -> None:
    new, old = trees
    before = [(path, path.lstat()) for path in sorted(old.rglob("*"))]
    shutil.rmtree(new / "src")
    import_folder(new, old, baseline_root="0", blobs=None)
    after = [(path, path.lstat()) for path in sorted(old.rglob("*"))]
    assert [(path, one.st_mtime_ns, one.st_mode) for path, one in before] == [
        (path, one.st_mtime_ns, one.st_mode) for path, one in after
    ]


@pytest.mark.parametrize(
    ("path", "target", "leads_out"),
    [
        ("a", "b", False),
        ("a", "..", True),
        ("d/a", "..", False),
        ("d/a", "../..", True),
        ("a", "/", True),
        ("a", "b/..", True),
    ],
)
def test_a_link_leads_out_if_it_might(path: str, target: str, leads_out: bool) -> None:  # noqa: FBT001 (a row)
    assert escapes(path, target) is leads_out


def test_names_fold_as_careless_file_systems_fold_them() -> None:
    assert fold_name("STRASSE") == fold_name("straße")
    assert fold_name("Ａ") == "a"
    assert fold_name("e\u0301") == fold_name("é")
    assert odd_name("plain.py") == ""

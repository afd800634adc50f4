"""Whatever an agent does to its workspace, the capture says exactly what a slow and obvious walk says."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest
from capture_stage import ROOT, overlay, run_git
from naive_walk import difference, unfolded, walk
from random_edits import edit, make_baseline

from steelyard.evidence.change.captured_tree import CapturedTree
from steelyard.evidence.change.importer import import_folder, import_workspace
from steelyard.evidence.folder.blobs import Blobs

EDITOR = str(Path(__file__).with_name("random_edits.py"))


@pytest.mark.parametrize("seed", range(100))
def test_no_edit_of_a_copied_workspace_is_missed_or_invented(tmp_path: Path, seed: int) -> None:
    """An agent edits a plain copy of the tree at random; the change is the difference of two naive walks."""
    make_baseline(seed, tmp_path / "old")
    shutil.copytree(tmp_path / "old", tmp_path / "new", symlinks=True)
    edit(seed, tmp_path / "new")
    change = import_folder(
        tmp_path / "new", tmp_path / "old", baseline_root=ROOT, blobs=Blobs(tmp_path / "blobs")
    )
    assert change.complete
    assert unfolded(change) == difference(walk(tmp_path / "old"), walk(tmp_path / "new"))


@pytest.mark.parametrize("seed", range(100))
def test_no_edit_of_an_overlay_is_missed_or_invented(tmp_path: Path, seed: int) -> None:
    """An agent edits an overlay at random, renamed and recreated directories too; the upper guides, and never misleads."""
    make_baseline(seed, tmp_path / "old")
    (tmp_path / "scratch").mkdir()
    blobs = Blobs(tmp_path / "blobs")
    with overlay(tmp_path / "old", tmp_path / "scratch", sys.executable, EDITOR, str(seed)) as captured_tree:
        change = import_workspace(captured_tree, baseline_root=ROOT, blobs=blobs)
        unguided = import_workspace(
            CapturedTree(captured_tree.workspace, captured_tree.baseline), baseline_root=ROOT, blobs=blobs
        )
        new = walk(Path(f"/proc/self/fd/{captured_tree.workspace}"))
    assert unfolded(change) == difference(walk(tmp_path / "old"), new)
    assert change == unguided
    for entry in change.entries:
        assert entry.new is None or entry.new.kind != "file" or entry.new.sha256 in blobs


@pytest.mark.parametrize("seed", range(200, 225))
def test_the_changed_files_are_those_that_git_sees_when_nothing_is_hidden_from_it(
    tmp_path: Path, seed: int
) -> None:
    """`git add -A -f` into a repository of our own names the same files as the capture."""
    make_baseline(seed, tmp_path / "old")
    shutil.copytree(tmp_path / "old", tmp_path / "new", symlinks=True)
    edit(seed, tmp_path / "new")
    for tree in (tmp_path / "old", tmp_path / "new"):
        _without_git(tree)
    change = import_folder(tmp_path / "new", tmp_path / "old", baseline_root=ROOT, blobs=None)
    files = {
        path for path, sides in unfolded(change).items() if any(side and side.kind != "dir" for side in sides)
    }
    assert files == _seen_by_git(tmp_path)


def _without_git(tree: Path) -> None:
    for path in sorted(tree.rglob(".git"), reverse=True):
        shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()


def _seen_by_git(root: Path) -> set[str]:
    run_git(root, "init", "--quiet", "--bare", "own")
    trees = []
    for name in ("old", "new"):
        own = (f"--git-dir={root / 'own'}", f"--work-tree={root / name}")
        run_git(root / name, *own, "add", "--all", "--force")
        trees.append(run_git(root / name, *own, "write-tree"))
    listed = run_git(
        root, f"--git-dir={root / 'own'}", "diff-tree", "-r", "-z", "--name-only", "--no-renames", *trees
    )
    return {name for name in listed.split("\0") if name}

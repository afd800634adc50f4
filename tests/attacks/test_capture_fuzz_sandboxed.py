"""A hundred agents edit a real sandbox's workspace at random; the capture, a naive walk and git agree on each.

Some more do it in containers: each has an image of its own there, and takes its time.
"""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from pathlib import Path

import pytest
from capture_stage import ROOT, run_git
from containers import in_image
from naive_walk import difference, unfolded, walk
from random_edits import make_baseline

from steelyard.evidence.change.captured_tree import CapturedTree
from steelyard.evidence.change.change import Change
from steelyard.evidence.change.importer import import_workspace
from steelyard.filesystem.owner import run_uid
from steelyard.sandboxes.base import Command, Limits, SandboxSpec
from steelyard.sandboxes.catalogue import backend
from steelyard.sandboxes.toolchains import resolve

EDITOR = Path(__file__).with_name("random_edits.py").read_text()
SMALL = Limits(cpu=2, memory_mb=256, guaranteed_mb=64, disk_mb=16, tmp_mb=4, processes=64)
SEQUENCES, AT_ONCE, IN_CONTAINERS = (200 if os.environ.get("CASES") == "all" else 100), 25, 8


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STEELYARD_CACHE", str(tmp_path / "cache"))


@pytest.mark.parametrize(
    ("kind", "seeds"),
    [
        *(("bubblewrap", range(first, first + AT_ONCE)) for first in range(1000, 1000 + SEQUENCES, AT_ONCE)),
        ("docker", range(2000, 2000 + IN_CONTAINERS)),
    ],
    ids=str,
)
def test_no_edit_in_a_sandbox_is_missed_or_invented(tmp_path: Path, kind: str, seeds: range) -> None:
    """An agent renames, replaces, recreates, links and locks whatever it finds; none of it escapes the capture."""
    own = tmp_path / "git"
    run_git(tmp_path, "init", "--quiet", "--bare", "--template=", str(own))
    for seed in seeds:
        old = tmp_path / str(seed)
        make_baseline(seed, old)
        _own(old)
        with backend(kind).start(_sandbox_spec(old, kind)) as sandbox:
            done = sandbox.run(Command(("python3", "-c", EDITOR, str(seed))))
            assert done.exit_code == 0, done.stderr.text
            sandbox.stop()
            captured_tree = sandbox.captured_tree()
            change = import_workspace(captured_tree, baseline_root=ROOT, blobs=None)
            assert change.complete
            assert unfolded(change) == difference(walk(old), walk(_path(captured_tree))), seed
            new = _copied(_path(captured_tree), tmp_path / f"{seed}.new")
        assert _files(change) == _seen_by_git(own, old, new), seed
        for tree in (old, new):
            shutil.rmtree(tree)


def _sandbox_spec(layer: Path, kind: str) -> SandboxSpec:
    if kind == "docker":
        return in_image(SandboxSpec(layers=(layer,), limits=SMALL))
    (python,) = resolve({"python": "3"})
    prefixes = (python.prefix,) if python.prefix else ()
    return SandboxSpec(layers=(layer,), limits=SMALL, toolchains=prefixes, links=python.binaries)


def _own(root: Path) -> None:
    if os.geteuid() == 0:
        for path in (root, *root.rglob("*")):
            os.chown(path, run_uid(), run_uid(), follow_symlinks=False)


def _path(captured_tree: CapturedTree) -> Path:
    return Path(f"/proc/{os.getpid()}/fd/{captured_tree.workspace}/.")


def _files(change: Change) -> set[str]:
    return {
        path for path, sides in unfolded(change).items() if any(side and side.kind != "dir" for side in sides)
    }


def _copied(tree: Path, place: Path) -> Path:
    with suppress(shutil.Error):  # FIFOs: git does not see them either
        shutil.copytree(tree, place, symlinks=True)
    return place


def _without_git(tree: Path) -> None:
    for path in sorted(tree.rglob(".git"), reverse=True):
        shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()


def _seen_by_git(own: Path, old: Path, new: Path) -> set[str]:
    """What `git add -A -f` into a repository of our own says of the two trees."""
    trees = []
    for tree in (old, new):
        (own / "index").unlink(missing_ok=True)
        _without_git(tree)
        git = (f"--git-dir={own}", f"--work-tree={tree}")
        run_git(tree, *git, "add", "--all", "--force")
        trees.append(run_git(tree, *git, "write-tree"))
    listed = run_git(old, f"--git-dir={own}", "diff-tree", "-r", "-z", "--name-only", "--no-renames", *trees)
    return {name for name in listed.split("\0") if name}

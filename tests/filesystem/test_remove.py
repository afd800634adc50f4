"""Removing what an agent wrote: however deep it dug, nothing is left, and nothing else is touched."""

from __future__ import annotations

import os
from pathlib import Path

from steelyard.filesystem.remove import remove_tree
from steelyard.sandboxes.base import FileOverlay
from steelyard.sandboxes.write_files import write_files

DEEP = 5000  # more than any recursion or path allows


def dig(top: Path) -> None:
    here = os.open(top, os.O_RDONLY)
    for _ in range(DEEP):
        os.mkdir("d", dir_fd=here)
        below = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)


def test_a_chain_of_folders_goes(tmp_path: Path) -> None:
    top = tmp_path / "top"
    top.mkdir()
    dig(top)
    remove_tree(top)
    assert not top.exists()


def test_locked_folders_go(tmp_path: Path) -> None:
    top = tmp_path / "top"
    (top / "a/b/c").mkdir(parents=True)
    (top / "a/b/c/file").touch()
    for path in ("a/b/c", "a/b", "a"):
        (top / path).chmod(0)
    remove_tree(top)
    assert not top.exists()


def test_names_that_look_like_ours_are_no_trap(tmp_path: Path) -> None:
    top = tmp_path / "top"
    for name in (".1", ".2", "x/.1", "x/y/.2", ".3/.1/.2"):
        (top / name / "full").mkdir(parents=True)
    remove_tree(top)
    assert not top.exists()


def test_a_symlinks_target_stays(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/file").touch()
    top = tmp_path / "top"
    (top / "sub").mkdir(parents=True)
    (top / "sub/link").symlink_to(tmp_path / "outside")
    (top / "link").symlink_to(tmp_path / "outside")
    remove_tree(top)
    assert (tmp_path / "outside/file").exists()


def test_what_is_not_there_is_fine(tmp_path: Path) -> None:
    remove_tree(tmp_path / "nothing")


def test_laying_a_deep_tree_takes_one_step_a_piece(tmp_path: Path) -> None:
    """The number of open calls is linear in the depth: counted, not timed."""
    top = tmp_path / "top"
    top.mkdir()
    root = os.open(top, os.O_RDONLY)
    depth = 1500
    calls = 0
    real = os.open

    def counting(*arguments: object, **named: object) -> int:
        nonlocal calls
        calls += 1
        return real(*arguments, **named)  # type: ignore[arg-type]

    os.open = counting
    try:
        write_files(root, [FileOverlay("/".join("d" * level), "dir") for level in range(1, depth + 1)], None)
    finally:
        os.open = real
        os.close(root)
    assert calls < 5 * depth
    remove_tree(top)

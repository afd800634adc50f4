"""A rendered patch: git applies it and gets the final tree; what git cannot carry is said."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from steelyard.evidence.change import render
from steelyard.evidence.change.change import Change
from steelyard.evidence.change.importer import import_folder
from steelyard.evidence.change.render import render_patch
from steelyard.evidence.folder.blobs import Blobs
from steelyard.filesystem import trusted_git

NAMES = ("a", "b.py", "c d", "é", 'q"uote', "tab\there", "new\nline", "back\\slash", "\udcff", "-dash")
CONTENTS = (
    b"",
    b"x",
    b"x\n",
    b"\0\1\2",
    b"crlf\r\n",
    b"diff --git a/a b/a\n",
    b"".join(b"%d\n" % n for n in range(40)),
)


class Trees:
    def __init__(self, root: Path) -> None:
        self.old, self.new, self.blobs = root / "old", root / "new", Blobs(root / "blobs")
        self.old.mkdir()
        self.new.mkdir()

    def change(self) -> Change:
        return import_folder(self.new, self.old, baseline_root="0" * 64, blobs=self.blobs)


@pytest.fixture
def trees(tmp_path: Path) -> Trees:
    return Trees(tmp_path)


def fill(root: Path, draw: random.Random) -> None:
    for _ in range(draw.randrange(1, 9)):
        path = root.joinpath(*draw.choices(NAMES, k=draw.randrange(1, 3)))
        if not path.parent.is_symlink() and (path.parent.is_dir() or not path.parent.exists()):
            path.parent.mkdir(exist_ok=True)
            if os.path.lexists(path):
                continue
            if draw.random() < 0.2:
                path.symlink_to(draw.choice(["a", "../x", "/y"]))
            else:
                path.write_bytes(draw.choice(CONTENTS))
                path.chmod(draw.choice([0o644, 0o755]))


def files(root: Path) -> dict[str, tuple[bool, bytes]]:
    """Every file and link: executable or not, bytes or target."""
    found = {}
    for folder, folders, names in os.walk(root):
        for name in [*names, *(name for name in folders if (Path(folder) / name).is_symlink())]:
            path = Path(folder) / name
            link = path.is_symlink()
            body = os.fsencode(os.readlink(path)) if link else path.read_bytes()  # noqa: PTH115 (bytes survive)
            found[str(path.relative_to(root))] = (not link and bool(path.stat().st_mode & 0o100), body)
    return found


@pytest.mark.parametrize("seed", range(40))
def test_git_applies_the_patch_and_gets_the_final_tree(trees: Trees, tmp_path: Path, seed: int) -> None:
    draw = random.Random(seed)
    fill(trees.old, draw)
    shutil.rmtree(trees.new)
    shutil.copytree(trees.old, trees.new, symlinks=True)
    for path in sorted(trees.new.rglob("*"), key=os.fsencode):
        if path.is_file() and not path.is_symlink() and draw.random() < 0.4:
            if draw.random() < 0.5:
                path.unlink()
            else:
                path.write_bytes(draw.choice(CONTENTS))
    fill(trees.new, draw)
    patch = render_patch(trees.change(), trees.blobs).patch
    (tmp_path / "patch").write_bytes(patch)
    if b"diff --git" in patch:
        subprocess.run(
            ["git", "apply", "--whitespace=nowarn", str(tmp_path / "patch")], cwd=trees.old, check=True
        )
    assert files(trees.old) == files(trees.new)


def test_an_empty_change_is_an_empty_patch_without_git(trees: Trees, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trusted_git, "run_git", None)
    assert render_patch(trees.change(), trees.blobs) == (b"", {})


def test_a_similar_file_is_a_rename_that_the_caller_learns_of(trees: Trees) -> None:
    text = "".join(f"line {number}\n" for number in range(30))
    (trees.old / "before.py").write_text(text)
    (trees.new / "after.py").write_text(text + "more\n")
    assert render_patch(trees.change(), trees.blobs).renames == {"after.py": "before.py"}


def test_the_same_change_is_always_the_same_patch(trees: Trees) -> None:
    fill(trees.new, random.Random(5))
    change = trees.change()
    assert render_patch(change, trees.blobs) == render_patch(change, trees.blobs)


def test_what_git_cannot_carry_is_said_before_the_first_hunk(trees: Trees) -> None:
    (trees.new / "empty").mkdir()
    (trees.new / "big.bin").write_bytes(bytes(render.FILE_BYTES + 1))
    (trees.new / "a.py").write_text("x\n")
    head, _, rest = render_patch(trees.change(), trees.blobs).patch.partition(b"diff --git")
    assert head.decode().splitlines() == [
        f"# not in this patch: big.bin: {render.FILE_BYTES + 1} bytes",
        "# not in this patch: empty: an empty directory appeared",
    ]
    assert rest.startswith(b" a/a.py b/a.py")


def test_a_patch_that_git_refuses_to_render_says_so(trees: Trees, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trusted_git, "run_git", lambda *_, **__: None)
    (trees.new / "a.py").write_text("x\n")
    assert b"git could not render it" in render_patch(trees.change(), trees.blobs).patch


def test_a_name_with_a_terminal_escape_is_plain_ascii_in_the_patch(trees: Trees) -> None:
    (trees.new / "\x1b[2J\u202e.py").write_text("x\n")
    assert render_patch(trees.change(), trees.blobs).patch.isascii()


def test_nothing_is_left_in_the_temporary_folder(
    trees: Trees, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()
    (trees.new / "a.py").write_text("x\n")
    render_patch(trees.change(), trees.blobs)
    assert list((tmp_path / "tmp").iterdir()) == []
    assert "pygit2" not in sys.modules

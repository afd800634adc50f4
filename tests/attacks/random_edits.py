"""A seed -> a baseline, and a sequence of edits that an agent could make to it.

Links that lead out point at nothing: tests run as root, and an edit through a link to /etc would edit /etc.

Run as a script (`random_edits.py SEED`) it edits the current folder.
"""

from __future__ import annotations

import os
import random
import shutil
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

NAMES = ("a", "b", "c", "d", "e.py", "f.txt", "é", "g h", ".git", "n\nl", "\udcff")


def make_baseline(seed: int, root: Path) -> None:
    """Folders three deep, with files, links, empty folders and executables."""
    draw = random.Random(seed)
    root.mkdir()
    for _ in range(draw.randrange(4, 25)):
        with suppress(OSError):
            path = _path(draw, root)
            path.parent.mkdir(parents=True, exist_ok=True)
            _make(draw, path)


def edit(seed: int, root: Path) -> None:
    draw = random.Random(seed + 1_000_000)
    for _ in range(draw.randrange(1, 20)):
        with suppress(OSError, shutil.Error):
            draw.choice(EDITS)(draw, root)


def _path(draw: random.Random, root: Path) -> Path:
    """Somewhere below `root`, never through a link: these edits must not leave their folder."""
    path = root
    for name in draw.choices(NAMES, weights=[6, 6, 6, 6, 6, 6, 2, 2, 1, 1, 1], k=draw.randrange(1, 4)):
        if path.is_symlink():
            raise OSError
        path /= name
    return path


def _existing(draw: random.Random, root: Path) -> Path:
    paths = [Path(folder) / name for folder, folders, files in os.walk(root) for name in [*folders, *files]]
    return draw.choice(sorted(paths, key=os.fsencode)) if paths else _path(draw, root)


def _plain(draw: random.Random, root: Path) -> Path:
    """A file or folder that is there: writing to a link would follow it, to a FIFO wait for ever."""
    path = _existing(draw, root)
    if path.is_symlink() or path.is_fifo():
        raise OSError
    return path


def _content(draw: random.Random) -> bytes:
    return draw.choice(
        [b"", b"x\n", b"y\n", b"one\ntwo\nthree\nfour\n", draw.randbytes(draw.randrange(1, 200)), b"\0bin"]
    )


def _make(draw: random.Random, path: Path) -> None:
    if path.is_symlink() or path.is_fifo():
        raise OSError  # writing would follow the one and wait for ever at the other
    kind = draw.randrange(8)
    if kind == 0:
        path.symlink_to(
            draw.choice(
                ["a", "../b", "/nonexistent/outside", "../../../../../../../../nonexistent/outside", "."]
            )
        )
    elif kind == 1:
        path.mkdir()
    else:
        path.write_bytes(_content(draw))
        path.chmod(draw.choice([0o644, 0o755, 0o600]))


def _write(draw: random.Random, root: Path) -> None:
    path = _path(draw, root)
    path.parent.mkdir(parents=True, exist_ok=True)
    _make(draw, path)


def _overwrite(draw: random.Random, root: Path) -> None:
    path = _plain(draw, root)
    status = path.lstat()
    path.write_bytes(draw.randbytes(status.st_size))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def _touch(draw: random.Random, root: Path) -> None:
    path = _plain(draw, root)
    path.write_bytes(path.read_bytes())


def _delete(draw: random.Random, root: Path) -> None:
    path = _existing(draw, root)
    shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()


def _recreate(draw: random.Random, root: Path) -> None:
    path = _plain(draw, root)
    shutil.rmtree(path)
    path.mkdir()
    (path / draw.choice(NAMES[:6])).write_bytes(_content(draw))


def _rename(draw: random.Random, root: Path) -> None:
    os.rename(_existing(draw, root), _existing(draw, root) if draw.random() < 0.3 else _path(draw, root))  # noqa: PTH104 (bytes survive)


def _swap(draw: random.Random, root: Path) -> None:
    one, other, between = _existing(draw, root), _existing(draw, root), root / "between"
    one.rename(between)
    other.rename(one)
    between.rename(other)


def _chmod(draw: random.Random, root: Path) -> None:
    _plain(draw, root).chmod(draw.choice([0o644, 0o755, 0o700, 0o4755, 0o000]))


def _link(draw: random.Random, root: Path) -> None:
    os.link(_existing(draw, root), _path(draw, root), follow_symlinks=False)


def _replace_by_folder(draw: random.Random, root: Path) -> None:
    path = _plain(draw, root)
    path.unlink()
    path.mkdir()
    (path / "inside").write_bytes(_content(draw))


def _replace_by_file(draw: random.Random, root: Path) -> None:
    path = _plain(draw, root)
    shutil.rmtree(path)
    path.write_bytes(_content(draw))


def _copy(draw: random.Random, root: Path) -> None:
    source, target = _plain(draw, root), _path(draw, root)
    if not target.is_relative_to(source):  # a folder copied into itself never ends
        shutil.copytree(source, target, symlinks=True)


def _fifo(draw: random.Random, root: Path) -> None:
    os.mkfifo(_path(draw, root))


EDITS: tuple[Callable[[random.Random, Path], None], ...] = (
    *(_write, _write, _overwrite, _touch, _delete, _recreate, _rename, _rename, _rename, _swap),
    *(_chmod, _link, _replace_by_folder, _replace_by_file, _copy, _fifo),
)

if __name__ == "__main__":
    edit(int(sys.argv[1]), Path())

"""A folder that an agent wrote -> nothing, however deep, long-named or locked it is.

Neither recursion nor paths: a chain of 100,000 folders would break both. Every folder below is moved up to the
top, one at a time, so that nothing is ever more than two levels away.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def remove_tree(folder: Path) -> None:
    """Remove a folder of our own and all that is in it; symlinks go, their targets stay."""
    try:
        top = _open(folder)
    except FileNotFoundError:
        return
    try:
        moved = 0
        while below := _remove_files(top):
            for name in below:
                moved = _empty(top, name, moved)
    finally:
        os.close(top)
    folder.rmdir()


def _open(path: Path | str, parent: int | None = None) -> int:
    os.chmod(path, 0o700, dir_fd=parent)  # a folder without permissions can be neither listed nor moved
    return os.open(path, _DIRECTORY, dir_fd=parent)


def _remove_files(directory: int) -> list[str]:
    """Remove everything that is not a folder; the names of the folders."""
    with os.scandir(directory) as entries:
        listed = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
    for name, is_folder in listed:
        if not is_folder:
            os.unlink(name, dir_fd=directory)
    return [name for name, is_folder in listed if is_folder]


def _empty(top: int, name: str, moved: int) -> int:
    """Move the folders in `name` up to the top and remove it; how many were moved so far."""
    here = _open(name, top)
    try:
        for below in _remove_files(here):
            _unlock(below, here)
            moved = _move_up(here, below, top, moved)
    finally:
        os.close(here)
    os.rmdir(name, dir_fd=top)
    return moved


def _unlock(name: str, parent: int) -> None:
    if stat.S_IMODE(os.lstat(name, dir_fd=parent).st_mode) & 0o700 != 0o700:
        os.chmod(name, 0o700, dir_fd=parent)


def _move_up(here: int, below: str, top: int, moved: int) -> int:
    """Under a name that is free: rename(2) would replace an empty folder of the agent's, which is fine, but fail on a full one."""
    while True:
        moved += 1
        try:
            os.rename(below, f".{moved}", src_dir_fd=here, dst_dir_fd=top)
        except OSError as error:
            if error.errno not in {errno.ENOTEMPTY, errno.EEXIST}:
                raise
        else:
            return moved

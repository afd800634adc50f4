"""A git work tree -> what of it is in no commit: `2 changed, 1 untracked`.

Files are compared by their bytes: no filter, attribute or hook of the repository runs.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from steelyard.contract.snapshot.git_source import git_dir_of
from steelyard.errors import SteelyardError
from steelyard.filesystem.git import GitRefused, git


def uncommitted_changes(path: Path) -> str:
    """Nothing for a clean work tree, a bare repository, a bundle, or what git cannot read."""
    if not (path / ".git").exists():
        return ""
    try:
        git_dir, tree = git_dir_of(path), f"--work-tree={path.absolute()}"
        listed = git(git_dir, tree, "diff-index", "--raw", "-z", "--no-renames", "--abbrev=64", "HEAD", "--")
        others = git(git_dir, tree, "ls-files", "--others", "--exclude-standard", "-z")
    except (GitRefused, SteelyardError, OSError):
        return ""
    words = listed.split(b"\0")[:-1]
    changed = sum(_differs(path, head, name) for head, name in zip(words[::2], words[1::2], strict=False))
    untracked = len(others.split(b"\0")) - 1
    parts = [f"{changed} changed"] if changed else []
    parts += [f"{untracked} untracked"] if untracked else []
    return ", ".join(parts)


def _differs(path: Path, head: bytes, name: bytes) -> bool:
    """Whether a file that git takes to be changed, perhaps by its time alone, has other bytes."""
    _, new_mode, old_id, *_ = head.decode().split()
    file = path / os.fsdecode(name)
    try:
        data = os.fsencode(file.readlink()) if new_mode == "120000" else file.read_bytes()
    except OSError:
        return True
    kind = (
        hashlib.sha1 if len(old_id) == hashlib.sha1(usedforsecurity=False).digest_size * 2 else hashlib.sha256
    )
    return kind(b"blob %d\0" % len(data) + data).hexdigest() != old_id

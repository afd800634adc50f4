"""A git command on a repository that we made ourselves -> its output.

The repository is bare and laid out by hand, the environment empty, every setting that could run or read
something else switched off. Nothing that an agent wrote is ever git's configuration.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import BinaryIO

from steelyard.filesystem.git import git_command, git_env

# Above every .gitattributes: contents are what their bytes say, whatever the change calls them.
_ATTRIBUTES = "* !diff -text -filter -ident -working-tree-encoding -export-ignore -export-subst\n"
# It lives for a moment: nothing in it is made durable, and a pack is not unpacked into a file for each object.
_CONFIGURATION = """\
[core]
    repositoryformatversion = 0
    bare = true
    fsync = none
[fastimport]
    unpackLimit = 0
"""


def make_repository(folder: Path) -> Path:
    for name in ("objects", "refs", "info"):
        (folder / name).mkdir(parents=True)
    (folder / "HEAD").write_text("ref: refs/heads/none\n")
    (folder / "config").write_text(_CONFIGURATION)
    (folder / "info" / "attributes").write_text(_ATTRIBUTES)
    return folder


def run_git(
    repository: Path, *arguments: str, stdin: BinaryIO | None = None, timeout_s: float = 120
) -> bytes | None:
    """What git printed; None when it refused or took too long."""
    try:
        done = subprocess.run(
            # A name in a patch is plain ASCII, safe on any terminal.
            git_command(repository, "-c", "core.quotePath=true", *arguments),
            stdin=stdin or subprocess.DEVNULL,
            capture_output=True,
            env=git_env(repository),
            cwd=repository,
            timeout=timeout_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return None
    return done.stdout if done.returncode == 0 else None

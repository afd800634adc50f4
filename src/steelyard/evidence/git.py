"""A git command on a repository that we made ourselves -> its output.

The repository is bare and laid out by hand, the environment empty, every setting that could run or read
something else switched off. Nothing that an agent wrote is ever git's configuration.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import BinaryIO

from steelyard.errors import InfraFault

_ENVIRONMENT = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C.UTF-8",
}
_SETTINGS = (
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.attributesFile=/dev/null",
    "core.excludesFile=/dev/null",
    "core.pager=cat",
    "core.quotePath=true",  # a name in a patch is then plain ASCII, safe on any terminal
    "protocol.allow=never",
)
# Above every .gitattributes: contents are what their bytes say, whatever the change calls them.
_ATTRIBUTES = "* !diff -text -filter -ident -working-tree-encoding -export-ignore -export-subst\n"


def make_repository(folder: Path) -> Path:
    for name in ("objects", "refs", "info"):
        (folder / name).mkdir(parents=True)
    (folder / "HEAD").write_text("ref: refs/heads/none\n")
    (folder / "config").write_text("[core]\n\trepositoryformatversion = 0\n\tbare = true\n")
    (folder / "info" / "attributes").write_text(_ATTRIBUTES)
    return folder


def run_git(
    repository: Path, *arguments: str, stdin: BinaryIO | None = None, timeout_s: float = 120
) -> bytes | None:
    """What git printed; None when it refused or took too long."""
    settings = [word for setting in _SETTINGS for word in ("-c", setting)]
    try:
        done = subprocess.run(
            ["git", f"--git-dir={repository}", *settings, *arguments],
            stdin=stdin or subprocess.DEVNULL,
            capture_output=True,
            env=_ENVIRONMENT,
            cwd=repository,
            timeout=timeout_s,
            check=False,
        )
    except FileNotFoundError as error:
        raise InfraFault("git is not installed") from error
    except subprocess.TimeoutExpired:
        return None
    return done.stdout if done.returncode == 0 else None

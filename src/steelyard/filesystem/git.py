"""git as a reader and writer of objects, and nothing else.

No configuration, attribute, hook, filter, replacement, graft, helper or remote has any effect:
the repository that a contract names is data. Only plumbing runs, always with an explicit git directory.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from steelyard.errors import InfraFault

_SETTINGS = {
    "core.attributesFile": "/dev/null",
    "core.checkStat": "minimal",
    "core.compression": "1",
    "core.excludesFile": "/dev/null",
    "core.fsmonitor": "false",
    "core.hooksPath": "/dev/null",
    "core.pager": "cat",
    "core.quotePath": "false",
    "core.symlinks": "true",
    "gc.auto": "0",
    "protocol.allow": "never",
}


class GitRefused(Exception):
    """git said no; the caller knows whose fault that is."""


def git_env(git_dir: Path) -> dict[str, str]:
    """The whole environment of every git process."""
    settings = {
        **_SETTINGS,
        "safe.directory": str(git_dir),
    }  # root may read another user's repository: this one
    numbered = {
        name: text
        for number, (key, value) in enumerate(settings.items())
        for name, text in ((f"GIT_CONFIG_KEY_{number}", key), (f"GIT_CONFIG_VALUE_{number}", value))
    }
    return {
        "PATH": "/usr/bin:/bin",
        "HOME": "/nonexistent",
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_CONFIG_COUNT": str(len(settings)),
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_GRAFT_FILE": "/dev/null",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        **numbered,
    }


def git_command(git_dir: Path, *arguments: str) -> list[str]:
    program = shutil.which("git")
    if program is None:
        raise InfraFault("git is not installed (apt-get install git)")
    return [program, f"--git-dir={git_dir}", *arguments]


def git(git_dir: Path, *arguments: str, stdin: bytes = b"") -> bytes:
    """Run one git command to its end; what it printed."""
    done = subprocess.run(
        git_command(git_dir, *arguments), env=git_env(git_dir), input=stdin, capture_output=True, check=False
    )
    if done.returncode != 0:
        words = done.stderr.decode(errors="replace").strip().splitlines()
        raise GitRefused(words[-1] if words else f"git {arguments[0]} exited with {done.returncode}")
    return done.stdout


def new_repository(git_dir: Path, *, object_format: str = "sha1") -> None:
    """An empty bare repository: no template, no hooks, branch main."""
    git(
        git_dir,
        "init",
        "--quiet",
        "--bare",
        "--template=",
        f"--object-format={object_format}",
        "--initial-branch=main",
    )

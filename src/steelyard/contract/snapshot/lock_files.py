"""Paths of a repository -> which of them pin dependencies, and when each was last resolved.

The date of a lock file is that of the last commit that changed it, where the snapshot is a commit. A folder or an archive
has no dates that mean anything: a copy has its own.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

from steelyard.filesystem import git as plain_git

LOCK_FILES = frozenset(
    {
        "requirements.txt",
        "requirements.lock",
        "poetry.lock",
        "uv.lock",
        "Pipfile.lock",
        "pdm.lock",
        "package-lock.json",
        "npm-shrinkwrap.json",
        "yarn.lock",
        "pnpm-lock.yaml",
        "Cargo.lock",
        "go.sum",
        "Gemfile.lock",
        "composer.lock",
        "gradle.lockfile",
    }
)
# What names a package registry or a mirror, as far as a repository has it.
REGISTRY_FILES = frozenset(
    {
        ".npmrc",
        ".yarnrc",
        ".yarnrc.yml",
        "pip.conf",
        "uv.toml",
        ".pypirc",
        "nuget.config",
        "NuGet.Config",
    }
)
MOST_DATED = 20  # each takes a walk through the history


def is_named(path: str, names: frozenset[str]) -> bool:
    return path.rsplit("/", 1)[-1] in names


def lock_dates(git_dir: Path, commit: str, paths: Iterable[str]) -> dict[str, str]:
    """Path -> UTC time of the last commit that changed it; what git does not know is left out."""
    found = {}
    for path in [path for path in paths if is_named(path, LOCK_FILES)][:MOST_DATED]:
        try:
            output = plain_git.git(
                git_dir, "rev-list", "-1", "--timestamp", commit, "--", f":(top,literal){path}"
            )
            found[path] = datetime.fromtimestamp(int(output.split()[0]), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        except (plain_git.GitRefused, ValueError, IndexError, OverflowError):
            continue
    return found

"""A change to a file that also holds settings of a test runner -> those settings, as the snapshot has them.

`pyproject.toml` and `setup.cfg` are part of ordinary work, so they are carried to the bench; but what they say to a
runner (`python_functions = ["smoke_*"]`) is not the candidate's to decide. Our own runner gets the old text.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase

from steelyard.environment.prepare import Environment
from steelyard.sandboxes.base import FileOverlay

NAMES = ("pyproject.toml", "setup.cfg", "pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml", "tox.ini")
MAX_BYTES = 1 << 20


def kept_settings(
    environment: Environment, work: Sequence[FileOverlay], words: Sequence[str]
) -> Mapping[str, str]:
    """The old text of each changed file that may hold settings, or that a command names; "" when it is new."""
    named = {posixpath.normpath(word) for word in words if word.endswith((".ini", ".cfg", ".toml"))}
    changed = [one for one in work if holds_settings(environment, one) or one.path in named]
    return {one.path: _old(environment, one.path) for one in changed}


def without_lost_settings(environment: Environment, work: Sequence[FileOverlay]) -> Iterator[FileOverlay]:
    """A file with settings that the change removed is there again: a runner looks for settings by name."""
    return (one for one in work if one.kind != "gone" or not holds_settings(environment, one))


def holds_settings(environment: Environment, one: FileOverlay) -> bool:
    listed = environment.contract.spec.runner_files
    return one.path.rsplit("/", 1)[-1] in NAMES and not any(fnmatchcase(one.path, name) for name in listed)


def _old(environment: Environment, path: str) -> str:
    old = environment.baseline.get(path)
    if old is None or old.kind != "file" or old.size > MAX_BYTES:
        return ""
    return (environment.contract.snapshot.tree / path).read_text(errors="surrogateescape")

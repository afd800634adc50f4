"""The snapshot's own test files -> those that are written anew in every run of a suite, with or without a change.

A file that is written over the snapshot has another time and another place on disk than one that is not. So that a
twin looks like the real run, both write the same files.
"""

from __future__ import annotations

from collections.abc import Iterator

from steelyard.bench.suite.suite import Suite
from steelyard.bench.transfer.oracle.files import OracleFiles
from steelyard.bench.twin.catalogue import has_twin
from steelyard.environment.prepare import Environment
from steelyard.filesystem.tree import is_within
from steelyard.sandboxes.base import FileOverlay

MAX_FILES = 400
MAX_BYTES = 16 << 20


def snapshot_tests(environment: Environment, theirs: OracleFiles, suite: Suite) -> tuple[FileOverlay, ...]:
    """All of them if they are few, else as many as the command names."""
    found = list(_paths_of_tests(environment, theirs, suite))
    if not _are_few(found, environment):
        named = [word.partition("::")[0].removeprefix("./").rstrip("/") for word in suite.argv]
        named = [f"{suite.cwd}/{word}" if suite.cwd else word for word in named]
        found = [path for path in found if any(is_within(path, word) for word in named)]
    while found and not _are_few(found, environment):
        found = found[: len(found) // 2]
    tree = environment.contract.snapshot.tree
    return tuple(
        FileOverlay(path, "file", mode=environment.baseline[path].mode, source=tree / path) for path in found
    )


def _paths_of_tests(environment: Environment, theirs: OracleFiles, suite: Suite) -> Iterator[str]:
    touched = {entry.path for entry in environment.setup.change.entries} if environment.setup else set()
    for path, entry in environment.baseline.items():
        if entry.kind == "file" and has_twin(path, suite) and path in theirs and path not in touched:
            yield path


def _are_few(paths: list[str], environment: Environment) -> bool:
    return len(paths) <= MAX_FILES and sum(environment.baseline[path].size for path in paths) <= MAX_BYTES

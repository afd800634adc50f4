"""Ids of tests -> the files that they name, and which of those files a tree lacks.

tests/test_a.py::test_x  ->  tests/test_a.py
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence

from steelyard.filesystem.tree import is_within

_SOURCE = re.compile(
    r"\.(py|pyx|[cm]?[jt]sx?|rb|php|rs|go|java|kt|scala|groovy|cs|swift|bats|t|c|cc|cpp|ex|exs)$"
)


def file_of(wanted: str) -> str:
    """The file that an id begins with, or "": `tests/test_a.py::test_x`."""
    file, found, _ = wanted.partition("::")
    return file if found and _SOURCE.search(file) else ""


def without_file(ids: Sequence[str], paths: Iterable[str], places: Collection[str] = ()) -> list[int]:
    """The numbers of the ids whose file is neither in `paths` nor in `places` (files and folders that are added).

    A command may run below the root, so the end of a path is enough.
    """
    ends = {end for path in paths for end in _ends(path)}

    def is_missing(file: str) -> bool:
        if not file or "*" in file or file in ends:
            return False
        return not any(is_within(file, place) or place.endswith(f"/{file}") for place in places)

    return [number for number, one in enumerate(ids) if is_missing(file_of(one))]


def _ends(path: str) -> list[str]:
    return [path, *(path[at + 1 :] for at, char in enumerate(path) if char == "/")]

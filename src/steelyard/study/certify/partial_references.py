"""A reference patch -> the same patch without one of its parts, for each part: an oracle that passes one does not notice that part.

    diff --git a/src/a.py b/src/a.py      two hunks  -> without the first, without the second
    diff --git a/src/b.py b/src/b.py      one hunk   -> without the file
    diff --git a/tests/test_a.py ...                 -> stays: tests and prose change no behaviour

Above `MOST_PARTS` parts, whole files are left out instead of hunks, and of those the first `MOST_PARTS`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import NamedTuple

from steelyard.bench.transfer.oracle.files import is_test_file
from steelyard.contract.patches.unified_diff import sections

MOST_PARTS = 20
PROSE = frozenset({".md", ".rst", ".txt", ".adoc", ".lock"})
_FILE = re.compile(rb"^(?=diff --git )", re.MULTILINE)
_HUNK = re.compile(rb"^(?=@@ -\d)", re.MULTILINE)


class PartialReference(NamedTuple):
    missing: str  # "src/a.py, lines 12 to 15"
    patch: bytes


class _File(NamedTuple):
    name: str
    head: bytes
    hunks: tuple[bytes, ...]
    places: tuple[str, ...]  # of each hunk

    @property
    def whole(self) -> bytes:
        return self.head + b"".join(self.hunks)


def partial_references(patch: bytes) -> list[PartialReference]:
    """None of a patch that is one part, or that is not as `git diff` writes it."""
    files = _files(patch)
    code = [
        one for one in files if not is_test_file(one.name) and PurePosixPath(one.name).suffix not in PROSE
    ]
    parts = list(_without_hunks(files, code))
    if len(parts) > MOST_PARTS:
        parts = list(_without_files(files, code))[:MOST_PARTS]
    return [one for one in parts if one.patch.strip()]


def _files(patch: bytes) -> list[_File]:
    """Each file with its hunks. The splits are by the text of the lines, so they are compared with what the parser reads."""
    files = []
    for text in _FILE.split(patch)[1:]:
        head, *hunks = _HUNK.split(text)
        try:
            (section,) = sections(text)
        except ValueError:
            return []
        if len(section.hunks) != len(hunks):
            return []
        places = [f"lines {one.start + 1} to {one.start + max(1, len(one.old))}" for one in section.hunks]
        files.append(_File(section.new or section.old, head, tuple(hunks), tuple(places)))
    return files


def _without_hunks(files: list[_File], code: list[_File]) -> Iterator[PartialReference]:
    for file in code:
        if len(file.hunks) < 2:  # a file with one hunk is one part
            yield from _without_files(files, [file])
            continue
        for number, place in enumerate(file.places):
            kept = file.head + b"".join(file.hunks[:number] + file.hunks[number + 1 :])
            rest = (kept if one is file else one.whole for one in files)
            yield PartialReference(f"{file.name}, {place}", b"".join(rest))


def _without_files(files: list[_File], code: list[_File]) -> Iterator[PartialReference]:
    for file in code:
        yield PartialReference(file.name, b"".join(one.whole for one in files if one is not file))

"""A unified diff of any size -> what of it a model is shown, with every file of it named.

What does not fit is cut at the end of the order below, never silently: the list comes first and has every path and
size. Files that decide how a change is tested come before the others, because an edit hidden behind a megabyte of
generated code would be one of them.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import NamedTuple

from steelyard.judge.fence import clip, one_line, size, visible

LIST_BYTES = 20_000  # beside the hunks
_SMALL_BYTES = 2_000  # the least that is worth showing of a file that does not fit
_SECTION = re.compile(r"^diff --git (.*)$", re.MULTILINE)
_STEERS = re.compile(
    r"(^|[/_.\-])(tests?|specs?|conftest|fixtures?|ci|\.github|\.circleci|workflows?|makefile|dockerfile|tox|noxfile"
    r"|setup|pyproject|package|jest|vitest|pytest|cargo|pom|gradle|rakefile|sitecustomize)([/_.\-]|$)",
    re.IGNORECASE,
)


class Section(NamedTuple):
    name: str  # "a/x.py b/x.py", as git wrote it
    text: str

    @property
    def steers(self) -> bool:
        return any(_STEERS.search(part) for part in self.name.split())


class ShownDiff(NamedTuple):
    text: str
    truncated: bool


def shown_diff(diff: str, most: int) -> ShownDiff:
    """Whole, or at most about `most` bytes of hunks after the list of the files."""
    whole = visible(diff) if len(diff) <= most else ""
    if len(diff) <= most and size(whole) <= most:
        return ShownDiff(whole, truncated=False)
    sections = sorted(_sections(diff), key=lambda one: not one.steers)
    parts, left = [_listed(sections)], most
    for section in sections:
        if left < _SMALL_BYTES:
            break
        part = clip(section.text, left)
        left -= size(part)
        parts.append(part)
    if len(parts) <= len(sections):
        parts.append(
            f"[... {len(sections) - len(parts) + 1} more files are listed above and left out here ...]"
        )
    return ShownDiff("\n".join(parts), truncated=True)


def _sections(diff: str) -> list[Section]:
    starts = [found.start() for found in _SECTION.finditer(diff)]
    bounds = [*([0] if not starts or starts[0] else []), *starts, len(diff)]
    parts = [diff[start:end] for start, end in pairwise(bounds)]
    return [
        Section(part.split("\n", 1)[0].removeprefix("diff --git "), part) for part in parts if part.strip()
    ]


def _listed(sections: list[Section]) -> str:
    rows, left = ["the whole diff does not fit; its files are:"], LIST_BYTES
    for number, one in enumerate(sections):
        row = f"{len(one.text)} characters: {one_line(one.name, 300)}"
        left -= size(row)
        if left < 0:
            rows.append(f"and {len(sections) - number} more files")
            break
        rows.append(row)
    return "\n".join([*rows, ""])

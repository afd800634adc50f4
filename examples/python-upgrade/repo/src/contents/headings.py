"""A document -> its headings, each with its anchor."""

import re
from typing import NamedTuple

from slugs import slugify, unique

HEADING = re.compile(r"(#{1,6})\s+(.*?)\s*#*\s*$")
FENCE = re.compile(r"\s{0,3}(```|~~~)")
WORDS = 8


class Heading(NamedTuple):
    level: int
    title: str
    anchor: str


def headings(lines):
    """Every heading in order."""
    seen = {}
    for line in prose(lines):
        found = HEADING.match(line)
        if found:
            title = found[2]
            anchor = slugify(title, "-", WORDS) or "section"
            yield Heading(len(found[1]), title, unique(anchor, seen))


def prose(lines):
    """The lines outside fenced blocks of code."""
    fence = None
    for line in lines:
        mark = FENCE.match(line)
        if mark and fence in (None, mark[1]):
            fence = None if fence else mark[1]
        elif fence is None:
            yield line

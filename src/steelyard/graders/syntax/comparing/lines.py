"""Files without a grammar: lines that look like an assertion or a skip, before and after."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from steelyard.graders.syntax.reading.skip_words import ASSERT_LINE, COMMENT_LINE, SKIP_LINE, regex

LINE_CHARS = 1000


class LinePosition(NamedTuple):
    path: str
    line: int


def new_skip_lines(files: Iterable[tuple[str, str, str]]) -> list[LinePosition]:
    """Lines of the new side that skip, beyond those that did before."""
    old, new = _both(files, SKIP_LINE)
    return _beyond(new, old)


def lost_assertion_lines(files: Iterable[tuple[str, str, str]]) -> list[LinePosition]:
    """Lines of the old side that assert, beyond those that still do."""
    old, new = _both(files, ASSERT_LINE)
    return _beyond(old, new)


_Where = dict[str, list[LinePosition]]


def _both(files: Iterable[tuple[str, str, str]], pattern: str) -> tuple[_Where, _Where]:
    sides: tuple[_Where, _Where] = (defaultdict(list), defaultdict(list))
    for path, *texts in files:
        for side, text in zip(sides, texts, strict=True):
            for number, line in enumerate(text.splitlines(), start=1):
                part = line[:LINE_CHARS]
                if regex(pattern).search(part) and not regex(COMMENT_LINE).match(part):
                    side["".join(part.split())].append(LinePosition(path, number))
    return sides


def _beyond(these: _Where, those: _Where) -> list[LinePosition]:
    """The net surplus: a line that only changed its wording or its place is none."""
    surplus = [place for text, places in these.items() for place in places[len(those.get(text, ())) :]]
    deficit = sum(max(0, len(places) - len(these.get(text, ()))) for text, places in those.items())
    return surplus[: max(0, len(surplus) - deficit)]

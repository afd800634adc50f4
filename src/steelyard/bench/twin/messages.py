"""An edit of an expected value -> the edits of the same value in the message of its assertion.

    if got != 5 { t.Fatalf("Sum(2, 3) = %d, want 5", got) }     5 -> 6 in both places
    assert_eq!(sum(2, 3), 5, "2 and 3 are 5");

A message that still says the old value would tell code which reads its tests that this one is changed. A message is printed when
the test has failed, so no result depends on it. Only the last place that has the value is edited, outside of parentheses: before it, and
in parentheses, stands what was called.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from steelyard.bench.twin.base import Edit, overlap

_QUOTES = "\"'`"
_UNFIT = frozenset("\"'`\\\n%{}")


class Message(NamedTuple):
    """Where an assertion compares, and the texts that it prints if it fails: from byte to byte."""

    start: int
    end: int
    texts: tuple[tuple[int, int], ...]


def along(
    source: bytes, edits: Sequence[Edit], messages: Iterable[Message]
) -> Mapping[Edit, tuple[Edit, ...]]:
    """For each of the edits those that go with it."""
    found: dict[Edit, tuple[Edit, ...]] = {}
    for edit in edits:
        beside = [one for one in messages if one.start <= edit.start and edit.end <= one.end]
        more = tuple(new for one in beside for text in one.texts for new in _in_text(source, edit, text))
        if more and not overlap((*edits, *more)):
            found[edit] = more
    return found


def _in_text(source: bytes, edit: Edit, text: tuple[int, int]) -> Iterator[Edit]:
    old = source[edit.start : edit.end].decode(errors="replace").strip(_QUOTES)
    new = edit.text.strip(_QUOTES)
    if not old or not new or _UNFIT & {*old, *new}:
        return
    start, end = text
    inner = source[start:end]
    found = re.finditer(rb"(?<![\w.%%\\])%s(?!\w|\.\d)" % re.escape(old.encode()), inner)
    outside = [one for one in found if inner.count(b"(", 0, one.start()) == inner.count(b")", 0, one.start())]
    for match in outside[-1:]:
        yield Edit(start + match.start(), start + match.end(), new)

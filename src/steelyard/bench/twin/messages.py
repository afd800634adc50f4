"""An edit of an expected value -> edits of the same value in the texts beside it: the message of its assertion, comments.

    if got != 5 { t.Fatalf("Sum(2, 3) = %d, want 5", got) }     5 -> 6 in both places
    assert_eq!(sum(2, 3), 5, "2 and 3 are 5");
    assert total(2, 3) == 5, "should be five"  # 2 + 3 = 5      5 -> 6, and five -> six

Without these edits, code that reads its tests would see the old value in the text and know that this test is changed. A message is
printed after the test has failed, and a comment is never read, so no result depends on them. Places in parentheses are not edited:
they repeat the call. If the compared code has the same value elsewhere too, only the last place of a text is edited, because the
places before it repeat the input.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from steelyard.bench.twin.base import Edit

_QUOTES = "\"'`"
_UNFIT = frozenset("\"'`\\\n%{}")
_COMMENT = (b"#", b"//", b"/*")
_BRACKETS = {"[": "]", "(": ")", "{": "}"}
_NUMERALS = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven"),
    *("twelve", "thirteen", "fourteen", "fifteen"),
)
_NUMBERS = frozenset(map(str, range(len(_NUMERALS))))  # other digits, as in `²`, have no value
_TOKEN = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_SHORT = 3
_NESTED = ((b"(", b")"), (b"{", b"}"))  # calls, and the values of an f-string
_PREFIXED = re.compile(rb"[bfrtu]{1,2}['\"]", re.IGNORECASE)  # f"got {it}"

Span = tuple[int, int]


class Message(NamedTuple):
    """Where a value is expected, and the texts that mention it: from byte to byte.

    `values` are expressions that the edited value may be a part of: a list, a pair.
    """

    start: int
    end: int
    texts: tuple[Span, ...]
    values: tuple[Span, ...] = ()


def companion_edits(
    source: bytes, edits: Sequence[Edit], messages: Iterable[Message]
) -> Mapping[Edit, tuple[Edit, ...]]:
    """For each edit of a value, those of the texts beside it."""
    found: dict[Edit, tuple[Edit, ...]] = {}
    taken = sorted(edits)
    beside = _messages_beside(edits, list(messages))
    for edit in edits:
        more: list[Edit] = []
        for new in (
            new for one in beside[edit] for text in one.texts for new in _in_text(source, edit, one, text)
        ):
            if _is_free(taken, new):
                bisect.insort(taken, new)
                more.append(new)
        if more:
            found[edit] = tuple(more)
    return found


def _messages_beside(edits: Sequence[Edit], messages: Sequence[Message]) -> dict[Edit, list[Message]]:
    """The messages that each edit lies in, with those of their values that it lies in."""
    spans = _around(edits, [(one.start, one.end) for one in messages])
    values = sorted({span for one in messages for span in one.values})
    parts = _around(edits, values)
    own = [frozenset(one.values) for one in messages]
    return {
        edit: [
            messages[number]._replace(
                values=tuple(values[part] for part in parts[edit] if values[part] in own[number])
            )
            for number in numbers
        ]
        for edit, numbers in spans.items()
    }


def _around(edits: Sequence[Edit], spans: Sequence[Span]) -> dict[Edit, list[int]]:
    """The numbers of the spans that each edit lies in. In one pass: a file may have thousands of both."""
    waiting = sorted(range(len(spans)), key=lambda number: spans[number], reverse=True)
    found: dict[Edit, list[int]] = {}
    begun: list[int] = []
    for edit in sorted(edits):
        while waiting and spans[waiting[-1]][0] <= edit.start:
            begun.append(waiting.pop())
        begun = [number for number in begun if spans[number][1] >= edit.start]
        found[edit] = sorted(number for number in begun if edit.end <= spans[number][1])
    return found


def marked_units(
    source: bytes, edits: Mapping[str, Sequence[Edit]], shown: Collection[str]
) -> frozenset[str]:
    """The units that code recognises as changed by reading them, without knowing the right answer.

    The change itself shows in `shown`; the others have the old value in their names.
    """
    return frozenset(shown) | {unit for unit, some in edits.items() if name_has_value(source, unit, some)}


def name_has_value(source: bytes, unit: str, edits: Sequence[Edit]) -> bool:
    """Whether the name of a test, without those of its suites, has the value that is changed."""
    name = re.split(r"::| > ", unit)[-1]
    return len(edits) == 1 and words_have_value(
        name, source[edits[0].start : edits[0].end].decode(errors="replace"), edits[0].text
    )


def words_have_value(name: str, old: str, new: str) -> bool:
    """Whether the name of a test has the old value in it, and not the new one: `test_total_is_3`, `gives three`."""
    words = _tokens(name)
    return any(
        _has(words, before) and not _has(words, after)
        for before, after in ((_tokens(one), _tokens(two)) for one, two in _wordings(old, new))
        if any(len(token) >= _SHORT or token.isdigit() for token in before)
    )


def _tokens(text: str) -> list[str]:
    return [one.lower() for one in _TOKEN.findall(text)]


def _has(words: list[str], part: list[str]) -> bool:
    return any(words[place : place + len(part)] == part for place in range(len(words) - len(part) + 1))


def _is_free(taken: list[Edit], new: Edit) -> bool:
    place = bisect.bisect(taken, new)
    before, after = taken[place - 1 : place] if place else [], taken[place : place + 1]
    return all(one.end <= new.start for one in before) and all(new.end <= one.start for one in after)


def _in_text(source: bytes, edit: Edit, message: Message, text: Span) -> Iterator[Edit]:
    start, end = text
    inner = source[start:end]
    is_comment = inner.startswith(_COMMENT)
    for old, new in _pairs(source, edit, message.values):
        if "\n" in old + new or (not is_comment and _UNFIT & {*old, *new}):
            continue
        found = [
            one
            for one in _word(old).finditer(inner)
            if all(
                inner.count(left, 0, one.start()) == inner.count(right, 0, one.start())
                for left, right in _NESTED
            )
            and (is_comment or not _may_be_prefix(inner, one.start(), one.end()))
        ]
        if found:
            rest = source[message.start : edit.start] + b" " + source[edit.end : message.end]
            for one in found[-1:] if _word(old).search(rest) else found:
                yield Edit(start + one.start(), start + one.end(), new)
            return


def _may_be_prefix(text: bytes, start: int, end: int) -> bool:
    """Whether a word may be the `f` of an f-string, and not a word at the end of a string: with another letter, the file is none."""
    is_last = start > 0 and not text[end:].strip(_QUOTES.encode())
    return _PREFIXED.match(text, start) is not None and not is_last


def _word(text: str) -> re.Pattern[bytes]:
    return re.compile(rb"(?<![\w.%%\\])%s(?!\w|\.\d)" % re.escape(text.encode()))


def _pairs(source: bytes, edit: Edit, values: Iterable[Span]) -> Iterator[tuple[str, str]]:
    """How a text may write the value before and after the edit: as a part of the largest expression around it first."""
    for start, end in [*sorted(values, key=lambda one: one[0] - one[1]), (edit.start, edit.end)]:
        old = source[start:end].decode(errors="replace")
        before, after = source[start : edit.start], source[edit.end : end]
        yield from _wordings(
            old, before.decode(errors="replace") + edit.text + after.decode(errors="replace")
        )


def _wordings(old: str, new: str) -> Iterator[tuple[str, str]]:
    pairs = [(old, new)]
    if old[:1] in _BRACKETS and old.endswith(_BRACKETS[old[0]]) and new[:1] == old[0] and len(new) > 2:
        pairs.append((old[1:-1], new[1:-1]))
    pairs.append((old.strip(_QUOTES), new.strip(_QUOTES)))
    pairs += [(one.lower(), two.lower()) for one, two in pairs[-1:]]
    if all(one in _NUMBERS for one in (old, new)):
        words = _NUMERALS[int(old)], _NUMERALS[int(new)]
        pairs += [words, (words[0].capitalize(), words[1].capitalize())]
    seen = dict.fromkeys(pairs)
    yield from (
        (one, two) for one, two in seen if one != two and re.search(r"\w", one) and re.search(r"[\w\[{]", two)
    )

r"""A literal of Python -> the texts of other values of the same kind, written in the same way.

12 -> 13        0.5 -> 0.6        "total" -> "totals"        b"\x00ab" -> b"\x00ac"        True -> False
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from steelyard.bench.twin.plausible.numbers import other_numbers
from steelyard.bench.twin.plausible.strings import Words, differ, other_strings
from steelyard.bench.twin.python.text import literal

_STRING = re.compile(
    r"(?P<prefix>[A-Za-z]*)(?P<quote>'''|\"\"\"|'|\")(?P<body>(?:\\.|(?!(?P=quote)).)*)(?P=quote)", re.DOTALL
)
# Escapes, line ends, and what only means something in a string that is formatted.
_ESCAPE = re.compile(r"\\(?:x..|u.{4}|U.{8}|N\{[^}]*\}|[0-7]{1,3}|.)|\r\n|\r|\n", re.DOTALL)
_FORMAT = re.compile(r"%(?:\([^)]*\))?[-+ #0]*[\d*]*(?:\.[\d*]+)?[a-zA-Z%]|\{[^{}]*\}|\{\{|\}\}")

Vary = Callable[[str, Words], list[str]]


def other_literals(text: str, value: object, words: Words, vary: Vary = other_strings) -> Iterator[str]:
    """`vary` changes the inside of a string."""
    if isinstance(value, bool):
        yield str(not value)
    elif value is None:
        yield from ("False", "True", *(f'"{word}"' for word in words.like("word", "")), "0", "1")
    elif isinstance(value, int | float):
        yield from (one for one in other_numbers(text) if _is_other(value, _number(one)))
    elif isinstance(value, str | bytes):
        yield from other_texts(text, value, words, vary)


def other_texts(text: str, value: str | bytes, words: Words, vary: Vary = other_strings) -> Iterator[str]:
    """Of a string as it is written, with its quotes: one piece between escapes changed."""
    inside = _STRING.fullmatch(text)
    simple = inside is not None and inside["body"] == value and not inside["prefix"]
    for start, end in _pieces(text, _ESCAPE):
        for piece in vary(text[start:end], words):
            other = text[:start] + piece + text[end:]
            if (simple and piece) or _differ(value, literal(other)):
                yield other


def other_templates(text: str, words: Words) -> Iterator[str]:
    """Of an f-string, or one for `%`: what is formatted stays, a piece of the text beside it is another."""
    for start, end in _pieces(text, re.compile(f"{_ESCAPE.pattern}|{_FORMAT.pattern}", re.DOTALL)):
        if re.search(r"[^\W_]", text[start:end]):
            for piece in other_strings(text[start:end], words):
                yield text[:start] + piece + text[end:]


def quote_like(word: str, like: str) -> str:
    """A word as a string, in the quotes of another."""
    quote = "'" if like.endswith("'") else '"'
    return f"{quote}{word}{quote}"


def _pieces(text: str, divider: re.Pattern[str]) -> Iterator[tuple[int, int]]:
    """Where the text without anything special is, the longest first."""
    found = []
    for string in _STRING.finditer(text):
        start = string.start("body")
        for one in divider.finditer(text, start, string.end("body")):
            found.append((start, one.start()))
            start = one.end()
        found.append((start, string.end("body")))
    longest = sorted(found, key=lambda one: one[0] - one[1])
    yield from longest[:2] if longest and longest[0][0] < longest[0][1] else longest[:1]


def _number(text: str) -> object:
    try:
        return int(text, 0)
    except ValueError:
        try:
            return float(text)
        except ValueError:  # 010
            return ...


def _is_other(old: float, new: object) -> bool:
    return type(new) is type(old) and new != old and new - new == 0  # not infinite


def _differ(old: object, new: object) -> bool:
    if isinstance(old, bytes) and isinstance(new, bytes):
        return old.lower().strip() != new.lower().strip()
    return isinstance(old, str) and isinstance(new, str) and differ(old, new)

r"""The text of a literal -> the text of another value of the same kind and about the same length.

12 -> 17        0.5 -> 0.9        "total" -> "tatal"        b"\x00" -> b"\x04"        True -> False
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Iterator

from steelyard.bench.twin.python_text import literal

_OPENING = re.compile(r"[A-Za-z]*('''|\"\"\"|'|\")")
_CLASSES = (string.digits, string.ascii_lowercase, string.ascii_uppercase)
_FIXED = {True: "False", False: "True", None: "0"}
MAX_TRIES = 400


def other_literal(text: str, spin: int, accepts: Callable[[object], bool] = lambda _: True) -> str | None:
    """`spin` chooses among the possible ones; `accepts` looks at the new value."""
    value = literal(text)
    if value is None or isinstance(value, bool):
        return _FIXED[value]
    if not isinstance(value, int | float | str | bytes) or value != value:  # noqa: PLR0124  # nothing equals NaN
        return None
    for tries, other in enumerate(_others(text, value, spin)):
        if tries > MAX_TRIES:
            break
        new = literal(other)
        if type(new) is type(value) and new == new and _differ(value, new) and accepts(new):  # noqa: PLR0124
            return other
    return None


def inserted(text: str, word: str = "x") -> str:
    """A string with one more word at its beginning, whatever is in it."""
    opening = _OPENING.match(text)
    return text if opening is None else f"{opening[0]}{word}{text[opening.end() :]}"


def _others(text: str, value: object, spin: int) -> Iterator[str]:
    """One character changed at a time. Of a string in its middle parts, of a number from the left: far away."""
    order = list(range(len(text)))
    if isinstance(value, str | bytes):
        order = order[spin % len(text) :] + order[: spin % len(text)]
    else:
        order = [place for place in order if text[place] in string.digits]
    for place in order:
        if place and text[place - 1] == "\\":
            continue
        for other in _same_class(text[place], spin):
            yield text[:place] + other + text[place + 1 :]
    if isinstance(value, str | bytes):
        yield inserted(text)


def _same_class(character: str, spin: int) -> list[str]:
    letters = next((letters for letters in _CLASSES if character in letters), "")
    others = [other for other in letters if other != character]
    turn = spin % len(others) if others else 0
    return (others[turn:] + others[:turn])[:4]


def _differ(one: object, two: object) -> bool:
    """Also for whoever compares without regard to case."""
    if isinstance(one, str) and isinstance(two, str):
        return one.casefold() != two.casefold()
    return one != two

"""An unquoted YAML word -> what it means.

    2_000_000 -> 2000000    yes -> True    ~ -> None    1.5 -> 1.5
    2026-03-07 -> "2026-03-07"    1:30 -> "1:30"    .nan -> refused

YAML 1.1 without its two traps: dates stay text, and nothing is a number to the base of sixty.
"""

from __future__ import annotations

import math
import re

from steelyard.deferred.pattern import deferred_pattern

MOST_INTEGER = 2**53 - 1  # what every JSON reader keeps exactly
MOST_DIGITS = 70

_NULLS = {"", "~", "null", "Null", "NULL"}
_BOOLEANS = {
    spelling: value
    for word, value in (
        ("yes", True),
        ("no", False),
        ("true", True),
        ("false", False),
        ("on", True),
        ("off", False),
    )
    for spelling in (word, word.capitalize(), word.upper())
}
_INTEGER = deferred_pattern(
    r"^([-+]?)(?:0b_*([01][01_]*)|0x_*([0-9a-fA-F][0-9a-fA-F_]*)|0_*([0-7][0-7_]*)|(0|[1-9][0-9_]*))$"
)
_BASES = (2, 16, 8, 10)
# Without a dot it is text, as YAML 1.1 has it: a commit id such as 12345e7 is no number.
_FLOAT = deferred_pattern(r"^[-+]?(?:[0-9][0-9_]*\.[0-9_]*|\.[0-9][0-9_]*)(?:[eE][-+][0-9]+)?$")
_NOT_FINITE = deferred_pattern(r"^[-+]?\.(?:inf|nan)$", re.IGNORECASE)

Word = str | int | float | bool | None


def parse_word(word: str) -> Word:
    """Raises ValueError, with the reason, for numbers that cannot be kept."""
    if word in _NULLS:
        return None
    if word in _BOOLEANS:
        return _BOOLEANS[word]
    if _NOT_FINITE.match(word):
        raise ValueError(f"{word} is not a number that can be compared")
    if found := _INTEGER.match(word):
        return _integer(found)
    if _FLOAT.match(word):
        number = float(word.replace("_", ""))
        if not math.isfinite(number):
            raise ValueError(f"{word} is too large a number")
        return number
    return word


def _integer(found: re.Match[str]) -> int:
    sign, *digits = found.groups()
    base, written = next(
        (base, text.replace("_", "")) for base, text in zip(_BASES, digits, strict=True) if text
    )
    if len(written) > MOST_DIGITS or int(written, base) > MOST_INTEGER:
        raise ValueError("too large a number; if it is text, put it in quotes")
    return -int(written, base) if sign == "-" else int(written, base)

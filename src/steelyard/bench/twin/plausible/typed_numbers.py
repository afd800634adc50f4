"""A number in a language that checks types -> others that fit every type that the old one fits.

255 -> 254, never 256       a byte holds it         3.1415926535 -> 3.2, never 3.1415926536     float32 confuses them
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from steelyard.bench.twin.plausible.numbers import farther, other_integers, other_numbers

# Largest values of the types of numbers: what fits the old number's type fits the new one.
_BITS = (8, 16, 32, 64)
_LIMITS = sorted(limit for bits in _BITS for limit in (2 ** (bits - 1) - 1, 2 ** (bits - 1), 2**bits - 1))
_NEARLY = 1e-4  # values that differ by less might be one value in a small type of floating point
_EXACT = 10**7  # and so might whole numbers from here on


def other_whole(text: str) -> list[str]:
    """Other whole numbers, written in the same way."""
    old = _whole(text)
    if old is None or not other_numbers(text):
        return []
    limit = next((one for one in _LIMITS if old <= one), old)
    if old >= _EXACT:
        spelled = [str(one) for one in _far(old)] if text.isdigit() else []
    else:
        spelled = other_numbers(text) if not text.isdigit() else [str(one) for one in other_integers(old)]
    values = ((one, _whole(one)) for one in spelled)
    found = [one for one, value in values if value is not None and value != old and value <= limit]
    return found or ([str(old - 1)] if old else [])


def _far(value: int) -> list[int]:
    """One of the first digits changed."""
    text = str(value)
    return [
        int(text[:place] + str((int(text[place]) + step) % 10) + text[place + 1 :])
        for place in (1, 2)
        for step in (1, 7)
    ]


def _whole(text: str) -> int | None:
    digits = text.replace("_", "").lower()
    try:
        if re.fullmatch(r"0\d+", digits):
            return int(digits, 8)
        return int(digits, 0)
    except ValueError:
        return None


def other_floats(text: str) -> list[str]:
    """Other decimal numbers that no small type of floating point confuses with the old one."""
    try:
        old = float(text.replace("_", ""))
    except ValueError:  # a hexadecimal one
        return []
    found = []
    for one in dict.fromkeys([*other_numbers(text), *farther(text)]):
        new = float(one.replace("_", ""))
        if abs(new - old) > _NEARLY * max(abs(new), abs(old)) and abs(new) <= 10 * abs(old) + 10:
            found.append(one)
    return found


def other_letters(letter: str) -> Iterator[str]:
    """Neighbours of a letter or digit."""
    if len(letter) != 1 or not (letter.isascii() and letter.isalnum()):
        return
    for step in (1, -1, 2):
        near = chr(ord(letter) + step)
        if near.isalnum() and near.isdigit() == letter.isdigit() and near.isupper() == letter.isupper():
            yield near

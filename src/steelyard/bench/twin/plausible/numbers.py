"""A number as a test writes it -> others that could stand there as well.

    3 -> 2, 4, 5        100 -> 200, 90, 110        404 -> 400, 200        0.5 -> 0.4, 0.6        0x1F -> 0x1E, 0x2F

Small numbers stay small, round ones round, and the number of decimals stays.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

STATUS_CODES = (200, 201, 204, 301, 302, 304, 400, 401, 403, 404, 409, 422, 500, 503)
_SMALL = 12
MOST_CHARS = 1000  # of a number: Python reads no decimal one of more than 4300 digits
_LARGE = 10**15  # from here on a double no longer tells neighbours apart
_DECIMAL = re.compile(
    r"(?P<whole>[\d_]*)(?P<point>\.?)(?P<part>[\d_]*)(?P<power>(?:[eE][+-]?\d+)?)(?P<end>n?)"
)
_BASED = re.compile(r"(?P<prefix>0[xXoObB])(?P<digits>[0-9a-fA-F_]+)(?P<end>n?)")


def other_integers(value: int) -> list[int]:
    """Of a whole number that is not negative."""
    if value <= _SMALL:
        found = [value + 1, value - 1, value + 2, value - 2, value + 3]
    elif value >= _LARGE:
        found = _other_digits(value)
    elif value in STATUS_CODES:
        near = [one for one in STATUS_CODES if one != value]
        near.sort(key=lambda one: (one // 100 == value // 100, abs(one - value)))
        found = near[:2] + near[-2:]
    elif value & (value - 1) == 0:
        found = [value * 2, value // 2, value * 4]
    elif value % 10 == 0:
        found = _round(value)
    else:
        found = [value + 1, value - 1, value + 2, value - 2, value + 10, value - 10]
    length = len(str(value))
    return [one for one in dict.fromkeys(found) if one >= 0 and one != value and len(str(one)) <= length + 1]


def other_numbers(text: str) -> list[str]:
    """Written in the same way; not always of another value (0.0 and 0.00), so look at it."""
    if len(text) > MOST_CHARS:
        return []
    based = _BASED.fullmatch(text)
    if based is not None:
        return [
            f"{based['prefix']}{digits}{based['end']}"
            for digits in _other_based(based["digits"], based["prefix"])
        ]
    parts = _DECIMAL.fullmatch(text)
    if parts is None or not (parts["whole"] or parts["part"]):
        return []
    return list(dict.fromkeys(_other_decimals(parts)))


def farther(text: str) -> list[str]:
    """Decimal numbers that are further away than neighbours."""
    parts = _DECIMAL.fullmatch(text) if len(text) <= MOST_CHARS else None
    if parts is None or not (parts["whole"] or parts["part"]) or parts["power"]:
        return []
    whole = int(parts["whole"].replace("_", "") or 0)
    tail = text[parts.end("whole") :]
    return [f"{one}{tail}" for one in (whole * 2, whole // 2, whole + 5, whole * 3 + 1, whole * 10 + 10)]


def _other_decimals(parts: re.Match[str]) -> Iterator[str]:
    whole, part = parts["whole"], parts["part"].replace("_", "")
    tail = parts["power"] + parts["end"]
    if part.strip("0"):
        digits = (whole.replace("_", "") or "0") + part
        for other in other_integers(int(digits)):
            padded = f"{other:0{len(part) + 1}}"
            head = padded[: -len(part)]
            yield f"{head if whole or head != '0' else ''}.{padded[-len(part) :]}{tail}"
    else:
        for other in other_integers(int(whole.replace("_", "") or 0)):
            if not other and parts["power"]:
                continue
            spelled = f"{other:_}" if "_" in whole else str(other)
            yield f"{spelled}{parts['point']}{parts['part']}{tail}"
    if parts["power"]:  # also for numbers so small that neighbours are equal
        sign, power = re.fullmatch(r"[eE]([+-]?)(\d+)", parts["power"]).groups()  # type: ignore[union-attr]  # it is one
        for other in other_integers(int(power))[:2]:
            yield f"{whole}{parts['point']}{parts['part']}{parts['power'][0]}{sign}{other}"


def _other_based(digits: str, prefix: str) -> Iterator[str]:
    """One digit changed: the last one, then the first."""
    known = {"x": "0123456789abcdef", "o": "01234567", "b": "01"}[prefix[1].lower()]
    for place in dict.fromkeys((len(digits) - 1, 0)):
        at = known.find(digits[place].lower())
        for other in (at - 1, at + 1):
            if 0 <= other < len(known) and not (place == 0 < len(digits) - 1 and other == 0):
                new = known[other].upper() if digits.upper() == digits else known[other]
                yield digits[:place] + new + digits[place + 1 :]


def _other_digits(value: int) -> list[int]:
    text = str(value)
    return [
        int(text[:place] + str((int(text[place]) + step) % 10) + text[place + 1 :])
        for place in (1, 2, 3)
        for step in (1, 4)
    ]


def _round(value: int) -> list[int]:
    unit = 10 ** (len(str(value)) - len(str(value).rstrip("0")))
    found = [value + unit, value + 2 * unit]
    found += [value - unit] if value > unit else []
    return found + ([value + unit // 10, value - unit // 10] if unit > 10 else [value + 5, value - 5])

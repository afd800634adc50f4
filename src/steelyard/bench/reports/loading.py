"""JSON that others wrote -> dicts and lists that are what they seem to be."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from steelyard.bench.reports.base import BadReport, lines_of, one_line, within_size

MAX_LINE = 1 << 20


def json_object(data: bytes) -> dict[str, Any]:
    try:
        loaded = json.loads(within_size(data, b"{", b"[", b",").decode("utf-8-sig", errors="replace"))
    except (ValueError, RecursionError) as error:
        raise BadReport(f"not JSON: {one_line(error) or 'nests too deep'}") from None
    if not isinstance(loaded, dict):
        raise BadReport("not the report of a test runner: no JSON object")
    return loaded


def json_lines(data: bytes, start: bytes = b"{") -> Iterator[dict[str, Any]]:
    """The objects among the lines, each from where `start` is; other lines are what programs printed in between."""
    for line in lines_of(data):
        place = line.find(start)
        if place < 0 or len(line) > MAX_LINE:
            continue
        try:
            loaded = json.loads(line[place:].decode(errors="replace"))
        except (ValueError, RecursionError):
            continue
        if isinstance(loaded, dict):
            yield loaded


def table(value: object, what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise BadReport(f"the report has no {what}")
    return value


def rows(value: object, what: str) -> list[dict[str, Any]]:
    if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
        raise BadReport(f"the report has no list of {what}")
    return value


def word(row: Mapping[str, Any], name: str) -> str:
    """A field that should be text; anything else is none."""
    value = row.get(name)
    return value if isinstance(value, str) else ""


def number(row: Mapping[str, Any], name: str) -> int:
    value = row.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def texts(value: object) -> list[str]:
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


def first_text(value: object) -> str:
    return next(iter(texts(value)), "")

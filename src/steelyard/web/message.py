"""What a browser asks, and what a page answers: plain values, so that a page needs no server to be tested."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from steelyard.report.html.element import Markup

HTML = "text/html; charset=utf-8"
JSON = "application/json"
TEXT = "text/plain; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Request:
    path: str
    parts: Mapping[str, str] = field(default_factory=dict)  # the variable parts of the path
    query: Mapping[str, str] = field(default_factory=dict)
    form: Mapping[str, str] = field(default_factory=dict)  # of a POST
    # Fields of query and form that occur more than once
    lists: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    csrf: str = ""  # the token that every form of this server carries

    def number(self, name: str, default: int, least: int = 0, most: int = 1 << 53) -> int:
        """A number of the query; what is no number is the default, what is out of range is the nearest."""
        text = self.query.get(name, "")
        sign, digits = (-1, text[1:]) if text.startswith("-") else (1, text)
        if not (digits.isascii() and digits.isdecimal() and len(digits) <= 16):
            return default
        return max(least, min(most, sign * int(digits)))

    def values(self, name: str) -> tuple[str, ...]:
        single = self.query.get(name, "")
        return self.lists.get(name, (single,) if single else ())


@dataclass(frozen=True, slots=True)
class Response:
    body: bytes | Iterator[bytes]
    kind: str = HTML
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


def page(markup: Markup, status: int = 200) -> Response:
    return Response(markup.encode(), HTML, status)


def json_answer(data: Any) -> Response:
    """JSON in which no text reads as markup, whatever shows it."""
    return Response(orjson.dumps(data).replace(b"<", b"\\u003c"), JSON)


def redirect(address: str) -> Response:
    """Another page, by GET."""
    return Response(b"", TEXT, 303, {"Location": address})


class NotThere(Exception):  # an answer, not a defect
    """Nothing has this address; the message says what was looked for."""

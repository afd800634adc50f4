"""A text with secrets -> the same text with placeholders, and the digest of what it was.

    redact("key=hunter2 ok", {"API_KEY": "hunter2"}).text == "key=[redacted:API_KEY] ok"

Deterministic: the same text and rules always give the same bytes. The longest secret wins where two overlap.

`Secrets` does the same to bytes, of a stream piece by piece too, and finds a value also where it is written in base64, in
hexadecimal digits, in percent encoding or escaped as in JSON.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import field
from urllib.parse import quote

from steelyard.deferred.data_class import dataclass
from steelyard.deferred.named_tuple import NamedTuple

# A shorter value ("1", "true", "EMPTY") would be found in every other file.
SHORTEST_BYTES = 8


class RedactedText(NamedTuple):
    text: str
    sha256: str  # of the unredacted text
    spans: int


def redact(text: str, secrets: Mapping[str, str], patterns: Mapping[str, str] | None = None) -> RedactedText:
    """Replace every value in `secrets` and every match of `patterns` (name -> regular expression)."""
    digest = hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()
    values = sorted(
        ((value, name) for name, value in secrets.items() if value), key=lambda pair: (-len(pair[0]), pair)
    )
    rules = [(name, re.escape(value)) for value, name in values] + sorted((patterns or {}).items())
    if not rules:
        return RedactedText(text, digest, 0)
    # One pass over the text: a placeholder is never searched for the next secret.
    either = re.compile(
        "|".join(f"(?P<rule{index}>{expression})" for index, (_, expression) in enumerate(rules))
    )
    safe, spans = either.subn(lambda match: f"[redacted:{_rule(match, rules)}]", text)
    return RedactedText(safe, digest, spans)


def _rule(match: re.Match[str], rules: list[tuple[str, str]]) -> str:
    return next(name for index, (name, _) in enumerate(rules) if match[f"rule{index}"] is not None)


@dataclass(frozen=True, slots=True)
class Secrets:
    """Values that no record may show, by the name of each; a value of fewer than 8 bytes is not searched for."""

    _values: Mapping[str, str] = field(default_factory=dict, repr=False)
    _names: Mapping[bytes, str] = field(init=False, repr=False, compare=False)  # spelling -> name
    _any: re.Pattern[bytes] | None = field(init=False, repr=False, compare=False)
    _longest: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        names = {
            spelling: name
            for name, value in self._values.items()
            if is_redacted(value)
            for spelling in _spellings(value.encode("utf-8", "surrogateescape"))
        }
        longest_first = sorted(names, key=lambda spelling: (-len(spelling), spelling))
        either = re.compile(b"|".join(map(re.escape, longest_first))) if names else None
        object.__setattr__(self, "_names", names)
        object.__setattr__(self, "_any", either)
        object.__setattr__(self, "_longest", max(map(len, names), default=0))

    def __bool__(self) -> bool:
        return self._any is not None

    def found_in(self, data: bytes) -> frozenset[str]:
        """The names of those whose value is in `data`."""
        return frozenset(name for spelling, name in self._names.items() if spelling in data)

    def without(self, names: frozenset[str]) -> Secrets:
        """The others."""
        return Secrets({name: value for name, value in self._values.items() if name not in names})

    def __or__(self, others: Secrets) -> Secrets:
        """Both."""
        return Secrets({**self._values, **others._values})

    def redact(self, data: bytes) -> bytes:
        # `in` is many times faster than the alternation, and most data has no secret in it.
        if self._any is None or not any(spelling in data for spelling in self._names):
            return data
        return self._any.sub(lambda match: b"[redacted:%b]" % self._names[match[0]].encode(), data)

    def redact_text(self, text: str) -> str:
        """For names of files and other text that may hold any byte."""
        if self._any is None:
            return text
        return self.redact(text.encode("utf-8", "surrogateescape")).decode("utf-8", "surrogateescape")

    def decided_length(self, data: bytes) -> int:
        """How many bytes of `data` no further byte can make part of a value that is not complete yet."""
        if self._any is None:
            return len(data)
        end = self._before_beginning(data, 0)
        for match in self._any.finditer(data):
            if match.start() >= end:
                break
            if match.end() > end:  # the end of a complete value is not the beginning of another
                end = self._before_beginning(data, match.end())
        return end

    def _before_beginning(self, data: bytes, start: int) -> int:
        """The first place from `start` on after which `data` is the beginning of a value, or its end."""
        first = max(start, len(data) - self._longest + 1)
        places = (at for at in range(first, len(data)) if self._begins(data[at:]))
        return next(places, len(data))

    def _begins(self, end: bytes) -> bool:
        return any(len(end) < len(spelling) and spelling.startswith(end) for spelling in self._names)


NO_SECRETS = Secrets()


class RedactedStream:
    """Pieces of a stream -> the same stream without secrets, also where a value is cut in two by the pieces.

    What may be the beginning of a value is held back until the next piece, or the end, decides.
    """

    def __init__(self, secrets: Secrets) -> None:
        self._secrets = secrets
        self._held = b""
        self.found: frozenset[str] = frozenset()  # names of the values that were replaced

    def feed(self, data: bytes) -> bytes:
        """What can be handed on now."""
        if not self._secrets:
            return data
        data = self._held + data
        decided_length = self._secrets.decided_length(data)
        self._held = data[decided_length:]
        return self._redact(data[:decided_length])

    def end(self) -> bytes:
        """What was held back."""
        held, self._held = self._held, b""
        return self._redact(held)

    def _redact(self, data: bytes) -> bytes:
        self.found |= self._secrets.found_in(data)
        return self._secrets.redact(data)


def is_redacted(value: str) -> bool:
    """Whether a value is long enough to be searched for."""
    return len(value.encode("utf-8", "surrogateescape")) >= SHORTEST_BYTES


def _spellings(value: bytes) -> Iterator[bytes]:
    """The ways in which programs write a value down by habit."""
    yield value
    text = value.decode("utf-8", "surrogateescape")
    yield json.dumps(text)[1:-1].encode("utf-8", "surrogateescape")
    yield json.dumps(text, ensure_ascii=False)[1:-1].encode("utf-8", "surrogateescape")
    yield quote(value, safe="").encode()
    yield value.hex().encode()
    yield value.hex().upper().encode()
    for before in range(3):  # base64 of a text in which the value begins at any place, as in `user:key`
        encoded = base64.b64encode(bytes(before) + value)
        whole = encoded[(before * 8 + 5) // 6 : (before + len(value)) * 8 // 6]
        yield whole
        yield whole.replace(b"+", b"-").replace(b"/", b"_")

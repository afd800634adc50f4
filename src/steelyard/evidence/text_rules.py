r"""Texts of models and agents under a privacy policy -> the same texts with placeholders, and the spans that were replaced.

    TextRules({"mail": r"[\w.]+@[\w.]+"}).redact_json({"a": ["to a@b.c"]})
        -> {"a": ["to [redacted:mail]"]}, [Span("a[0]", 3, 5, "mail")]

The rules are the forms of keys (`key_rules.py`) and the operator's patterns. Every text in a JSON value is searched by itself, as
it is after the escapes of JSON are undone. A span counts characters of the text as it was. A text in which a pattern of the operator takes too long
to search for is replaced as a whole, by [redacted:time]. Numbers are not searched.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import field
from typing import Any

from steelyard.deferred.data_class import dataclass
from steelyard.deferred.named_tuple import NamedTuple
from steelyard.deferred.pattern import deferred_pattern
from steelyard.errors import OperatorFault
from steelyard.evidence.bounded_search import BoundedSearch, Match
from steelyard.evidence.key_rules import RULES, rules_digest

MOST_SPANS = 1000  # in one record; the rest is only counted
MOST_PATTERNS = 100
MOST_DEPTH = 200  # of a value that the agent wrote; what is nested deeper is left out
_NAME = deferred_pattern(r"[A-Za-z][A-Za-z0-9_-]{0,39}")
_WHERE_CHARS = 200


class Span(NamedTuple):
    where: str  # the place of the text: "messages[2].content[0].text"
    start: int
    length: int
    rule: str


class RedactedValue(NamedTuple):
    value: Any
    spans: list[Span]
    total: int  # of all spans, those that are not listed included

    def to_json(self) -> dict[str, Any]:
        """For an event."""
        return {"count": self.total, "spans": [list(one) for one in self.spans]}


@dataclass(frozen=True)
class TextRules:
    """Compiled once for a run."""

    patterns: Mapping[str, str] = field(default_factory=dict)
    _names: tuple[str, ...] = field(init=False, repr=False, compare=False)
    _either: re.Pattern[str] = field(init=False, repr=False, compare=False)
    # For patterns of the operator
    _search: BoundedSearch | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        keys = [(rule.name, rule.pattern.decode()) for rule in RULES]
        rules = [*keys, *sorted(self.patterns.items())]
        either = "|".join(f"(?P<rule{number}>{pattern})" for number, (_, pattern) in enumerate(rules))
        object.__setattr__(self, "_names", tuple(name for name, _ in rules))
        object.__setattr__(self, "_either", re.compile(either))
        object.__setattr__(self, "_search", BoundedSearch(either) if self.patterns else None)

    @property
    def digest(self) -> str:
        """Two runs with one digest redact alike."""
        text = "\n".join(f"{name}={pattern}" for name, pattern in sorted(self.patterns.items()))
        return hashlib.sha256(f"{rules_digest()}\n{text}".encode()).hexdigest()

    def redact_json(self, value: Any) -> RedactedValue:
        found = _Found()
        return RedactedValue(self._walk(value, "", found, 0), found.spans, found.count)

    def _walk(self, value: Any, where: str, found: _Found, depth: int) -> Any:
        if depth > MOST_DEPTH:
            found.add(Span(where[:_WHERE_CHARS], 0, 0, "depth"))
            return "[redacted:depth]"
        if isinstance(value, str):
            return self._text(value, where, found)
        if isinstance(value, Mapping):
            safe = {}
            for name, one in value.items():
                shown = self._text(str(name), f"{where}.key", found)
                safe[shown] = self._walk(one, f"{where}.{shown}" if where else shown, found, depth + 1)
            return safe
        if isinstance(value, list | tuple):
            return [
                self._walk(one, f"{where}[{number}]", found, depth + 1) for number, one in enumerate(value)
            ]
        return value

    def _text(self, text: str, where: str, found: _Found) -> str:
        matches = self._matches(text)
        if matches is None:
            found.add(Span(where[:_WHERE_CHARS], 0, len(text), "time"))
            return "[redacted:time]"
        parts, end = [], 0
        for match in matches:
            name = self._names[match.rule]
            found.add(Span(where[:_WHERE_CHARS], match.start, match.length, name))
            parts += [text[end : match.start], f"[redacted:{name}]"]
            end = match.start + match.length
        return "".join([*parts, text[end:]]) if parts else text

    def _matches(self, text: str) -> list[Match] | None:
        """None: the search took too long."""
        if self._search is not None:
            return self._search.find(text)
        return [
            Match(one.start(), len(one[0]), int(str(one.lastgroup).removeprefix("rule")))
            for one in self._either.finditer(text)
            if one[0]
        ]


class _Found:
    def __init__(self) -> None:
        self.spans: list[Span] = []
        self.count = 0

    def add(self, span: Span) -> None:
        self.count += 1
        if len(self.spans) < MOST_SPANS:
            self.spans.append(span)


def read_patterns(texts: tuple[str, ...]) -> dict[str, str]:
    """`NAME=REGEX` of the command line; raises OperatorFault for one that cannot be used."""
    found: dict[str, str] = {}
    for text in texts:
        name, equals, pattern = text.partition("=")
        if not equals or not pattern or not _NAME.fullmatch(name):
            raise OperatorFault(f"--redact {text}: write NAME=REGEX, the name of letters, digits, _ and -")
        if name in found:
            raise OperatorFault(f"--redact {name}: the name is given twice")
        try:
            re.compile(pattern)
        except re.error as error:
            raise OperatorFault(f"--redact {name}: not a regular expression: {error}") from error
        if re.compile(pattern).groupindex or re.compile(pattern).groups:
            raise OperatorFault(f"--redact {name}: write groups as (?:...)")
        found[name] = pattern
    if len(found) > MOST_PATTERNS:
        raise OperatorFault(f"--redact: at most {MOST_PATTERNS} patterns")
    return found

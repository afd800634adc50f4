"""A file of tests -> what it uses elsewhere: words, elements of lists, items of dicts, members of enumerations.

A changed expectation that is made of them looks like the others.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable
from dataclasses import field

from steelyard.bench.twin.plausible.strings import Words
from steelyard.bench.twin.python.text import Text
from steelyard.deferred.data_class import dataclass

_LONGEST = 30
_MOST = 40
_ASKING = frozenset(["startswith", "endswith", "assertIn", "assertNotIn", "find", "index", "count"])


@dataclass(frozen=True, slots=True)
class Vocabulary:
    words: Words = field(default_factory=Words)
    elements: tuple[str, ...] = ()  # constants in lists, as they are written
    items: tuple[str, ...] = ()  # `"a": 1` in dicts
    members: dict[str, tuple[str, ...]] = field(default_factory=dict)  # Colour -> RED, GREEN
    quote: str = '"'
    needles: str = ""  # texts that the file asks for in others

    def element(self) -> list[str]:
        return [*self.elements[:4], "1", *(self.quoted(word) for word in self.words.like("word", ""))][:5]

    def item(self) -> list[str]:
        return [
            *self.items[:4],
            *(f"{self.quoted(word)}: 1" for word in self.words.like("word", "") or ["name"]),
        ][:4]

    def quoted(self, word: str) -> str:
        return f"{self.quote}{word}{self.quote}"


def vocabulary(text: Text, nodes: Iterable[ast.AST]) -> Vocabulary:
    strings: dict[str, None] = {}
    elements: dict[str, None] = {}
    items: dict[str, None] = {}
    members: dict[str, dict[str, None]] = {}
    needles: list[str] = []
    for node in nodes:
        match node:
            case ast.Compare(left=ast.Constant(value=str(value)), ops=[ast.In() | ast.NotIn()]):
                needles.append(value)
            case ast.Call(func=ast.Attribute(attr=name), args=[ast.Constant(value=str(value)), *_]) if (
                name in _ASKING
            ):
                needles.append(value)
            case ast.Constant(value=str(value)):
                strings[value] = None
            case ast.List(elts=[ast.Constant() as first, *_]) if len(elements) < _MOST:
                elements.update(_short(text.of(first)))
            case ast.Dict(keys=[ast.Constant() as key, *_], values=[ast.Constant() as value, *_]) if (
                len(items) < _MOST
            ):
                if key.lineno == value.lineno:
                    items.update(_short(f"{text.of(key)}: {text.of(value)}"))
            case ast.Attribute(value=ast.Name(id=owner), attr=name) if owner[:1].isupper() and name.isupper():
                members.setdefault(owner, {})[name] = None
    quotes = Counter(text.source[place : place + 1] for place in _first_quotes(text.source))
    return Vocabulary(
        Words.of(strings),
        tuple(elements),
        tuple(items),
        {owner: tuple(names) for owner, names in members.items()},
        "'" if quotes[b"'"] > quotes[b'"'] else '"',
        " ".join(needles),
    )


def _short(text: str) -> dict[str, None]:
    return {text: None} if len(text) <= _LONGEST and "\n" not in text else {}


def _first_quotes(source: bytes) -> Iterable[int]:
    """Where the first quotes of the first lines are."""
    start = 0
    for line in source[:20_000].splitlines(keepends=True):
        found = [place for place in (line.find(b'"'), line.find(b"'")) if place >= 0]
        if found:
            yield start + min(found)
        start += len(line)

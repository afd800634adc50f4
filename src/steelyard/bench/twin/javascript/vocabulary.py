"""A JavaScript file -> what it uses elsewhere: words, elements of arrays, properties, members of enumerations."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from steelyard.bench.twin.plausible.strings import Words

_STRINGS = re.compile(r"'([^'\\\n]{1,80})'|\"([^\"\\\n]{1,80})\"|`([^`\\$]{1,80})`")
_ELEMENTS = re.compile(r"\[\s*('[^'\\\n]{1,20}'|\"[^\"\\\n]{1,20}\"|\d{1,6})\s*[,\]]")
_PROPERTIES = re.compile(
    r"\{\s*(\w{1,20}: (?:'[^'\\\n]{1,20}'|\"[^\"\\\n]{1,20}\"|\d{1,6}|true|false))\s*[,}]"
)
_MEMBERS = re.compile(r"\b([A-Z]\w*)\.([A-Z][A-Z0-9_]+)\b")
_NEEDLES = re.compile(
    r"(?:[iI]ncludes?|[sS]tartsWith|[eE]ndsWith|indexOf|[cC]ontain|[mM]atch)\(\s*['\"/]([^'\"/\n]+)"
)
_ERRORS = re.compile(r"\b(?:Type|Range|Syntax|Reference)Error\b")
_NOT_DATA = re.compile(r"^.*(?:\brequire\(|\bimport\b|\bfrom\s+['\"]|['\"]use strict['\"]).*$", re.MULTILINE)
_MOST = 20


@dataclass(frozen=True, slots=True)
class Vocabulary:
    words: Words = field(default_factory=Words)
    elements: tuple[str, ...] = ()
    properties: tuple[str, ...] = ()
    members: dict[str, tuple[str, ...]] = field(default_factory=dict)
    quote: str = "'"
    errors: tuple[str, ...] = ()  # classes of errors that the file names
    needles: str = ""  # texts that the file asks for in others

    def quoted(self) -> list[str]:
        return [f"{self.quote}{word}{self.quote}" for word in self.words.like("word", "")]

    def element(self) -> list[str]:
        return [*self.elements[:4], "1", *self.quoted()][:5]

    def property(self) -> list[str]:
        return [*self.properties[:4], *(f"{word}: 1" for word in self.words.like("word", "") or ["name"])][:4]


def vocabulary(source: str) -> Vocabulary:
    source = _NOT_DATA.sub("", source)
    strings = [next(filter(None, found), "") for found in _STRINGS.findall(source)]
    members: dict[str, dict[str, None]] = {}
    for owner, name in _MEMBERS.findall(source):
        members.setdefault(owner, {})[name] = None
    return Vocabulary(
        Words.of(strings),
        tuple(dict.fromkeys(_ELEMENTS.findall(source)))[:_MOST],
        tuple(dict.fromkeys(_PROPERTIES.findall(source)))[:_MOST],
        {owner: tuple(names) for owner, names in members.items()},
        '"' if source.count('"') > source.count("'") else "'",
        tuple(dict.fromkeys(_ERRORS.findall(source))),
        " ".join(_NEEDLES.findall(source)),
    )

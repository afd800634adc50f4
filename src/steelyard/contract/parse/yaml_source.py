"""YAML bytes -> plain data, and where each key and value of it is.

    id: demo            data       {"id": "demo", "setup": ["make"]}
    setup:              positions  {("id",): "contract.yaml:1:1", ("setup",): "contract.yaml:2:1",
      - make                        ("setup", 0): "contract.yaml:3:5"}

Built from the parser's events without recursion, so that no input can make it large or deep: size, depth and
the number of values *after* aliases are expanded are limited. Only what JSON can say comes out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from steelyard.contract.parse.yaml_words import meaning
from steelyard.errors import ContractFault, Problem
from steelyard.filesystem.tree import shown

MOST_BYTES = 1 << 20
MOST_VALUES = 100_000
MOST_DEPTH = 64

_ODD = re.compile("[\\0\\ud800-\\udfff]")  # no file name, argument or variable can hold a NUL

Place = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Source:
    """What a YAML file says, and where it says it."""

    file: str
    data: dict[str, Any]
    positions: Mapping[Place, str]

    def where(self, place: Place) -> str:
        """The position of the deepest part of `place` that is written down."""
        for end in range(len(place), -1, -1):
            if place[:end] in self.positions:
                return self.positions[place[:end]]
        return self.file


def read_yaml(path: Path) -> Source:
    """Read a file that must hold one mapping; raises ContractFault with the position of what is wrong."""
    try:
        with path.open("rb") as file:
            raw = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise _fault(str(path), f"cannot be read: {error.strerror}") from error
    return parse_yaml(raw, str(path))


def parse_yaml(raw: bytes, file: str) -> Source:
    building = _built(raw, file)
    if not isinstance(building.document, dict):
        if building.document is None:
            fix = "`steelyard init` writes one to start from" if file.endswith("contract.yaml") else ""
            raise _fault(file, "the file is empty", fix=fix)
        raise _fault(file, "the file must be a mapping of keys to values, such as `id: my-contract`")
    return Source(file, building.document, building.positions)


def parse_yaml_list(raw: bytes, file: str, key: str) -> Source:
    """A file that holds a list, or a mapping with nothing but that list under `key`; a mapping either way."""
    building = _built(raw, file)
    if isinstance(building.document, list):
        positions = {(key, *place): where for place, where in building.positions.items()}
        return Source(file, {key: building.document}, positions)
    if not isinstance(building.document, dict) or [*building.document] != [key]:
        raise _fault(file, f"expected a list, or a mapping with `{key}` alone")
    return Source(file, building.document, building.positions)


def _built(raw: bytes, file: str) -> _Building:
    if len(raw) > MOST_BYTES:
        raise _fault(file, f"larger than {MOST_BYTES} bytes")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        column = error.start - raw.rfind(b"\n", 0, error.start)
        raise _fault(f"{file}:{line}:{column}", "not UTF-8 text", fix="save the file as UTF-8") from error
    building = _Building(file)
    try:
        for event in yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
            building.take(event)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        if _is_tab(text, mark):
            raise _fault(_at(file, mark), "the line is indented with a tab", fix="use spaces") from error
        raise _fault(_at(file, mark), f"not valid YAML: {error.problem or error.context}") from error
    except yaml.YAMLError as error:  # a control character: the reader knows a position, but no line
        raise _fault(file, f"not valid YAML: {str(error).splitlines()[0]}") from error
    return building


@dataclass
class _Open:
    """A mapping or list that is still being read."""

    place: Place
    value: dict[str, Any] | list[Any]
    anchor: str | None
    first_value: int  # how many values there were before it
    key: str | None = None  # of the mapping: read, its value not yet


@dataclass
class _Building:
    file: str
    document: Any = None
    documents: int = 0
    values: int = 0
    positions: dict[Place, str] = field(default_factory=dict)
    stack: list[_Open] = field(default_factory=list)
    anchors: dict[str, tuple[Any, int]] = field(default_factory=dict)

    def take(self, event: yaml.Event) -> None:
        if isinstance(event, yaml.DocumentStartEvent):
            self.documents += 1
            if self.documents > 1:
                raise self._fault(event, "a second document", fix="one contract per file")
        elif isinstance(event, yaml.NodeEvent):
            self._node(event)
        elif isinstance(event, yaml.CollectionEndEvent):
            closed = self.stack.pop()
            if closed.anchor is not None:
                self.anchors[closed.anchor] = (closed.value, self.values - closed.first_value)

    def _node(self, event: yaml.NodeEvent) -> None:
        tag = getattr(event, "tag", None)
        if tag is not None and tag != "!":
            raise self._fault(event, f"the tag {shown(tag)} is not allowed", fix="plain values only")
        parent = self.stack[-1] if self.stack else None
        if parent is not None and isinstance(parent.value, dict) and parent.key is None:
            parent.key = self._key(event, parent)
            return
        place = self._place(parent)
        if place not in self.positions:  # that of its key, if it has one
            self.positions[place] = _at(self.file, event.start_mark)
        self._put(parent, self._value(event, place))

    def _key(self, event: yaml.NodeEvent, parent: _Open) -> str:
        if not isinstance(event, yaml.ScalarEvent):
            raise self._fault(event, "a key must be plain text")
        key = self._scalar(event)
        if not isinstance(key, str):
            raise self._fault(event, f"the key {event.value} is not text", fix="put it in quotes")
        if key == "<<" and event.implicit[0]:
            raise self._fault(event, "merge keys (<<) are not allowed", fix="write the keys out")
        if key in parent.value:
            raise self._fault(event, f"the key {shown(key)} occurs twice")
        if event.anchor is not None:
            self.anchors[event.anchor] = (key, 1)
        self.positions[(*parent.place, key)] = _at(self.file, event.start_mark)
        return key

    def _place(self, parent: _Open | None) -> Place:
        if parent is None:
            return ()
        last = parent.key if parent.key is not None else len(parent.value)
        return (*parent.place, last)

    def _value(self, event: yaml.NodeEvent, place: Place) -> Any:
        if isinstance(event, yaml.AliasEvent):
            return self._alias(event)
        self._count(event, 1)
        if isinstance(event, yaml.ScalarEvent):
            value = self._scalar(event)
            if event.anchor is not None:
                self.anchors[event.anchor] = (value, 1)
            return value
        if len(self.stack) >= MOST_DEPTH:
            raise self._fault(event, f"nested deeper than {MOST_DEPTH} levels")
        opened: dict[str, Any] | list[Any] = {} if isinstance(event, yaml.MappingStartEvent) else []
        if event.anchor is not None:
            self.anchors.pop(event.anchor, None)  # an alias to it inside itself must not find an older one
        self.stack.append(_Open(place, opened, event.anchor, self.values - 1))
        return opened

    def _alias(self, event: yaml.AliasEvent) -> Any:
        anchor = str(event.anchor)
        if any(open_.anchor == anchor for open_ in self.stack):
            raise self._fault(event, f"*{shown(anchor)} contains itself")
        if anchor not in self.anchors:
            raise self._fault(event, f"*{shown(anchor)} has no anchor before it")
        value, count = self.anchors[anchor]
        self._count(event, count)
        return value

    def _put(self, parent: _Open | None, value: Any) -> None:
        if parent is None:
            self.document = value
        elif isinstance(parent.value, dict):
            assert parent.key is not None
            parent.value[parent.key] = value
            parent.key = None
        else:
            parent.value.append(value)

    def _count(self, event: yaml.Event, more: int) -> None:
        self.values += more
        if self.values > MOST_VALUES:
            raise self._fault(event, f"more than {MOST_VALUES} values once aliases are expanded")

    def _scalar(self, event: yaml.ScalarEvent) -> Any:
        quoted = not event.implicit[0]  # or a block of text
        try:
            value = event.value if quoted else meaning(event.value)
        except ValueError as error:
            raise self._fault(event, str(error)) from error
        if isinstance(value, str) and (odd := _ODD.search(value)):
            what = "a NUL character" if odd[0] == "\0" else "an invalid character (a lone surrogate)"
            raise self._fault(event, what)
        return value

    def _fault(self, event: yaml.Event, message: str, *, fix: str = "") -> ContractFault:
        return _fault(_at(self.file, event.start_mark), message, fix=fix)


def dotted(place: Place) -> str:
    """A place as people write it: `oracle.checks[0].timeout_s`."""
    return "".join(_dotted_parts(place))


def _dotted_parts(place: Place) -> Iterator[str]:
    for number, part in enumerate(place):
        if isinstance(part, int):
            yield f"[{part}]"
        else:
            yield f".{shown(part)}" if number else shown(part)


def _at(file: str, mark: Any) -> str:
    return file if mark is None else f"{file}:{mark.line + 1}:{mark.column + 1}"


def _is_tab(text: str, mark: Any) -> bool:
    """Whether the character at `mark` is a tab; libyaml says only that it cannot start any token."""
    lines = text.split("\n")
    return mark is not None and mark.line < len(lines) and lines[mark.line][mark.column :].startswith("\t")


def _fault(where: str, message: str, *, fix: str = "") -> ContractFault:
    return ContractFault(Problem(where=where, field="", message=message, fix=fix))

"""YAML bytes -> plain data, and where each key and value of it is.

    id: demo            data       {"id": "demo", "setup": ["make"]}
    setup:              positions  {("id",): "contract.yaml:1:1", ("setup",): "contract.yaml:2:1",
      - make                        ("setup", 0): "contract.yaml:3:5"}

Nodes are composed first, then read. No input can make them large or deep: size, depth and the number of values
*after* aliases are expanded are limited. Only what JSON can say comes out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from pathlib import Path
from typing import Any

import yaml

from steelyard.contract.parse.yaml_words import parse_word
from steelyard.deferred.data_class import dataclass
from steelyard.deferred.pattern import deferred_pattern
from steelyard.errors import ContractFault, Problem
from steelyard.filesystem.tree import printable

MOST_BYTES = 1 << 20
MOST_VALUES = 100_000
MOST_DEPTH = 64
TOO_MANY = f"more than {MOST_VALUES} values once aliases are expanded"

PLAIN, TEXT, ALIAS = "plain", "text", "alias"  # tags of composed nodes
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_ODD = deferred_pattern("[\\0\\ud800-\\udfff]")  # no file name, argument or variable can hold a NUL

YamlPath = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Source:
    """What a YAML file says, and where it says it."""

    file: str
    data: dict[str, Any]
    positions: Mapping[YamlPath, str]

    def where(self, place: YamlPath) -> str:
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
    reader = _read(raw, file)
    if not isinstance(reader.document, dict):
        if reader.document is None:
            raise _fault(file, "the file is empty", fix="`steelyard init FOLDER` writes one to start from")
        raise _fault(file, "the file must be a mapping of keys to values, such as `id: my-contract`")
    return Source(file, reader.document, reader.positions)


def parse_yaml_list(raw: bytes, file: str, key: str) -> Source:
    """A file that holds a list, or a mapping with nothing but that list under `key`; a mapping either way."""
    reader = _read(raw, file)
    if isinstance(reader.document, list):
        positions = {(key, *place): where for place, where in reader.positions.items()}
        return Source(file, {key: reader.document}, positions)
    if not isinstance(reader.document, dict) or [*reader.document] != [key]:
        raise _fault(file, f"expected a list, or a mapping with `{key}` alone")
    return Source(file, reader.document, reader.positions)


def _read(raw: bytes, file: str) -> _Reader:
    if len(raw) > MOST_BYTES:
        raise _fault(file, f"larger than {MOST_BYTES} bytes")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        column = error.start - raw.rfind(b"\n", 0, error.start)
        raise _fault(f"{file}:{line}:{column}", "not UTF-8 text", fix="save the file as UTF-8") from error
    reader = _Reader(file)
    try:
        root = _Composer(text, file).compose_single()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        if mark is not None and _is_tab(text, mark):
            raise _fault(
                _at(file, mark), f"line {mark.line + 1} is indented with a tab", fix="use spaces"
            ) from error
        raise _fault(_at(file, mark), f"not valid YAML: {error.problem or error.context}") from error
    except yaml.YAMLError as error:  # a control character: the reader knows a position, but no line
        raise _fault(file, f"not valid YAML: {str(error).splitlines()[0]}") from error
    if root is not None:
        reader.document = reader.value(root, ())
    return reader


class _Composer(yaml.composer.Composer, _LOADER):  # type: ignore[misc]  # the fast loader, where there is one
    """Composes the nodes of one document: no tags, no cycles, at most MOST_DEPTH levels.

    A scalar has the tag PLAIN or TEXT. An alias stays a node, with the tag ALIAS and its target as the value, so that it
    keeps its position.
    """

    def __init__(self, text: str, file: str) -> None:
        _LOADER.__init__(self, text)
        yaml.composer.Composer.__init__(self)
        self.file = file
        self.open: list[str | None] = []  # the anchors of the nodes around the next one
        self.nodes = 0

    def compose_single(self) -> yaml.Node | None:
        self.get_event()  # the start of the stream
        root = None if self.check_event(yaml.StreamEndEvent) else self.compose_document()
        if not self.check_event(yaml.StreamEndEvent):
            raise _fault_at(self.file, self.peek_event(), "a second document", fix="one contract per file")
        return root

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        event = self.peek_event()
        tag = getattr(event, "tag", None)
        if tag is not None and tag != "!":
            raise _fault_at(
                self.file, event, f"the tag {printable(tag)} is not allowed", fix="plain values only"
            )
        if isinstance(event, yaml.AliasEvent):
            return self._alias(self.get_event())
        if isinstance(event, yaml.CollectionStartEvent) and len(self.open) >= MOST_DEPTH:
            raise _fault_at(self.file, event, f"nested deeper than {MOST_DEPTH} levels")
        self.nodes += 1
        if self.nodes > 2 * MOST_VALUES:  # a key and a value each
            raise _fault_at(self.file, event, TOO_MANY)
        self.anchors.pop(event.anchor, None)  # the name of an anchor may be used again
        self.open.append(event.anchor)
        node = super().compose_node(parent, index)
        self.open.pop()
        return node

    def _alias(self, event: yaml.AliasEvent) -> yaml.Node:
        anchor = str(event.anchor)
        if anchor in self.open:
            raise _fault_at(self.file, event, f"*{printable(anchor)} contains itself")
        if anchor not in self.anchors:
            raise _fault_at(self.file, event, f"*{printable(anchor)} has no anchor before it")
        return yaml.Node(ALIAS, self.anchors[anchor], event.start_mark, event.end_mark)  # type: ignore[arg-type]  # marks of C

    def resolve(self, kind: type[yaml.Node], value: Any, implicit: Any) -> str:  # noqa: ARG002  # PyYAML's signature
        return PLAIN if kind is yaml.ScalarNode and implicit[0] else TEXT


@dataclass
class _Reader:
    """Reads composed nodes; `known` has the value of every node, and how many values that is."""

    file: str
    document: Any = None
    values: int = 0
    positions: dict[YamlPath, str] = field(default_factory=dict)
    known: dict[int, tuple[Any, int]] = field(default_factory=dict)

    def value(self, node: yaml.Node, place: YamlPath) -> Any:
        self.positions.setdefault(place, _at(self.file, node.start_mark))  # that of its key, if it has one
        if node.tag is ALIAS:
            value, count = self.known[id(node.value)]
            self._count(node, count)
            return value
        before = self.values
        self._count(node, 1)
        if isinstance(node, yaml.SequenceNode):
            value = [self.value(item, (*place, number)) for number, item in enumerate(node.value)]
        elif isinstance(node, yaml.MappingNode):
            value = self._mapping(node, place)
        else:
            value = self._scalar(node)
        self.known[id(node)] = (value, self.values - before)
        return value

    def _mapping(self, node: yaml.MappingNode, place: YamlPath) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name, inner in node.value:
            key = self._key(name)
            if key in found:
                raise _fault_at(self.file, name, f"the key {printable(key)} occurs twice")
            self.known[id(name)] = (key, 1)
            self.positions[(*place, key)] = _at(self.file, name.start_mark)
            found[key] = self.value(inner, (*place, key))
        return found

    def _key(self, node: yaml.Node) -> str:
        if not isinstance(node, yaml.ScalarNode):
            raise _fault_at(self.file, node, "a key must be plain text")
        key = self._scalar(node)
        if not isinstance(key, str):
            raise _fault_at(self.file, node, f"the key {node.value} is not text", fix="put it in quotes")
        if key == "<<" and node.tag is PLAIN:
            raise _fault_at(self.file, node, "merge keys (<<) are not allowed", fix="write the keys out")
        return key

    def _scalar(self, node: yaml.Node) -> Any:
        try:
            value = parse_word(node.value) if node.tag is PLAIN else node.value
        except ValueError as error:
            raise _fault_at(self.file, node, str(error)) from error
        if isinstance(value, str) and (odd := _ODD.search(value)):
            what = "a NUL character" if odd[0] == "\0" else "an invalid character (a lone surrogate)"
            raise _fault_at(self.file, node, what)
        return value

    def _count(self, node: yaml.Node, more: int) -> None:
        self.values += more
        if self.values > MOST_VALUES:
            raise _fault_at(self.file, node, TOO_MANY)


def dotted_path(place: YamlPath) -> str:
    """A place as people write it: `oracle.checks[0].timeout_s`."""
    return "".join(_dotted_parts(place))


def _dotted_parts(place: YamlPath) -> Iterator[str]:
    for number, part in enumerate(place):
        if isinstance(part, int):
            yield f"[{part}]"
        else:
            yield f".{printable(part)}" if number else printable(part)


def _at(file: str, mark: Any) -> str:
    return file if mark is None else f"{file}:{mark.line + 1}:{mark.column + 1}"


def _is_tab(text: str, mark: Any) -> bool:
    """Whether the character at `mark` is a tab; libyaml says only that it cannot start any token."""
    lines = text.split("\n")
    return mark is not None and mark.line < len(lines) and lines[mark.line][mark.column :].startswith("\t")


def _fault_at(file: str, marked: yaml.Event | yaml.Node, message: str, *, fix: str = "") -> ContractFault:
    return _fault(_at(file, marked.start_mark), message, fix=fix)


def _fault(where: str, message: str, *, fix: str = "") -> ContractFault:
    return ContractFault(Problem(where=where, field="", message=message, fix=fix))

"""An expected value in Go, as it is written -> the edits that make it another value of the same type.

    3                       4                       a literal, or one in a composite literal, in a conversion
    "abc", 'a', `raw`       "abd", 'b', `row`       the text between escapes
    []string{}              []string{"a"}           an empty slice of a basic type
    5 * time.Second         6 * time.Second
    NewMoney(5)             NewMoney(6)             only likely, and only where the name is one of a constructor

A file with such an edit still compiles: types stay, a number stays within the smallest type that holds the old one, and
keys of maps are never changed, because two equal ones do not compile.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from steelyard.bench.twin.base import Edit
from steelyard.bench.twin.plausible.strings import Words, is_phrase, other_needles, other_strings
from steelyard.bench.twin.plausible.typed_numbers import other_floats, other_letters, other_whole
from steelyard.bench.twin.sites import Odds
from steelyard.bench.twin.syntax_nodes import (
    Others,
    Vary,
    edits_of_leaves,
    few,
    replace_node,
    text_of,
    values_of,
)

if TYPE_CHECKING:
    from tree_sitter import Node

_STRINGS = re.compile(r'"([^"\\\n]{1,80})"|`([^`\\]{1,80})`')
_NOT_DATA = re.compile(r"(?s)\bimport\s*\(.*?\)|\bimport\s[^\n]*|\.(?:Errorf|Fatalf|Logf|Skipf)\([^\n]*")
_TEXTS = frozenset(["interpreted_string_literal", "raw_string_literal"])
_FRAGMENTS = frozenset(["interpreted_string_literal_content", "raw_string_literal_content"])
_LITERALS = frozenset(["int_literal", "float_literal", "rune_literal", "true", "false", *_TEXTS])
_FLIPPED = {"true": "false", "false": "true"}
_BASIC = re.compile(r"(u?int(8|16|32|64)?|float(32|64)|byte|rune|string|bool|uintptr)")
_UNITS = re.compile(r"(time\.)?(Nanosecond|Microsecond|Millisecond|Second|Minute|Hour)")
_CONSTRUCTOR = re.compile(r"(.*\.)?(New|Must|Parse|Date|Unix|Of|From|new|must)(?![a-z])\w*")

NO_OTHERS = Others(Odds.OPEN, [])


def parse_call(node: Node) -> tuple[str, list[Node]]:
    """`strings.Contains` and its arguments; nothing for what is not a plain call."""
    function, arguments = node.child_by_field_name("function"), node.child_by_field_name("arguments")
    if node.type != "call_expression" or function is None or arguments is None:
        return "", []
    is_spread = any(one.type in {"...", "variadic_argument"} for one in arguments.children)
    if is_spread or function.type not in {"identifier", "selector_expression"}:
        return "", []
    return text_of(function), values_of(arguments)


def words_of(source: bytes) -> Words:
    """The words of a file's strings, without imports and messages."""
    data = _NOT_DATA.sub("", source.decode(errors="replace"))
    return Words.of(next(filter(None, found), "") for found in _STRINGS.findall(data))


def plain(node: Node) -> Node:
    """Without parentheses, and without what a list of elements puts around its expressions."""
    while node.type in {"parenthesized_expression", "literal_element"} and len(values_of(node)) == 1:
        node = values_of(node)[0]
    return node


@dataclass(frozen=True, slots=True)
class Literals:
    """Makes other values in one file."""

    words: Words = field(default_factory=Words)
    needles_beside: str = ""  # texts that the file asks for in others

    def others(self, node: Node) -> Others:
        """No edits where nothing can be changed."""
        node = plain(node)
        written = self._written(node)
        if written:
            return Others(Odds.CERTAIN, written)
        name, arguments = parse_call(node)
        if _BASIC.fullmatch(name) or _CONSTRUCTOR.fullmatch(name):
            inner = [few(self._written(plain(one))) for one in arguments]
            found = [edit for edits in inner for edit in edits]
            return Others(Odds.CERTAIN if _BASIC.fullmatch(name) else Odds.LIKELY, found)
        return NO_OTHERS

    def needles(self, node: Node) -> Others:
        """A text that must be in another; of a single word it is only likely that the other word is not."""
        edits = self.varied(node, lambda text, words: other_needles(text, words, self.needles_beside))
        return Others(Odds.CERTAIN if is_phrase(text_of(node)) else Odds.LIKELY, edits)

    def varied(self, node: Node, vary: Vary) -> list[Edit]:
        """A string without escapes, with another text inside."""
        fragments = [one for one in node.named_children if one.type in _FRAGMENTS]
        if node.type not in _TEXTS or len(node.named_children) != 1 or not fragments:
            return []
        return [_within(fragments[0], one) for one in vary(text_of(fragments[0]), self.words) if _fits(one)]

    def zero(self, type_name: str) -> list[str]:
        """Values of a basic type that are not its zero."""
        if type_name == "string":
            return [f'"{word}"' for word in [*self.words.like("word", ""), "a"][:2]]
        if type_name == "bool":
            return ["true"]
        return ["1", "2"] if _BASIC.fullmatch(type_name) else []

    def _written(self, node: Node) -> list[Edit]:
        if node.type == "composite_literal":
            kind, body = node.child_by_field_name("type"), node.child_by_field_name("body")
            if kind is not None and body is not None and not values_of(body):
                element = kind.child_by_field_name("element") if kind.type == "slice_type" else None
                some = self.zero(text_of(element)) if element is not None else []
                return [Edit(body.start_byte, body.end_byte, f"{{{one}}}") for one in some]
        return edits_of_leaves(list(_leaves(node)), self._others_of)

    def _others_of(self, leaf: Node) -> Iterator[Edit]:
        text = text_of(leaf)
        if text in _FLIPPED:
            yield replace_node(leaf, _FLIPPED[text])
        elif leaf.type == "int_literal":
            yield from (replace_node(leaf, one) for one in other_whole(text))
        elif leaf.type == "float_literal":
            yield from (replace_node(leaf, one) for one in other_floats(text))
        elif leaf.type == "rune_literal":
            yield from (replace_node(leaf, f"'{one}'") for one in other_letters(text[1:-1]))
        else:
            yield from self._other_strings(leaf)

    def _other_strings(self, leaf: Node) -> Iterator[Edit]:
        """One fragment between escapes changed."""
        fragments = [one for one in leaf.named_children if one.type in _FRAGMENTS]
        if not leaf.named_children and len(text_of(leaf)) == 2:
            inside = Edit(leaf.start_byte + 1, leaf.end_byte - 1, "")
            yield from (inside._replace(text=one) for one in other_strings("", self.words))
        elif not fragments:
            yield from (Edit(leaf.end_byte - 1, leaf.end_byte - 1, one) for one in ("-", "."))
        for fragment in sorted(fragments, key=lambda one: one.start_byte - one.end_byte)[:2]:
            old = text_of(fragment)
            for new in other_strings(old, self.words):
                if _fits(new) and new.count("\n") == old.count("\n"):
                    yield _within(fragment, new)


def _within(fragment: Node, text: str) -> Edit:
    return Edit(fragment.start_byte, fragment.end_byte, text)


def _fits(text: str) -> bool:
    return not any(sign in text for sign in '"`\\')


def _leaves(node: Node) -> Iterator[Node]:
    """The literals that make a value: none of them can be hidden by another part of it."""
    node = plain(node)
    operand = node.child_by_field_name("operand")
    if node.type in _LITERALS:
        yield node
    elif operand is not None and (node.type == "type_conversion_expression" or _is_signed(node)):
        yield from _leaves(operand)
    elif node.type == "binary_expression":
        yield from _factor(node)
    elif node.type == "composite_literal":
        body = node.child_by_field_name("body")
        yield from () if body is None else _leaves(body)
    elif node.type == "literal_value":
        for one in values_of(node):
            value = one.child_by_field_name("value") if one.type == "keyed_element" else one
            yield from () if value is None else _leaves(value)


def _is_signed(node: Node) -> bool:
    return node.type == "unary_expression" and text_of(node)[0] in "-+&"


def _factor(node: Node) -> Iterator[Node]:
    """The number of `5 * time.Second`."""
    sides = [node.child_by_field_name("left"), node.child_by_field_name("right")]
    numbers = [one for one in sides if one is not None and one.type == "int_literal"]
    units = [one for one in sides if one is not None and _UNITS.fullmatch(text_of(one))]
    if text_of(node.child_by_field_name("operator")) == "*" and len(numbers) == len(units) == 1:
        yield numbers[0]

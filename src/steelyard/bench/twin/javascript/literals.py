"""An expected value in JavaScript, as it is written -> the edits that make it another value of the same kind.

    3                   4                     a literal, or one in an array, an object, a new Set([...])
    ['a', 'b']          ['a'], ['a', 'c']     one element more or less
    `${name}!`          `${name}?`            the text beside what is put in
    new Money(5)        new Money(6)          only likely
    expected            -                     nothing: here only the opposite is left

What equalled the old value, strictly or loosely, shallowly or deeply, does not equal a *certain* new one.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from steelyard.bench.twin.base import Edit
from steelyard.bench.twin.javascript.vocabulary import Vocabulary
from steelyard.bench.twin.plausible.numbers import other_numbers
from steelyard.bench.twin.plausible.strings import is_phrase, other_needles, other_strings
from steelyard.bench.twin.sites import Odds
from steelyard.bench.twin.syntax_nodes import (
    MAX_LEAVES,
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

_FIXED = {"true": "false", "false": "true"}
_NOTHING = frozenset(["null", "undefined"])
_LITERALS = frozenset(["number", "string", "template_string", "true", "false", "null", "undefined"])
_FRAGMENTS = frozenset(["string_fragment", "template_chars"])
_COLLECTIONS = ("Set", "Map")
_PLAIN_PATTERN = re.compile(r"[\w\s,:;'!@#%&=<>\"-]+")
_EMPTY = {"array": "[]", "object": "{}"}


class Constant(NamedTuple):
    """What a `const` of a test is, and whether more than one place reads it."""

    value: Node
    shared: bool


@dataclass(frozen=True, slots=True)
class Literals:
    """Makes other values in one file; `constants` and `own` are of the test that is looked at."""

    vocabulary: Vocabulary = field(default_factory=Vocabulary)
    constants: Mapping[str, Constant] = field(default_factory=dict)
    own: str = ""  # the text of the test

    def others(self, node: Node) -> Others:
        """No edits when nothing in it can be changed."""
        constant = self.constants.get(text_of(node)) if node.type == "identifier" else None
        if constant is not None:
            edits = self._written(constant.value)
            if constant.shared:  # then another value stands for it here
                simple = constant.value.type in {"number", "string"}
                edits = [replace_node(node, _after(constant.value, edit)) for edit in edits if simple]
            return Others(Odds.CERTAIN, edits)
        certain = self._written(node)
        if certain:
            return Others(Odds.CERTAIN, certain)
        owner, _, name = text_of(node).partition(".")
        names = self.vocabulary.members.get(owner, ())
        if node.type == "member_expression" and name in names and len(names) > 1:
            return Others(
                Odds.CERTAIN, [replace_node(node, f"{owner}.{one}") for one in names if one != name]
            )
        if node.type in {"new_expression", "call_expression"}:
            arguments = node.child_by_field_name("arguments")
            inner = [few(self._written(one)) for one in (values_of(arguments) if arguments else [])]
            return Others(Odds.LIKELY, [edit for edits in inner for edit in edits])
        return Others(Odds.OPEN, [])

    def varied(self, node: Node, vary: Vary) -> list[Edit]:
        """A string, or a pattern that is a text, with another text inside."""
        if node.type == "regex":
            pattern = node.child_by_field_name("pattern")
            if pattern is None or not _PLAIN_PATTERN.fullmatch(text_of(pattern)):
                return []
            return [replace_node(pattern, one) for one in vary(text_of(pattern), self.vocabulary.words)]
        if node.type != "string":
            return []
        fragments = [one for one in node.named_children if one.type in _FRAGMENTS]
        if len(fragments) != 1 or len(node.named_children) != 1:
            return []
        return [replace_node(fragments[0], one) for one in vary(text_of(fragments[0]), self.vocabulary.words)]

    def needles(self, node: Node) -> Others:
        """A text that must be in another; of a single word it is only likely that the other word is not."""
        beside = f"{self.own} {self.vocabulary.needles}"
        edits = self.varied(node, lambda text, words: other_needles(text, words, beside))
        return Others(Odds.CERTAIN if is_phrase(text_of(node)) else Odds.LIKELY, edits)

    def _written(self, node: Node) -> list[Edit]:
        if node.type in {"array", "object"} and not values_of(node):
            if node.type == "array":
                return [replace_node(node, f"[{one}]") for one in self.vocabulary.element()]
            return [replace_node(node, f"{{ {one} }}") for one in self.vocabulary.property()]
        leaves = list(_leaves(node))
        taken = {text_of(leaf) for leaf in leaves}
        found = self._longer_or_shorter(node) if node.type == "array" else []
        if leaves and node.type in _EMPTY and len(values_of(node)) < MAX_LEAVES and "\n" not in text_of(node):
            found.append(replace_node(node, _EMPTY[node.type]))
        if found and _is_progression(leaves):
            return found

        def others_of(leaf: Node) -> list[Edit]:
            # A value that is elsewhere in the same collection might make it the same collection.
            return [edit for edit in self._others_of(leaf) if _after(leaf, edit) not in taken]

        return found + edits_of_leaves(leaves, others_of)

    def _longer_or_shorter(self, node: Node) -> list[Edit]:
        parts = values_of(node)
        texts = [text_of(one) for one in parts]
        kinds = {one.type for one in parts}
        if len(kinds) != 1 or not kinds <= {"number", "string"} or len(set(texts)) < len(texts):
            return []
        last = parts[-1]
        start = parts[-2].end_byte if len(parts) > 1 else node.start_byte + 1
        between = (node.text or b"")[start - node.start_byte : last.start_byte - node.start_byte]
        found = [Edit(start, last.end_byte, "")] if b"\n" not in between and b"/" not in between else []
        more = [_after(last, edit) for edit in self._others_of(last)]
        if _is_progression(parts):
            more = [f"{int(2 * _number(texts[-1]) - _number(texts[-2]))}"]
        found += [Edit(last.end_byte, last.end_byte, f", {one}") for one in more if one not in texts][:2]
        return found

    def _others_of(self, leaf: Node) -> list[Edit]:
        text = text_of(leaf)
        if text in _FIXED:
            return [replace_node(leaf, _FIXED[text])]
        if text in _NOTHING:
            return [replace_node(leaf, one) for one in ("false", "true", *self.vocabulary.quoted(), "0", "1")]
        if leaf.type == "number":
            return [replace_node(leaf, one) for one in other_numbers(text) if _number(one) != _number(text)]
        return list(self._other_strings(leaf))

    def _other_strings(self, leaf: Node) -> Iterator[Edit]:
        """One fragment between escapes and substitutions changed."""
        fragments = [one for one in leaf.named_children if one.type in _FRAGMENTS]
        if not leaf.named_children:
            inside = Edit(leaf.start_byte + 1, leaf.end_byte - 1, "")
            yield from (inside._replace(text=one) for one in other_strings("", self.vocabulary.words))
            return
        has_substitution = any(one.type == "template_substitution" for one in leaf.named_children)
        for fragment in sorted(fragments, key=lambda one: one.start_byte - one.end_byte)[:2]:
            old = text_of(fragment)
            if has_substitution and not re.search(r"[^\W_]", old):
                continue
            for new in other_strings(old, self.vocabulary.words):
                if len(fragments) > 1 or _number(old) != _number(new) or math.isnan(_number(new)):
                    yield replace_node(fragment, new)
        if not fragments and not has_substitution:
            yield from (Edit(leaf.end_byte - 1, leaf.end_byte - 1, one) for one in ("-", "."))


def _after(leaf: Node, edit: Edit) -> str:
    """The text of a leaf after an edit inside it."""
    text = leaf.text or b""
    before, after = text[: edit.start - leaf.start_byte], text[edit.end - leaf.start_byte :]
    return before.decode(errors="replace") + edit.text + after.decode(errors="replace")


def _is_progression(parts: list[Node]) -> bool:
    """1, 2, 3: a number in between that is another one would be conspicuous."""
    texts = [text_of(one) for one in parts]
    if len(texts) < 3 or not all(text.isdigit() for text in texts):
        return False
    steps = {int(two) - int(one) for one, two in itertools.pairwise(texts)}
    return len(steps) == 1 and steps != {0} and 2 * int(texts[-1]) >= int(texts[-2])


def _number(text: str) -> float:
    """As a loose comparison takes it."""
    plain = text.strip().rstrip("n").replace("_", "")
    try:
        return float(int(plain, 0)) if re.match(r"0[xXoObB]", plain) else float(plain or 0)
    except (ValueError, OverflowError):
        return math.nan


def _leaves(node: Node) -> Iterator[Node]:
    """The literals that make the value; none when a part of it might hide another."""
    if node.type in _LITERALS or text_of(node) == "undefined":
        yield node
    elif node.type == "new_expression":
        yield from _in_collection(node)
    else:
        for part in _parts(node):
            yield from _leaves(part)


def _parts(node: Node) -> list[Node]:
    children = values_of(node)
    match node.type:
        case "parenthesized_expression":
            return children
        case "unary_expression" if text_of(node).startswith("-"):
            return children
        case "array" if all(one.type != "spread_element" for one in children):
            return children
        case "object" if _is_plain(node):
            return [value for one in children if (value := one.child_by_field_name("value")) is not None]
    return []


def _is_plain(node: Node) -> bool:
    """Whether each key is written once and in full."""
    keys = []
    for child in values_of(node):
        key = child.child_by_field_name("key") if child.type == "pair" else None
        if child.type == "shorthand_property_identifier":
            key = child
        if key is None or key.type == "computed_property_name":
            return False
        keys.append(text_of(key).strip("'\""))
    return len(set(keys)) == len(keys) and "__proto__" not in keys


def _in_collection(node: Node) -> Iterator[Node]:
    name, arguments = node.child_by_field_name("constructor"), node.child_by_field_name("arguments")
    if name is not None and arguments is not None and text_of(name) in _COLLECTIONS:
        for child in arguments.named_children[:1]:
            # Of a Map only the values: two keys that become one would hide the first value.
            yield from _leaves(child) if text_of(name) == "Set" else _map_values(child)


def _map_values(pairs: Node) -> Iterator[Node]:
    for pair in pairs.named_children:
        if pair.type == "array" and len(pair.named_children) == 2:
            yield from _leaves(pair.named_children[1])

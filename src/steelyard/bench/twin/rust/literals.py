"""The tokens of an expected value in Rust -> the edits that make it another value of the same type.

    3, 3u8, "abc", 'a', true            4, 4u8, "abd", 'b', false
    Some(3), vec![1, 2], (1, "a")       one of the literals
    "a".to_string(), String::from("a")  its text
    Point { x: 1 }, Money::new(5)       only likely: how they compare is not known

Macros have tokens, no expressions: what is not one of these forms is not changed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from steelyard.bench.twin.base import Edit
from steelyard.bench.twin.plausible.strings import Words, is_phrase, other_needles, other_strings
from steelyard.bench.twin.plausible.typed_numbers import other_floats, other_letters, other_whole
from steelyard.bench.twin.sites import Odds
from steelyard.bench.twin.syntax_nodes import Others, edits_of_leaves, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

_STRINGS = re.compile(r'"([^"\\\n{}]{1,80})"')
_LITERALS = frozenset(
    [
        "integer_literal",
        "float_literal",
        "string_literal",
        "raw_string_literal",
        "char_literal",
        "boolean_literal",
    ]
)
_PLAIN = frozenset(
    [
        "Some",
        "Ok",
        "Err",
        "None",
        "vec",
        "String",
        "from",
        "to_string",
        "to_owned",
        "into",
        "to_vec",
        "Vec",
        "Box",
        "new",
    ]
)
_SIGNS = frozenset(["(", ")", "[", "]", ",", "&", "-", "!", ".", "::"])
_NUMBER = re.compile(
    r"(?P<digits>0x[0-9a-fA-F_]+?|0o[0-7_]+|0b[01_]+|[1-9][\d_]*|0)(?P<type>[iu](?:8|16|32|64|128|size))?"
)
_FLOAT = re.compile(r"(?P<digits>[\d_]+\.\d[\d_]*(?:[eE][+-]?\d+)?)(?P<type>f32|f64)?")
_FLIPPED = {"true": "false", "false": "true"}


def words_of(source: bytes) -> Words:
    return Words.of(_STRINGS.findall(source.decode(errors="replace")))


def parts_of(node: Node) -> list[list[Node]]:
    """What stands between the commas of a list, a tuple, the arguments of a call or of a macro."""
    inner = [one for one in node.children[1:-1] if "comment" not in one.type]
    parts: list[list[Node]] = [[]]
    for one in inner:
        if one.type == ",":
            parts.append([])
        else:
            parts[-1].append(one)
    return [part for part in parts if part]


def tokens_of(nodes: Iterable[Node]) -> Iterator[Node]:
    for node in nodes:
        if node.type in _LITERALS or not node.children:
            yield node
        else:
            yield from tokens_of(node.children)


@dataclass(frozen=True, slots=True)
class Literals:
    """Makes other values in one file."""

    words: Words = field(default_factory=Words)
    needles_beside: str = ""

    def others(self, nodes: Sequence[Node]) -> Others:
        """No edits where nothing can be changed."""
        tokens = list(tokens_of(nodes))
        leaves = [one for one in tokens if one.type in _LITERALS]
        names = [text_of(one) for one in tokens if one.type not in _LITERALS and text_of(one) not in _SIGNS]
        odds = Odds.CERTAIN
        if not all(name in _PLAIN for name in names):
            odds = Odds.LIKELY
            if not _is_made(tokens):
                return Others(Odds.OPEN, [])
        return Others(odds, edits_of_leaves(leaves, self._others_of))

    def needles(self, node: Node) -> Others:
        """A text that must be in another; of a single word it is only likely that the other word is not."""
        content = [one for one in node.children if one.type == "string_content"]
        if node.type != "string_literal" or len(node.named_children) != 1 or not content:
            return Others(Odds.OPEN, [])
        old = text_of(content[0])
        new = other_needles(old, self.words, self.needles_beside)
        edits = [Edit(content[0].start_byte, content[0].end_byte, one) for one in new if _fits(one)]
        return Others(Odds.CERTAIN if is_phrase(old) else Odds.LIKELY, edits)

    def _others_of(self, leaf: Node) -> Iterator[Edit]:
        text, start, end = text_of(leaf), leaf.start_byte, leaf.end_byte
        if text in _FLIPPED:
            yield Edit(start, end, _FLIPPED[text])
        elif leaf.type in {"integer_literal", "float_literal"}:
            pattern, make = (
                (_NUMBER, other_whole) if leaf.type == "integer_literal" else (_FLOAT, other_floats)
            )
            match = pattern.fullmatch(text)
            if match is not None:
                yield from (Edit(start, end, one + (match["type"] or "")) for one in make(match["digits"]))
        elif leaf.type == "char_literal":
            yield from (Edit(start, end, f"'{one}'") for one in other_letters(text[1:-1]) if text[0] == "'")
        elif not text.startswith("b"):
            yield from self._other_strings(leaf)

    def _other_strings(self, leaf: Node) -> Iterator[Edit]:
        content = [one for one in leaf.children if one.type == "string_content"]
        if text_of(leaf) == '""':
            yield from (
                Edit(leaf.start_byte + 1, leaf.end_byte - 1, one) for one in other_strings("", self.words)
            )
        for one in sorted(content, key=lambda one: one.start_byte - one.end_byte)[:2]:
            old = text_of(one)
            for new in other_strings(old, self.words):
                if _fits(new) and new.count("\n") == old.count("\n"):
                    yield Edit(one.start_byte, one.end_byte, new)


def _fits(text: str) -> bool:
    return not any(sign in text for sign in '"\\#')


def _is_made(tokens: Sequence[Node]) -> bool:
    """`Point { x: 1 }`, `Money::new(5)`: a value of a named type, and nothing that a function of the test computes."""
    text = " ".join(text_of(one) if one.type not in _LITERALS else "0" for one in tokens)
    made = re.sub(
        r"[A-Z]\w*(?: :: (?:[A-Z]\w*|new|from))*|\b\w+ :(?! :)|\{|\}|\b(?:Some|Ok|Err|vec|to_string|to_owned|into)\b",
        "",
        text,
    )
    return re.search(r"[A-Za-z_]", made) is None and re.match(r"&?\s*[A-Z]", text) is not None

"""A node of a syntax tree -> tokens that do not depend on layout.

    f( 'a',  (1_000),)   ->   ("f", "(", '"a"', ",", "1000", ")")

Comments, quotes, redundant parentheses, trailing commas and `self.` are gone, so that what is left differs only
where the meaning may.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import zip_longest
from typing import TYPE_CHECKING

from steelyard.grammars import Grammar

if TYPE_CHECKING:
    from tree_sitter import Node

Tokens = tuple[str, ...]

MAX_TOKENS = 20_000  # of one expression or test
_QUOTED = re.compile(r"""^([A-Za-z#]*)(\"\"\"|'''|"|'|`)(.*)\2#*$""", re.DOTALL)
_NUMBER = re.compile(r"^\d[\w.]*$|^\.\d\w*$")
_LITERAL = re.compile(r'^\d|^\.\d|^[A-Za-z#]*"|^:\w|^/')
_WRITTEN = re.compile(r'^[fF]\w?".*\{|^".*(\$\{|#\{)', re.DOTALL)  # a string that is computed
_WORD = re.compile(r"^[^\W\d]\w*[!?]?$")
OPENERS, CLOSERS = frozenset("([{"), frozenset(")]}")
NAUGHT = frozenset({"None", "null", "nil", "undefined"})
TRUE, FALSE = frozenset({"True", "true"}), frozenset({"False", "false"})
CONSTANTS = NAUGHT | TRUE | FALSE
_SKIPPED = frozenset({"comment", "line_comment", "block_comment", ";", "line_continuation", "type_arguments"})


def names(text: str) -> frozenset[str]:
    return frozenset(text.split())


def line_of(node: Node) -> int:
    return node.start_point[0] + 1


def text_of(node: Node) -> str:
    return (node.text or b"").decode("utf-8", "replace")


def tokens(node: Node, grammar: Grammar, limit: int = MAX_TOKENS) -> Tokens:
    return tidy(list(_leaves(node, grammar, limit)))


def _leaves(node: Node, grammar: Grammar, limit: int) -> Iterator[str]:
    """Iterative: an expression nested a hundred thousand deep must not end our process."""
    waiting = [node]
    while waiting and limit > 0:
        one = waiting.pop()
        if one.type in _SKIPPED:
            continue
        if one.type in grammar.strings:
            limit -= 1
            yield unquote_string(text_of(one))
            continue
        children = one.children
        if not children:
            limit -= 1
            text = text_of(one)
            yield text.replace("_", "") if _NUMBER.match(text) else text
        elif one.type in ("parenthesized_expression", "parenthesized_statements") and len(children) == 3:
            waiting.append(children[1])
        else:
            waiting.extend(reversed(children))


def unquote_string(text: str) -> str:
    quoted = _QUOTED.match(text)
    return f'{quoted[1]}"{quoted[3]}"' if quoted else text


def tidy(found: list[str]) -> Tokens:
    kept: list[str] = []
    for one, following in zip_longest(found, found[1:], fillvalue=""):
        if not one or (one == "," and (following in CLOSERS or not following)):
            continue
        if one == "." and kept and kept[-1] in ("self", "this"):
            kept.pop()  # a method made into a function asserts the same
            continue
        kept.append(one)
    return tuple(kept)


def split_top(found: Tokens, separators: frozenset[str]) -> list[Tokens]:
    """Cut at separators that are in no bracket."""
    parts: list[list[str]] = [[]]
    depth = 0
    for token in found:
        depth += (token in OPENERS) - (token in CLOSERS)
        if depth == 0 and token in separators:
            parts.append([])
        else:
            parts[-1].append(token)
    return [tuple(part) for part in parts]


def is_literal_token(token: str) -> bool:
    return token in CONSTANTS or bool(_LITERAL.match(token) and not _WRITTEN.match(token))


def is_word(token: str) -> bool:
    return token not in CONSTANTS and bool(_WORD.match(token))


def literals(found: Tokens) -> Tokens:
    return tuple(token for token in found if is_literal_token(token))


def words(found: Tokens) -> Tokens:
    return tuple(token for token in found if is_word(token))


def is_literal(found: Tokens) -> bool:
    """Only literals and the brackets around them: a value that is not computed."""
    return bool(found) and not words(found) and bool(literals(found) or found[0] in OPENERS)

"""The statements of a function -> whether it does anything yet."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from steelyard.graders.syntax.reading.dead_code import unwrap_statement
from steelyard.graders.syntax.reading.tokens import FALSE, NAUGHT, names, text_of, tokens
from steelyard.grammars import Grammar

if TYPE_CHECKING:
    from tree_sitter import Node

_LITERALS = names(
    "string concatenated_string ellipsis integer float none true false number null undefined template_string"
)
_RETURNS = frozenset(["return_statement", "return_expression", "return", "yield", "yield_expression"])
_NOTHING = NAUGHT | FALSE | frozenset({"0", "0.0", '""', "return", "void", *",()[]{};"})
_LATER = re.compile(
    r"(?i:not[\s_-]*(yet[\s_-]*)?implemented|unimplemented|implement me|UnsupportedOperationException)"
    r"|\bTODO\b|\bFIXME\b|\btodo!"
)
_FAILS = re.compile(r"(?i:error|reject|\berr\b|exception)")
_TEXT = 400  # characters of a statement that says that there is nothing yet


def weigh(statements: Sequence[Node], grammar: Grammar) -> Literal["real", "trivial", "stub"]:
    if not statements:
        return "stub"
    *others, last = statements
    # With a `return` before it, it is the last resort of real code.
    if _says_later(last) and not any(_returns(one) for one in others):
        return "stub"
    return "trivial" if not others and is_nothing(last, grammar) else "real"


def is_idle(node: Node, grammar: Grammar) -> bool:
    """A statement that does nothing: `pass`, `...`, a docstring, a number on a line of its own."""
    if node.type in ("pass_statement", "empty_statement"):
        return True
    if node.type != "expression_statement" or node.named_child_count != 1:
        return False
    inner = node.named_children[0].type
    return inner in _LITERALS or inner in grammar.strings


def is_nothing(node: Node, grammar: Grammar) -> bool:
    """`return None`, `return 0`, `return {}`, or only `nil`."""
    return all(token in _NOTHING for token in tokens(node, grammar, 10))


def _says_later(node: Node) -> bool:
    """`raise NotImplementedError`, `todo!()`, `throw new Error("not implemented")`, `return errors.New("TODO")`."""
    inner = unwrap_statement(node)
    text = text_of(inner)
    if len(text) > _TEXT or not _LATER.search(text):
        return False
    if inner.type in _RETURNS:
        return bool(_FAILS.search(text))
    return inner.type in ("raise_statement", "throw_statement", "call", "call_expression", "macro_invocation")


def _returns(top: Node) -> bool:
    waiting = [top]
    while waiting:
        node = waiting.pop()
        if node.type in _RETURNS:
            return True
        waiting += node.children
    return False

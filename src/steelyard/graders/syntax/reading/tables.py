"""Cases in a table: the rows of a list literal, whatever loops over it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from steelyard.graders.syntax.reading.chains import COMMENTS, chain
from steelyard.graders.syntax.reading.tokens import OPENERS, Tokens, split_top, tokens
from steelyard.grammars import Grammar

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_ROWS, ROW_TOKENS = 5000, 500
PARAMETRISERS = frozenset({"parametrize", "each", "forEach", "each_with_index", "for"})
_MAKERS = frozenset({"of", "asList", "list", "tuple", "vec"})
_WRAPPERS = frozenset(
    {"reference_expression", "expression_list", "parenthesized_expression", "array_creation_expression"}
)
_NOTHING = frozenset({("range", "(", "0", ")"), ("list", "(", ")"), ("tuple", "(", ")"), ("set", "(", ")")})
_ROW_MARK = re.compile(r"test_case|^case$|CsvSource|ValueSource")


def rows_of(node: Node, grammar: Grammar) -> list[Tokens] | None:
    """The rows of a list that is written out; None when it is anything else."""
    while node.type in _WRAPPERS and node.named_children:
        node = node.named_children[-1]
    if node.type == "composite_literal":
        node = node.child_by_field_name("body") or node
    if node.type == "template_string":
        lines = (node.text or b"").decode("utf-8", "replace").splitlines()
        return [tuple(line.split()) for line in lines[1:] if "|" in line or "$" in line][:MAX_ROWS]
    if node.type in grammar.calls:
        return _constructed_items(node, grammar)
    if node.type not in grammar.lists:
        return None
    children = [child for child in node.named_children[:MAX_ROWS] if child.type not in COMMENTS]
    return [row(tokens(child, grammar, ROW_TOKENS)) for child in children]


def is_empty(node: Node, grammar: Grammar) -> bool:
    return rows_of(node, grammar) == [] or tokens(node, grammar, 5) in _NOTHING


def _constructed_items(call: Node, grammar: Grammar) -> list[Tokens] | None:
    """`List.of(a, b)`, `vec![a, b]`, `list([a, b])`."""
    last = chain(call, grammar)[-1]
    if last.name not in _MAKERS or not last.args:
        return None
    inner = last.args[0].node
    if inner is not None and inner.type in grammar.lists and len(last.args) == 1:
        return rows_of(inner, grammar)
    return [row(arg.value) for arg in last.args][:MAX_ROWS]


def row(found: Tokens) -> Tokens:
    """A row without what only wraps it: `pytest.param(1, 2, id="x")` is the row `1, 2`."""
    if found[:4] == ("pytest", ".", "param", "("):
        found = found[3:]
    if found[:1] and found[0] in OPENERS and found[-1] in ")]}":
        parts = split_top(found[1:-1], frozenset({","}))
        kept = [part for part in parts if part[:2] not in (("id", "="), ("marks", "="))]
        return tuple(token for part in kept for token in (*part, ","))[:-1]
    return found


def row_attribute(mark: Node, grammar: Grammar) -> list[Tokens]:
    """`#[test_case(1, 2)]` is a row; `@CsvSource({"1,2", "3,4"})` is two."""
    found = tokens(mark, grammar)
    name = next((token for token in found if _ROW_MARK.search(token)), None)
    if name is None:
        return []
    if grammar.language == "rust":
        return [found]
    inner = (
        found[found.index("{") + 1 : -2]
        if "{" in found
        else found[found.index("(") + 1 : -1]
        if "(" in found
        else ()
    )
    return [part for part in split_top(inner, frozenset({","})) if part]

"""Statements after which nothing is reached, and conditions that are always the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steelyard.graders.syntax.reading.tokens import FALSE, NAUGHT, TRUE, Tokens, tokens
from steelyard.grammars import Grammar

if TYPE_CHECKING:
    from tree_sitter import Node

_LEAVES = frozenset({"return", "raise", "throw"})
_DEEPEST = 5  # blocks that a jump is looked for in


def constant(found: Tokens) -> bool | None:
    """What a condition always is, if it is plain to see."""
    if len(found) == 2 and found[0] in ("not", "!"):
        inner = constant(found[1:])
        return None if inner is None else not inner
    if len(found) != 1:
        return None
    if found[0] in TRUE | {"1"}:
        return True
    return False if found[0] in FALSE | NAUGHT | {"0", '""'} else None


def unwrap_statement(node: Node) -> Node:
    if node.type == "expression_statement" and node.named_child_count == 1:
        return node.named_children[0]
    return node


def is_jump(node: Node, grammar: Grammar, depth: int = 0) -> bool:
    """Whether nothing after a statement is reached: a jump, or a block that surely ends in one."""
    node = unwrap_statement(node)
    if node.type in grammar.jumps:
        return True
    body = node.child_by_field_name("body")
    if depth >= _DEEPEST or body is None:
        return False
    if node.type == "with_statement":
        return any(is_jump(child, grammar, depth + 1) for child in body.named_children)
    if node.type in grammar.tries:
        caught = any(child.type in grammar.handlers for child in node.named_children)
        return not caught and any(_leaves(child, grammar) for child in body.named_children)
    condition = node.child_by_field_name("condition")
    if node.type != "while_statement" or condition is None:
        return False
    return constant(tokens(condition, grammar, 10)) is True and any(
        _leaves(child, grammar) for child in body.named_children
    )


def _leaves(node: Node, grammar: Grammar) -> bool:
    return unwrap_statement(node).type in grammar.jumps and tokens(node, grammar, 1)[0] in _LEAVES

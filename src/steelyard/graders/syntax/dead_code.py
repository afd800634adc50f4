"""Ways to keep an assertion in the file and out of the test."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steelyard.graders.syntax.claims import WIDEST
from steelyard.graders.syntax.tokens import FALSE, NAUGHT, TRUE, Tokens, tokens
from steelyard.grammars import Grammar

if TYPE_CHECKING:
    from tree_sitter import Node

_LOUD = frozenset(
    {
        "raise",
        "throw",
        "fail",
        "flunk",
        "panic",
        "assert",
        "expect",
        "Fatal",
        "Fatalf",
        "Error",
        "Errorf",
        "rethrow",
    }
)
# What must be caught to catch a failed assertion; elsewhere anything that is caught will do.
_CATCHES = {
    "python": frozenset({"Exception", "BaseException", "AssertionError"}),
    "java": frozenset({"Throwable", "Error", "AssertionError", "AssertionFailedError"}),
}
_GIVES_UP = frozenset({"return", "continue", "break", "next"})
_LEAVES = frozenset({"return", "raise", "throw"})
_FINALLY = frozenset({"finally_clause", "ensure"})
# They end the process, or the whole session of the runner.
_QUITS = frozenset(
    {("os", "_exit"), ("sys", "exit"), ("pytest", "exit"), ("process", "exit"), ("exit",), ("quit",)}
)
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


def unwrapped(node: Node) -> Node:
    if node.type == "expression_statement" and node.named_child_count == 1:
        return node.named_children[0]
    return node


def is_jump(node: Node, grammar: Grammar, depth: int = 0) -> bool:
    """Whether nothing after a statement is reached: a jump, or a block that surely ends in one."""
    node = unwrapped(node)
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
    return unwrapped(node).type in grammar.jumps and tokens(node, grammar, 1)[0] in _LEAVES


def quits(node: Node, grammar: Grammar) -> bool:
    """`os._exit(0)`: the assertions after it are never asked."""
    node = unwrapped(node)
    if node.type not in grammar.calls:
        return False
    found = tokens(node, grammar, 4)
    called = found[: found.index("(") if "(" in found else 0]
    return tuple(part for part in called if part != ".") in _QUITS


def finally_jumps(node: Node, grammar: Grammar) -> bool:
    """`finally: return` drops every exception, a failed assertion too."""
    clauses = [child for child in node.named_children if child.type in _FINALLY]
    blocks = [block for clause in clauses for block in (clause, *clause.named_children)]
    return any(
        unwrapped(child).type in grammar.jumps and tokens(child, grammar, 1)[0] in _GIVES_UP
        for block in blocks
        for child in block.named_children
    )


def gives_up(node: Node, grammar: Grammar) -> bool:
    """`if not ready: return`: what follows is only asserted sometimes."""
    node = unwrapped(node)
    if node.type not in grammar.ifs or node.child_by_field_name("alternative") is not None:
        return False
    branch = node.child_by_field_name("consequence") or node.child_by_field_name("body")
    if branch is None:
        return False
    last = branch
    while last.named_children and last.type not in grammar.jumps:
        last = unwrapped(last.named_children[-1])
        if last.type in grammar.ifs or last.type in grammar.calls:
            return False
    return (
        last.type in grammar.jumps
        and tokens(last, grammar, 1)[:1] != ()
        and (tokens(last, grammar, 1)[0] in _GIVES_UP)
    )


def swallows(handler: Node, grammar: Grammar) -> bool:
    """Whether a handler catches a failed assertion and says nothing."""
    found = tokens(handler, grammar, 400)
    if any(token in _LOUD or token.startswith(("assert", "expect")) for token in found):
        return False
    wanted = _CATCHES.get(grammar.language)
    if wanted is None:
        return True
    body = next((index for index, token in enumerate(found) if token in (":", "{")), len(found))
    caught = set(found[1:body])
    return bool(caught & (wanted | (WIDEST - {"Error"} if grammar.language == "python" else set()))) or (
        grammar.language == "python" and not caught
    )

"""A call in any language -> its links, the root first.

expect(f(1)).not.toBe(2)   ->   expect [f(1)], not, toBe [2]
assert_eq!(a, b)           ->   assert_eq [a] [b]
Assert.assertTrue(x)       ->   Assert, assertTrue [x]
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from steelyard.graders.syntax.reading.tokens import Tokens, split_top, text_of, tokens
from steelyard.grammars import Grammar

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_LINKS = 64
ARG_TOKENS = 2000
_FUNCTION, _OBJECT = ("function", "macro"), ("object", "operand", "value", "receiver", "argument")
_NAME = ("attribute", "property", "field", "name", "method")
COMMENTS = frozenset({"comment", "line_comment", "block_comment"})


class Arg:
    """One argument. Its tokens are read only when a rule asks: calls nest, and most of them claim nothing."""

    def __init__(self, name: str, node: Node | None, grammar: Grammar, value: Tokens | None = None) -> None:
        self.name = name  # of a keyword argument
        self.node = node  # none inside a Rust macro, whose tokens have no tree
        self._grammar, self._value = grammar, value

    @property
    def value(self) -> Tokens:
        if self._value is None:
            self._value = () if self.node is None else tokens(self.node, self._grammar, ARG_TOKENS)
        return self._value


class Link(NamedTuple):
    name: str
    args: tuple[Arg, ...] | None  # None: not called
    block: Node | None = None  # a Ruby block


def chain(node: Node, grammar: Grammar, inner: set[int] | None = None) -> list[Link]:
    """`inner` gets the ids of the nodes below that belong to the same chain."""
    links: list[Link] = []
    args: tuple[Arg, ...] | None = None
    here: Node | None = node
    while here is not None and len(links) < MAX_LINKS:
        if inner is not None and here is not node:
            inner.add(here.id)
        if here.type in grammar.calls:
            block, args = here.child_by_field_name("block"), _arguments(here, grammar)
            function = _first(here, _FUNCTION)
            if function is not None:  # Python, JavaScript, Go, Rust
                if function.type in grammar.calls:
                    links.append(Link("", args, block))  # it.each(rows)("title", body)
                    args = None
                here = function
                continue
            links.append(Link(text_of_field(here, _NAME), args, block))  # Java, Ruby
            here, args = _first(here, _OBJECT), None
        elif here.type in grammar.members and _first(here, _OBJECT) is not None:
            links.append(Link(text_of_field(here, _NAME), args))
            here, args = _first(here, _OBJECT), None
        else:
            text = text_of(here) if here.child_count == 0 or here.type == "scoped_identifier" else ""
            links.append(Link(text.rsplit("::", 1)[-1][:200], args))
            break
    return links[::-1]


def text_of_field(node: Node, names: Sequence[str]) -> str:
    found = _first(node, names)
    return text_of(found)[:200] if found is not None else ""


def _first(node: Node, names: Sequence[str]) -> Node | None:
    return next((found for name in names if (found := node.child_by_field_name(name)) is not None), None)


def _arguments(call: Node, grammar: Grammar) -> tuple[Arg, ...]:
    trees = (child for child in call.children if child.type == "token_tree")  # of a Rust macro
    found = call.child_by_field_name("arguments") or next(trees, None)
    if found is None:
        return ()
    if found.type == "token_tree":
        inner = tokens(found, grammar)[1:-1]
        return tuple(Arg("", None, grammar, part) for part in split_top(inner, frozenset({","})) if part)
    if found.type == "template_string":
        return (Arg("", found, grammar),)
    return tuple(_argument(child, grammar) for child in found.named_children if child.type not in COMMENTS)


def _argument(node: Node, grammar: Grammar) -> Arg:
    if node.type in ("keyword_argument", "pair"):
        value = node.child_by_field_name("value")
        return Arg(text_of_field(node, ("name", "key")), value, grammar)
    return Arg("", node, grammar)


def chain_name(links: Sequence[Link]) -> str:
    return ".".join(link.name for link in links if link.name)


def subject_tokens(links: Sequence[Link]) -> Tokens:
    """The tokens of a chain without its last link."""
    found: list[str] = []
    for link in links:
        found += [link.name] if not found else [".", link.name]
        if link.args is not None:
            found += ["(", *(token for arg in link.args for token in (*arg.value, ",")), ")"]
    return tuple(token for token in found if token not in ("self", "this"))

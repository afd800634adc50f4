"""Where a test, a group of tests or another function begins, by language."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, NamedTuple

from steelyard.graders.syntax.chains import Link, chain, text_of_field
from steelyard.graders.syntax.tokens import text_of
from steelyard.grammars import Grammar

if TYPE_CHECKING:
    from tree_sitter import Node

Kind = Literal["test", "function", "group"]

_GO_TEST = re.compile(r"^(Test|Fuzz)([^a-z]|$)")
_RUST_TEST = re.compile(r"^#\[(?:\w+::)*(?:\w*test\w*|rstest|case)\b(?!\))")
_JAVA_TEST = re.compile(
    r"^@(?:\w+\.)*(Test|ParameterizedTest|RepeatedTest|TestFactory|TestTemplate|Property)\b"
)
_NOT_A_TEST = re.compile(r"^@((pytest|pytest_asyncio)\.)?fixture\b|^@(functools\.)?(cached_)?property$")
_TESTS = frozenset(
    {
        "it",
        "test",
        "specify",
        "example",
        "fit",
        "xit",
        "xtest",
        "xspecify",
        "xexample",
        "ftest",
        "scenario",
        "should",
    }
)
_GROUPS = frozenset(
    {"describe", "context", "suite", "xdescribe", "fdescribe", "xcontext", "fcontext", "feature"}
)
_MODIFIERS = frozenset(
    {
        "",
        "each",
        "skip",
        "only",
        "todo",
        "failing",
        "fails",
        "fixme",
        "concurrent",
        "sequential",
        "serial",
        "for",
    }
) | {"skipIf", "runIf", "describe", "step"}
_CALLBACKS = frozenset({"arrow_function", "function_expression", "function", "generator_function"})


class Head(NamedTuple):
    kind: Kind
    name: str
    node: Node  # all of it, marks too where they are inside
    body: Node | None
    marks: tuple[Node, ...] = ()  # decorators, attributes, annotations
    params: Node | None = None
    collects: bool = True  # a group whose tests are collected


def head_of(node: Node, grammar: Grammar, *, collects: bool) -> Head | None:
    return _HEADS[grammar.language](node, grammar, collects)


def _python(node: Node, grammar: Grammar, collects: bool) -> Head | None:  # noqa: FBT001  # one shape for all
    marks: tuple[Node, ...] = ()
    inner: Node | None = node
    if node.type == "decorated_definition":
        marks = tuple(child for child in node.named_children if child.type == "decorator")
        inner = node.child_by_field_name("definition")
    if inner is None or inner.type not in grammar.functions | grammar.classes:
        return None
    name, body = text_of_field(inner, ("name",)), inner.child_by_field_name("body")
    if inner.type in grammar.classes:
        bases = text_of_field(inner, ("superclasses",))
        # pytest leaves out a class with a constructor, unless it is unittest's.
        plain = name.startswith("Test") and not _has_constructor(body, grammar)
        return Head("group", name, node, body, marks, collects=plain or "Test" in bases)
    hidden = any(_NOT_A_TEST.match(compact(mark)) for mark in marks)
    kind: Kind = "test" if collects and name.startswith("test") and not hidden else "function"
    return Head(kind, name, node, body, marks, inner.child_by_field_name("parameters"))


def _has_constructor(body: Node | None, grammar: Grammar) -> bool:
    members = body.named_children if body is not None else ()
    return any(
        child.type in grammar.functions and text_of_field(child, ("name",)) == "__init__" for child in members
    )


def _by_call(node: Node, grammar: Grammar, collects: bool) -> Head | None:  # noqa: FBT001
    """`it("adds", () => ...)`, `test.each(rows)("...", ...)`, `it "adds" do`, and functions and classes by name."""
    if node.type in grammar.functions:
        return _named(node, grammar, collects)
    if node.type in grammar.classes:
        return Head("group", text_of_field(node, ("name",)), node, node.child_by_field_name("body"))
    links = chain(node, grammar) if node.type in grammar.calls else []
    if links and links[0].name == "RSpec":
        links = links[1:]
    # Not test.expect(200), where `test` is a request.
    known = bool(links) and all(link.name in _MODIFIERS for link in links[1:])
    return _titled(node, links, grammar) if known and links[0].name in _TESTS | _GROUPS else None


def _titled(node: Node, links: list[Link], grammar: Grammar) -> Head | None:
    args = links[-1].args or ()
    is_group = links[0].name in _GROUPS or any(link.name == "describe" for link in links)
    body = links[-1].block or next(
        (arg.node for arg in args if arg.node is not None and arg.node.type in _CALLBACKS), None
    )
    titled = (
        bool(args) and args[0].node is not None and (args[0].node.type in grammar.strings or len(args) > 1)
    )
    if not titled or (body is None and is_group):
        return None
    name = " ".join(args[0].value[:40]).strip('"')[:200]
    return Head("group" if is_group else "test", name, node, body)


def _named(node: Node, grammar: Grammar, collects: bool) -> Head:  # noqa: FBT001
    name = text_of_field(node, ("name",))
    kind: Kind = (
        "test" if grammar.language == "ruby" and collects and name.startswith("test_") else "function"
    )
    return Head(
        kind, name, node, node.child_by_field_name("body"), (), node.child_by_field_name("parameters")
    )


def _go(node: Node, grammar: Grammar, collects: bool) -> Head | None:  # noqa: FBT001
    if node.type not in grammar.functions:
        return None
    name = text_of_field(node, ("name",))
    kind: Kind = "test" if collects and _GO_TEST.match(name) else "function"
    return Head(
        kind, name, node, node.child_by_field_name("body"), (), node.child_by_field_name("parameters")
    )


def _rust(node: Node, grammar: Grammar, collects: bool) -> Head | None:  # noqa: FBT001
    if node.type not in grammar.functions | grammar.classes:
        return None
    marks = []
    before = node.prev_named_sibling
    while before is not None and before.type in ("attribute_item", "line_comment"):
        marks.append(before)
        before = before.prev_named_sibling
    attributes = tuple(mark for mark in reversed(marks) if mark.type == "attribute_item")
    name, body = text_of_field(node, ("name", "type")), node.child_by_field_name("body")
    if node.type in grammar.classes:
        return Head("group", name, node, body, attributes)
    is_test = collects and any(_RUST_TEST.match(compact(mark)) for mark in attributes)
    return Head("test" if is_test else "function", name, node, body, attributes)


def _java(node: Node, grammar: Grammar, collects: bool) -> Head | None:  # noqa: FBT001
    if node.type not in grammar.functions | grammar.classes:
        return None
    modifiers = next((child for child in node.named_children if child.type == "modifiers"), None)
    marks = tuple(
        child
        for child in (modifiers.named_children if modifiers else ())
        if child.type.endswith("annotation")
    )
    name, body = text_of_field(node, ("name",)), node.child_by_field_name("body")
    if node.type in grammar.classes:
        return Head("group", name, node, body, marks)
    old_style = name.startswith("test") and modifiers is not None and "public" in text_of(modifiers)
    is_test = collects and (old_style or any(_JAVA_TEST.match(compact(mark)) for mark in marks))
    return Head("test" if is_test else "function", name, node, body, marks)


def compact(node: Node) -> str:
    """The text without white space, its beginning."""
    return "".join((node.text or b"")[:1000].decode("utf-8", "replace").split())


_HEADS: dict[str, Callable[[Node, Grammar, bool], Head | None]] = {
    "python": _python,
    "javascript": _by_call,
    "ruby": _by_call,
    "go": _go,
    "rust": _rust,
    "java": _java,
}

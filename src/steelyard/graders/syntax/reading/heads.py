"""Where a test, a group of tests or another function begins."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from steelyard.graders.syntax.reading.chains import Link, text_of_field
from steelyard.graders.syntax.reading.tokens import names, text_of
from steelyard.grammars import Grammar

if TYPE_CHECKING:
    from tree_sitter import Node

Kind = Literal["test", "function", "group"]

# Functions that a runner collects: by their name, or by what is written above them.
_NAMES = {
    "python": re.compile(r"^test"),
    "go": re.compile(r"^(Test|Fuzz)([^a-z]|$)"),
    "ruby": re.compile(r"^test_"),
}
_MARKS = {
    "rust": re.compile(r"^#\[(?:\w+::)*(?:\w*test\w*|rstest|case)\b(?!\))"),
    "java": re.compile(
        r"^@(?:\w+\.)*(Test|ParameterizedTest|RepeatedTest|TestFactory|TestTemplate|Property)\b"
    ),
}
_NOT_A_TEST = re.compile(r"^@((pytest|pytest_asyncio)\.)?fixture\b|^@(functools\.)?(cached_)?property$")
# Calls that make a test or a group: `it("adds", () => ...)`, `test.each(rows)("...", ...)`, `it "adds" do`.
_TESTS = names("it test specify example fit xit xtest xspecify xexample ftest scenario should")
_GROUPS = names("describe context suite xdescribe fdescribe xcontext fcontext feature")
_MODIFIERS = names(
    "each skip only todo failing fails fixme concurrent sequential serial for skipIf runIf describe step"
) | {""}
_CALLBACKS = frozenset({"arrow_function", "function_expression", "function", "generator_function"})


class Head(NamedTuple):
    kind: Kind
    name: str
    node: Node  # all of it, marks too where they are inside
    body: Node | None
    marks: tuple[Node, ...] = ()  # decorators, attributes, annotations
    params: Node | None = None
    collects: bool = True  # a group whose tests are collected


def definition_head(node: Node, grammar: Grammar, *, collects: bool) -> Head:
    """The head of a function or a class, with what is written above it."""
    inner = (node.child_by_field_name("definition") or node) if node.type == "decorated_definition" else node
    name, body = text_of_field(inner, ("name", "type")), inner.child_by_field_name("body")
    marks = _marks(node)
    if inner.type in grammar.classes:
        bases = text_of_field(inner, ("superclasses",))
        # pytest leaves out a class with a constructor, unless it is unittest's.
        plain = name.startswith("Test") and not _has_constructor(body, grammar)
        return Head(
            "group", name, node, body, marks, None, grammar.language != "python" or plain or "Test" in bases
        )
    written = [compact(mark) for mark in marks]
    is_test = collects and _is_test(name, written, inner, grammar.language)
    params = inner.child_by_field_name("parameters")
    return Head("test" if is_test else "function", name, node, body, marks, params)


def _marks(node: Node) -> tuple[Node, ...]:
    found = [child for child in node.named_children if child.type == "decorator"]  # Python
    for child in node.named_children:  # Java
        found += (
            [one for one in child.named_children if one.type.endswith("annotation")]
            if child.type == "modifiers"
            else []
        )
    before = node.prev_named_sibling if node.type in ("function_item", "mod_item", "impl_item") else None
    above = []
    while before is not None and before.type in ("attribute_item", "line_comment"):  # Rust
        above += [before] if before.type == "attribute_item" else []
        before = before.prev_named_sibling
    return (*reversed(above), *found)


def _is_test(name: str, marks: Sequence[str], node: Node, language: str) -> bool:
    if language == "java" and name.startswith("test") and "public" in text_of(node)[:200].partition("(")[0]:
        return True  # JUnit 3
    if language in _MARKS:
        return any(map(_MARKS[language].match, marks))
    return (
        language in _NAMES and bool(_NAMES[language].match(name)) and not any(map(_NOT_A_TEST.match, marks))
    )


def _has_constructor(body: Node | None, grammar: Grammar) -> bool:
    members = body.named_children if body is not None else ()
    return any(
        child.type in grammar.functions and text_of_field(child, ("name",)) == "__init__" for child in members
    )


def call_head(node: Node, links: Sequence[Link], grammar: Grammar) -> Head | None:
    """The head of a test or a group that is made by a call; not of test.expect(200), where `test` is a request."""
    links = links[1:] if links[0].name == "RSpec" else links
    if (
        not links
        or links[0].name not in _TESTS | _GROUPS
        or any(link.name not in _MODIFIERS for link in links[1:])
    ):
        return None
    args = links[-1].args or ()
    is_group = links[0].name in _GROUPS or any(link.name == "describe" for link in links)
    functions = (arg.node for arg in args if arg.node is not None and arg.node.type in _CALLBACKS)
    body = links[-1].block or next(functions, None)
    title = args[0].node if args else None
    if title is None or (title.type not in grammar.strings and len(args) < 2) or (body is None and is_group):
        return None
    name = " ".join(args[0].value[:40]).strip('"')[:200]
    return Head("group" if is_group else "test", name, node, body)


def compact(node: Node) -> str:
    """The text without white space, its beginning."""
    return "".join((node.text or b"")[:1000].decode("utf-8", "replace").split())

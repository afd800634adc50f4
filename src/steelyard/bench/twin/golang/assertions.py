"""A call of an assertion library in a Go test -> the ways to make it wrong.

assert.Equal(t, 3, f())         testify, gotest.tools           another value
require.NoError(t, err)         testify                         the opposite
is.Equal(f(), 3)                matryer/is, assert.New(t)       another value
c.Assert(f(), qt.Equals, 3)     quicktest, gocheck              another value
Expect(f()).To(Equal(3))        gomega                          another value, or the opposite
assertSum(t, f(), 3)            a function of the same file     another value, if it fails where two values differ
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from steelyard.bench.twin.golang.conditions import AssertionChange, Conditions
from steelyard.bench.twin.golang.literals import parse_call
from steelyard.bench.twin.sites import Change, Odds, Strength
from steelyard.bench.twin.syntax_nodes import replace_node, text_of, values_of

if TYPE_CHECKING:
    from tree_sitter import Node

    from steelyard.bench.twin.base import Edit
    from steelyard.bench.twin.golang.scope import Scope

_METHODS = (
    ("Equal", "NotEqual"),
    ("EqualValues", "NotEqualValues"),
    ("True", "False"),
    ("Nil", "NotNil"),
    ("NoError", "Error"),
    ("Empty", "NotEmpty"),
    ("Zero", "NotZero"),
    ("Contains", "NotContains"),
    ("Subset", "NotSubset"),
    ("Same", "NotSame"),
    ("Panics", "NotPanics"),
    ("ErrorIs", "NotErrorIs"),
    ("Regexp", "NotRegexp"),
)
_OPPOSITE = {**dict(_METHODS), **{two: one for one, two in _METHODS}}
_EQUAL = frozenset(["Equal", "EqualValues", "Exactly", "DeepEqual", "Equals"])
_LAST = frozenset(["Len", "EqualError", "HasLen"])
_NEEDLE = frozenset(["Contains", "ErrorContains"])
_LIBRARIES = re.compile(r"testify|gotest\.tools|matryer/is|quicktest|gocheck|check\.v1|go-playground/assert")
_MATCHERS = frozenset(["Equal", "BeEquivalentTo", "HaveLen", "BeNumerically", "MatchError"])
_GOMEGA = {"To": "NotTo", "NotTo": "To", "ToNot": "To", "Should": "ShouldNot", "ShouldNot": "Should"}
_LIKE_AN_ASSERTION = re.compile(
    r"assert|check|expect|require|equal|verify|must|compare|want|test|match", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Assertions:
    """Finds what one call of a test asserts."""

    conditions: Conditions
    imports: Mapping[str, str] = field(default_factory=dict)  # name -> path
    # Function -> arguments that it compares
    helpers: Mapping[str, frozenset[int]] = field(default_factory=dict)
    suites: frozenset[str] = frozenset()  # names of receivers of testify's suites

    def found(self, call: Node, scope: Scope) -> Iterator[AssertionChange]:
        """`call` is the expression of a statement."""
        name, arguments = parse_call(call)
        function = call.child_by_field_name("function")
        if not name or function is None:
            return
        head, _, method = name.rpartition(".")
        if method in _GOMEGA and "Expect(" in head:
            yield from self._gomega(function, method, arguments, scope)
            return
        library = self._library(head, scope)
        if library:
            is_passed = bool(arguments) and _is_testing(arguments[0], scope)
            yield from self._method(function, method, arguments[is_passed:], scope, library)
        elif name in self.helpers or any(_is_testing(one, scope) for one in arguments):
            yield from self._helper(name, arguments, scope)

    def _library(self, head: str, scope: Scope) -> str:
        """The path of the library that a name stands for, directly or as `assert.New(t)`."""
        owner = re.sub(r"\.(Require|Assert)\(\)$", "", head)
        if owner in self.suites:
            return "testify"
        value = scope.values.get(owner)
        if value is not None:
            name, _ = parse_call(value)
            owner = name.removesuffix(".New")
        path = self.imports.get(owner, "")
        return path if _LIBRARIES.search(path) else ""

    def _method(
        self, function: Node, method: str, values: list[Node], scope: Scope, library: str
    ) -> Iterator[AssertionChange]:
        name = method.removesuffix("f")
        if len(values) >= 3 and name in {"Assert", "Check"}:  # c.Assert(got, qt.Equals, want)
            checker = text_of(values[1]).rpartition(".")[2]
            if checker in {"Equals", "DeepEquals", "HasLen"}:
                yield from self.conditions.values(values[2], scope)
            return
        if len(values) >= 2:
            yield from self._two(name, values, scope)
        if values and name in {"True", "Assert", "Check"}:
            yield from (
                one for one in self.conditions.true(values[0], scope) if name != "True" or _is_value(one)
            )
        if values and name == "False":
            yield from (one for one in self.conditions.false(values[0], scope) if _is_value(one))
        field_name = function.child_by_field_name("field")
        if "testify" in library and name in _OPPOSITE and field_name is not None:
            yield _opposite(replace_node(field_name, _OPPOSITE[name] + method[len(name) :]))

    def _two(self, name: str, values: list[Node], scope: Scope) -> Iterator[AssertionChange]:
        if name in _EQUAL:
            yield from self.conditions.equal(values[0], values[1], scope)
        elif name in _LAST:
            yield from self.conditions.values(values[1], scope)
        elif name in _NEEDLE:
            yield from self.conditions.values(values[1], scope, self.conditions.literals.needles)

    def _gomega(
        self, function: Node, method: str, values: list[Node], scope: Scope
    ) -> Iterator[AssertionChange]:
        matcher, inner = parse_call(values[0]) if values else ("", [])
        if method in {"To", "Should"} and matcher.rpartition(".")[2] in _MATCHERS and inner:
            yield from self.conditions.values(inner[-1], scope)
        field_name = function.child_by_field_name("field")
        if field_name is not None and matcher:
            yield _opposite(replace_node(field_name, _GOMEGA[method]))

    def _helper(self, name: str, arguments: list[Node], scope: Scope) -> Iterator[AssertionChange]:
        compared = self.helpers.get(name, frozenset())
        if compared:
            for place in sorted(compared):
                yield from self.conditions.values(arguments[place], scope) if place < len(arguments) else ()
        elif name not in self.helpers and _LIKE_AN_ASSERTION.search(name):
            for one in reversed(arguments):
                yield from self.conditions.values(one, scope, odds=Odds.LIKELY)


def imports_of(root: Node) -> dict[str, str]:
    """Local name -> path of each import of a file."""
    found: dict[str, str] = {}
    for declaration in values_of(root):
        if declaration.type == "import_declaration":
            for spec in _specs(declaration):
                path = text_of(spec.child_by_field_name("path")).strip('"`')
                alias = text_of(spec.child_by_field_name("name"))
                parts = [part for part in path.split("/") if not re.fullmatch(r"v\d+", part)]
                found[alias or parts[-1].partition(".v")[0]] = path
    return found


def _specs(node: Node) -> Iterator[Node]:
    if node.type == "import_spec":
        yield node
    for child in node.named_children:
        yield from _specs(child)


def _is_testing(node: Node, scope: Scope) -> bool:
    text = text_of(node)
    return text in scope.testing or text.removesuffix(".T()") in scope.testing


def _is_value(found: AssertionChange) -> bool:
    return found.strength is Strength.VALUE


def _opposite(edit: Edit) -> AssertionChange:
    shows = re.search(r"Not\w*(Equal|Contains)", edit.text) is not None
    return AssertionChange(Strength.NEGATION, Odds.CERTAIN, ((Change(edit),),), shows=shows)

"""One expression of a JavaScript test -> the ways to make it a wrong assertion, the strongest first.

assert.equal(f(), 3)           another literal
assert.equal(f(), expected)    an array around it
assert.throws(f)               the opposite word
assert.ok(f()), assert(a === 3)
expect(f()).toBe(3)            another literal
expect(f).toThrow()            .not
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from steelyard.bench.twin.base import Edit
from steelyard.bench.twin.javascript_literals import text_of, wrapped, wrong_literal

if TYPE_CHECKING:
    from tree_sitter import Node

_EQUAL = frozenset(["equal", "strictEqual", "deepEqual", "deepStrictEqual", "is", "same"])
_OPPOSITE = {"throws": "doesNotThrow", "match": "doesNotMatch"}
_OPPOSITE_AWAITED = {"rejects": "doesNotReject"}
_MATCHERS = frozenset(
    ["toBe", "toEqual", "toStrictEqual", "toHaveLength", "equal", "equals", "eq", "eql", "eqls", "lengthOf"]
)
_ASSERTS = frozenset({"assert", "assert.strict", "strict", "t.assert", "chai.assert", "assert.default"})
_MODIFIED = ("not", "soft", "poll", "rejects")
_LATER = frozenset(
    ["resolves", "eventually", "rejected", "rejectedWith", "fulfilled", "become"]
)  # needs an await
_PROPERTIES = frozenset(
    ["true", "false", "null", "undefined", "ok", "empty", "exist", "exists", "NaN", "called", "calledOnce"]
)
_TRUTH = ("===", "==")


class Site(NamedTuple):
    """A place where an expectation can be made wrong. 3: another literal, 2: another value, 1: the opposite."""

    strength: int
    edit: Edit


def sites(node: Node, spin: int, *, awaited: bool) -> Iterator[Site]:
    """`node` is the expression of a statement, without its `await`."""
    if node.type != "call_expression":
        yield from _property_site(node)
        return
    called, arguments = node.child_by_field_name("function"), node.child_by_field_name("arguments")
    if called is None or arguments is None or any(one.type == "spread_element" for one in arguments.children):
        return
    values = [one for one in arguments.named_children if one.type != "comment"]
    head, _, method = text_of(called).rpartition(".")
    if head in _ASSERTS or (not head and method in (_EQUAL - {"is", "same"}) | set(_OPPOSITE)):
        yield from _assert_sites(called, method, values, spin, awaited=awaited)
    if text_of(called) in _ASSERTS or (head in _ASSERTS and method == "ok"):
        yield from _truth_sites(values, spin)
    if called.type == "member_expression" and _is_expect(called):
        yield from _expect_sites(called, method, values, spin, awaited=awaited)


def head_of(node: Node) -> str:
    """The name that an expression begins with: `expect` of expect(x).to.equal(3)."""
    while node.type in {"call_expression", "member_expression", "await_expression"}:
        inner = node.child_by_field_name("function") or node.child_by_field_name("object")
        if inner is None:
            inner = node.named_children[0]
        node = inner
    return text_of(node) if node.type in {"identifier", "this"} else ""


def _assert_sites(
    called: Node, method: str, values: list[Node], spin: int, *, awaited: bool
) -> Iterator[Site]:
    if method in _EQUAL and len(values) > 1:
        yield from _equality(values[1], values[0], spin)
    opposite = _OPPOSITE.get(method) or (_OPPOSITE_AWAITED.get(method) if awaited else None)
    if opposite and called.type == "member_expression" and values:
        name = called.child_by_field_name("property")
        assert name is not None
        yield Site(1, Edit(name.start_byte, name.end_byte, opposite))


def _truth_sites(values: list[Node], spin: int) -> Iterator[Site]:
    if not values:
        return
    if values[0].type == "binary_expression" and _operator(values[0]) in _TRUTH:
        left, right = values[0].child_by_field_name("left"), values[0].child_by_field_name("right")
        if left is not None and right is not None:
            yield from _equality(right, left, spin)
    yield Site(1, Edit(values[0].start_byte, values[0].end_byte, f"!({text_of(values[0])})"))


def _expect_sites(
    called: Node, method: str, values: list[Node], spin: int, *, awaited: bool
) -> Iterator[Site]:
    words = _words(called)
    later = bool(_LATER & {*words, method})
    if any(word in _MODIFIED for word in words) or (later and not awaited):
        return
    if method in _MATCHERS and len(values) == 1:
        edit = wrong_literal(values[0], spin)
        if edit is not None:
            yield Site(3, edit)
        elif "expect" not in text_of(values[0]):
            yield Site(2, wrapped(values[0]))
    elif not later:
        yield _negated(called)


def _property_site(node: Node) -> Iterator[Site]:
    """Chai's `expect(x).to.be.true`."""
    words = _words(node) if node.type == "member_expression" and _is_expect(node) else []
    if words and words[0] in _PROPERTIES and not (_LATER | set(_MODIFIED)) & set(words):
        yield _negated(node)


def _negated(called: Node) -> Site:
    what = called.child_by_field_name("object")
    assert what is not None
    return Site(1, Edit(what.end_byte, what.end_byte, ".not"))


def _equality(expected: Node, actual: Node, spin: int) -> Iterator[Site]:
    edit = wrong_literal(expected, spin) or wrong_literal(actual, spin)
    if edit is not None:
        yield Site(3, edit)
    else:
        yield Site(2, wrapped(expected))


def _is_expect(node: Node) -> bool:
    return head_of(node) == "expect" and text_of(node).startswith("expect(")


def _words(node: Node) -> list[str]:
    """The names of a chain after its first call."""
    words = []
    inner: Node | None = node
    while inner is not None and inner.type in {"member_expression", "call_expression"}:
        name = inner.child_by_field_name("property")
        words += [text_of(name)] if name is not None else []
        inner = inner.child_by_field_name("object") or inner.child_by_field_name("function")
    return words


def _operator(node: Node) -> str:
    operator = node.child_by_field_name("operator")
    return "" if operator is None else text_of(operator)

"""A condition in JavaScript -> the edits that make it its opposite, in the words that a test would use.

a === b -> a !== b      a < b -> a >= b      f(x) -> !f(x)      !f(x) -> f(x)      a || b -> !a && !b
assert.equal -> assert.notEqual      toBeTruthy -> toBeFalsy      expect(x).toBe -> expect(x).not.toBe
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from steelyard.bench.twin.base import Edit
from steelyard.bench.twin.sites import UNSTEADY
from steelyard.bench.twin.syntax_nodes import replace_node, text_of, values_of

if TYPE_CHECKING:
    from tree_sitter import Node

_PAIRS = {"===": "!==", "==": "!=", "<": ">=", ">": "<="}
_OPERATORS = {**_PAIRS, **{two: one for one, two in _PAIRS.items()}}
ORDERING = frozenset(["<", ">", "<=", ">="])
_ATOMS = frozenset(
    ["call_expression", "member_expression", "identifier", "subscript_expression", "await_expression"]
)
_ATOMS |= {"number", "string", "true", "false", "null", "undefined"}
_METHODS = (
    ("equal", "notEqual"),
    ("strictEqual", "notStrictEqual"),
    ("deepEqual", "notDeepEqual"),
    ("deepStrictEqual", "notDeepStrictEqual"),
    ("throws", "doesNotThrow"),
    ("match", "doesNotMatch"),
    ("include", "notInclude"),
    ("isTrue", "isFalse"),
    ("isNull", "isNotNull"),
    ("isDefined", "isUndefined"),
)
OPPOSITE_METHOD = {**dict(_METHODS), **{two: one for one, two in _METHODS}}
OPPOSITE_AWAITED = {"rejects": "doesNotReject", "doesNotReject": "rejects"}
_MATCHERS = (
    ("toBeTruthy", "toBeFalsy"),
    ("toBeDefined", "toBeUndefined"),
    ("toBeGreaterThan", "toBeLessThanOrEqual"),
    ("toBeLessThan", "toBeGreaterThanOrEqual"),
    ("true", "false"),
)
OPPOSITE_MATCHER = {**dict(_MATCHERS), **{two: one for one, two in _MATCHERS}}
ORDERING_MATCHERS = frozenset(
    [
        "toBeGreaterThan",
        "toBeLessThanOrEqual",
        "toBeLessThan",
        "toBeGreaterThanOrEqual",
        "above",
        "below",
        "least",
        "most",
        "greaterThan",
        "lessThan",
        "within",
        "gt",
        "gte",
        "lt",
        "lte",
    ]
)


def opposite(test: Node) -> list[Edit]:
    """Edits that are made together; none where there is no plain way to say it."""
    operator = operator_of(test)
    if test.type == "parenthesized_expression" and len(values_of(test)) == 1:
        return opposite(values_of(test)[0])
    if test.type == "unary_expression" and operator == "!":
        inner = test.child_by_field_name("argument")
        return [] if inner is None else [Edit(test.start_byte, inner.start_byte, "")]
    if test.type == "binary_expression":
        return _of_binary(test, operator)
    return [Edit(test.start_byte, test.start_byte, "!")] if test.type in _ATOMS else []


def depends_on_order(test: Node) -> bool:
    """An order of two things that may be times or loads; not a comparison with a number."""
    left, right = test.child_by_field_name("left"), test.child_by_field_name("right")
    if (
        test.type == "binary_expression"
        and operator_of(test) in ORDERING
        and left is not None
        and right is not None
    ):
        return not is_steady(left, right)
    return any(depends_on_order(one) for one in test.named_children)


def is_steady(*sides: Node) -> bool:
    """Whether one side is a number and the other nothing that changes from run to run."""
    texts = [text_of(one) for one in sides]
    return sum(_is_number(text) for text in texts) == 1 and not any(map(UNSTEADY.search, texts))


def _is_number(text: str) -> bool:
    return text.removeprefix("-").replace(".", "", 1).replace("_", "").isdigit()


def operator_of(node: Node) -> str:
    operator = node.child_by_field_name("operator")
    return "" if operator is None else text_of(operator)


def negate_chain(called: Node) -> list[Edit]:
    """`.not` before the last word of a chain, and after chai's `to`; or taken away where there is one."""
    link: Node | None = called
    while link is not None and link.type in {"member_expression", "call_expression"}:
        name, before = link.child_by_field_name("property"), link.child_by_field_name("object")
        if name is not None and before is not None and text_of(name) == "not":
            return [Edit(before.end_byte, name.end_byte, "")]
        if name is not None and text_of(name) == "to":
            return [Edit(name.end_byte, name.end_byte, ".not")]
        link = before or link.child_by_field_name("function")
    subject = called.child_by_field_name("object")
    return [] if subject is None else [Edit(subject.end_byte, subject.end_byte, ".not")]


def _of_binary(test: Node, operator: str) -> list[Edit]:
    left, right = test.child_by_field_name("left"), test.child_by_field_name("right")
    word = test.child_by_field_name("operator")
    if left is None or right is None or word is None:
        return []
    if operator in _OPERATORS:
        return [replace_node(word, _OPERATORS[operator])]
    if operator in {"instanceof", "in"}:
        return [Edit(test.start_byte, test.start_byte, "!("), Edit(test.end_byte, test.end_byte, ")")]
    if operator == "||":
        both = [opposite(left), opposite(right)]
        if (
            all(both)
            and operator_of(left) != "||"
            and operator_of(right) not in {"||", "&&"}
            and operator_of(left) != "&&"
        ):
            return [replace_node(word, "&&"), *both[0], *both[1]]
    return []

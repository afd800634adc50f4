"""A condition -> the edits that make it its opposite, in the words that a test would use.

a == b -> a != b      a in b -> a not in b      a is b -> a is not b      a < b -> a >= b
f(x) -> not f(x)      not f(x) -> f(x)          a or b -> not a and not b
"""

from __future__ import annotations

import ast
import itertools
import re

from steelyard.bench.twin.base import Edit
from steelyard.bench.twin.python.text import Text
from steelyard.bench.twin.sites import UNSTEADY

_OPERATORS: dict[type[ast.cmpop], tuple[str, str]] = {
    ast.Eq: (r"==", "!="),
    ast.NotEq: (r"!=", "=="),
    ast.In: (r"in\b", "not in"),
    ast.NotIn: (r"not\s+in\b", "in"),
    ast.Is: (r"is\b", "is not"),
    ast.IsNot: (r"is\s+not\b", "is"),
    ast.Lt: (r"<", ">="),
    ast.LtE: (r"<=", ">"),
    ast.Gt: (r">", "<="),
    ast.GtE: (r">=", "<"),
}
ORDERING = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
_ATOMS = (ast.Call, ast.Name, ast.Attribute, ast.Subscript, ast.Await, ast.Constant, ast.Compare)


def opposite(text: Text, test: ast.expr) -> list[Edit]:
    """Edits that are made together; none where there is no plain way to say it."""
    match test:
        case ast.Compare(ops=[operator]):
            return _other_operator(text, test.left, operator, test.comparators[0])
        case ast.UnaryOp(op=ast.Not()):
            return _without_not(text, test)
        case ast.BoolOp(op=ast.Or(), values=values):
            return _neither(text, values)
    if isinstance(test, _ATOMS):
        start, _ = text.span(test)
        return [Edit(start, start, "not ")]
    return []


def depends_on_order(test: ast.AST) -> bool:
    """An order of two things that may be times or loads, or of more than two; not a comparison with a number."""
    return any(
        isinstance(one, ast.Compare)
        and any(isinstance(operator, ORDERING) for operator in one.ops)
        and not (len(one.ops) == 1 and is_steady(one.left, one.comparators[0]))
        for one in ast.walk(test)
    )


def is_steady(*sides: ast.expr) -> bool:
    """Whether one side is a number and the other nothing that changes from run to run."""
    numbers = [
        one for one in sides if isinstance(one.operand if isinstance(one, ast.UnaryOp) else one, ast.Constant)
    ]
    return len(numbers) == 1 and not any(UNSTEADY.search(ast.unparse(one)) for one in sides)


def _other_operator(text: Text, left: ast.expr, operator: ast.cmpop, right: ast.expr) -> list[Edit]:
    start, end = text.span(left)[1], text.span(right)[0]
    old, new = _OPERATORS[type(operator)]
    found = re.fullmatch(rf"([\s)\\]*)({old})[\s(\\]*", text.source[start:end].decode())
    return [] if found is None else [Edit(start + found.start(2), start + found.end(2), new)]


def _without_not(text: Text, test: ast.UnaryOp) -> list[Edit]:
    start, _ = text.span(test)
    rest = text.of(test).removeprefix("not")
    blanks = len(rest) - len(rest.lstrip(" "))
    return [] if rest[blanks : blanks + 1] in "\\\n\r\t#" else [Edit(start, start + 3 + blanks, "")]


def _neither(text: Text, values: list[ast.expr]) -> list[Edit]:
    edits: list[Edit] = []
    for one, two in itertools.pairwise(values):
        start, end = text.span(one)[1], text.span(two)[0]
        found = re.fullmatch(r"([\s)\\]*)(or)\b[\s(\\]*", text.source[start:end].decode())
        if found is None:
            return []
        edits.append(Edit(start + found.start(2), start + found.end(2), "and"))
    for value in values:
        inner = [] if isinstance(value, ast.BoolOp) else opposite(text, value)
        if not inner:
            return []
        edits += inner
    return edits

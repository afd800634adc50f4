"""A list, tuple, set or dict as it is written -> its parts, and whether a change of one of them would be conspicuous."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator

from steelyard.bench.twin.base import Edit
from steelyard.bench.twin.python.text import literal
from steelyard.bench.twin.python.values import NoValueError, value_of

Container = ast.List | ast.Tuple | ast.Set | ast.Dict


def constants_in(node: ast.expr) -> frozenset[str]:
    """As they may be written."""
    values = [one.value for one in ast.walk(node) if isinstance(one, ast.Constant)]
    texts = [f'"{one}"' for one in values if isinstance(one, str)]
    return frozenset([*(repr(one) for one in values), *texts])


def values_of_one_kind(parts: list[ast.expr]) -> list[object] | None:
    """The elements of a list that is made of constants of one kind."""
    try:
        values = [value_of(part) for part in parts]
    except NoValueError:
        return None
    kinds = {type(one) for one in values}
    return values if len(kinds) == 1 and kinds <= {int, float, str} else None


def is_progression(values: list[object]) -> bool:
    """1, 2, 3: a number in between that is another one would be conspicuous."""
    if len(values) < 3 or type(values[0]) is not int:
        return False
    steps = {two - one for one, two in itertools.pairwise(values)}  # type: ignore[operator]  # numbers
    return len(steps) == 1 and steps != {0}


def stays_sorted(values: list[object], place: int, edit: Edit) -> bool:
    if len(values) < 3 or values != sorted(values):  # type: ignore[type-var]  # of one kind
        return True
    new = literal(edit.text)
    changed = [*values[:place], new, *values[place + 1 :]]
    return type(new) is type(values[0]) and changed == sorted(changed)  # type: ignore[type-var]  # of one kind


def parts_of(node: Container) -> list[ast.expr] | None:
    """Where a change shows: elements, or a dict's values; None when one may hide another."""
    if not isinstance(node, ast.Dict):
        return list(node.elts)
    keys = [repr(key.value) if isinstance(key, ast.Constant) else "" for key in node.keys]
    if "" in keys or len(set(keys)) < len(keys):
        return None
    return list(node.values)


def operands_of(node: ast.expr) -> Iterator[ast.expr]:
    if isinstance(node, ast.BinOp):
        yield from operands_of(node.left)
        yield from operands_of(node.right)
    else:
        yield node


def numbers_in(node: ast.expr) -> list[ast.expr]:
    """The numbers in a literal that is made of numbers: each of them is compared."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return numbers_in(node.operand)
    if isinstance(node, ast.Constant):
        return [node] if type(node.value) in (int, float) else []
    if isinstance(node, ast.List | ast.Tuple):
        return [leaf for part in node.elts for leaf in numbers_in(part)]
    return []

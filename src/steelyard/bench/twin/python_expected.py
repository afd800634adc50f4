"""An expected value, as it is written -> an edit that makes it another value.

    3              4                    a literal, or one in a list, a dict, a Decimal("..."), an approx(...)
    2 * SIZE       (2 * SIZE, "xq")     anything else: a pair is not equal to its first half

Every edit is *certain*: what equalled the old value cannot equal the new one, unless it equals everything.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Any

from steelyard.bench.twin.base import Edit
from steelyard.bench.twin.python_literals import inserted, other_literal
from steelyard.bench.twin.python_text import Text, literal

# Constructors whose arguments make the value: another argument, another value (or an exception, as good).
_BY_FIRST = frozenset(
    [
        "Decimal",
        "Fraction",
        "Path",
        "PurePath",
        "PurePosixPath",
        "UUID",
        "set",
        "frozenset",
        "list",
        "tuple",
        "deque",
        "OrderedDict",
        "Counter",
        "dict",
        "str",
    ]
)
_BY_ANY = frozenset(
    ["date", "datetime", "timedelta", "time"]
)  # whole numbers only: parts of a second are rounded
_NUMBERS: dict[str, Callable[[Any], object]] = {"Decimal": Decimal, "Fraction": Fraction}
_WHOLE_NUMBERS = (ast.Add, ast.Sub, ast.Mult, ast.Pow, ast.FloorDiv, ast.Mod, ast.LShift, ast.BitOr)
_JOINING = (ast.Add, ast.Mod, ast.Mult)
_EMPTY = {ast.List: "[0]", ast.Tuple: "(0,)", ast.Dict: "{0: 0}"}

Accepts = Callable[[object], bool]


@dataclass(frozen=True, slots=True)
class Wrong:
    """Makes wrong values in one file; `approximate` names what `pytest.approx` is called there."""

    text: Text
    approximate: frozenset[str] = field(default_factory=frozenset)

    def pair(self, node: ast.expr, spin: int) -> Edit:
        return self.text.edit(node, f'({self.text.of(node)}, "{_word(spin)}")')

    def longer(self, node: ast.expr, spin: int) -> Edit:
        """A string that no text contains by accident, even if it contains the old one and all that are like it."""
        return self.text.edit(node, inserted(self.text.of(node), _word(spin)))

    def in_place(self, node: ast.expr, spin: int) -> Edit | None:
        """Another value of the same kind, or None."""
        known = _constants(node)
        # A value that is elsewhere in the same container might be equal for who does not look at the order.
        return self._in_place(node, spin, lambda new: repr(new) not in known)

    def beyond(self, node: ast.expr, spin: int, tolerance: Callable[[float, float], float]) -> Edit | None:
        """Another number, further away than `tolerance(old, new)` reaches."""

        def far(old: object) -> Accepts:
            return lambda new: (
                isinstance(old, int | float)
                and isinstance(new, int | float)
                and abs(new - old) > 2 * tolerance(float(old), float(new))
            )

        for leaf in _numbers(node, spin):
            other = other_literal(self.text.of(leaf), spin, far(literal(self.text.of(leaf))))
            if other is not None:
                return self.text.edit(leaf, other)
        return None

    def _in_place(self, node: ast.expr, spin: int, accepts: Accepts) -> Edit | None:
        edit = None
        match node:
            case ast.Constant():
                other = other_literal(self.text.of(node), spin, accepts)
                edit = None if other is None else self.text.edit(node, other)
            case ast.JoinedStr():
                edit = self.text.edit(node, inserted(self.text.of(node)))
            case ast.UnaryOp(ast.USub(), ast.Constant()):
                edit = self._in_place(node.operand, spin, accepts)
            case ast.List() | ast.Tuple() | ast.Set() | ast.Dict():
                edit = self._in_container(node, spin, accepts)
            case ast.BinOp():
                edit = self._in_arithmetic(node, spin)
            case ast.Call():
                edit = self._in_call(node, spin, accepts)
        return edit

    def _in_container(
        self, node: ast.List | ast.Tuple | ast.Set | ast.Dict, spin: int, accepts: Accepts
    ) -> Edit | None:
        parts = _parts(node)
        if parts is None:
            return None
        if not parts and type(node) in _EMPTY:
            return self.text.edit(node, _EMPTY[type(node)])
        turn = spin % (len(parts) or 1)
        for part in parts[turn:] + parts[:turn]:
            if not isinstance(part, ast.Call | ast.BinOp | ast.JoinedStr):
                edit = self._in_place(part, spin, accepts)
                if edit is not None:
                    return edit
        return None

    def _in_arithmetic(self, node: ast.BinOp, spin: int) -> Edit | None:
        """One more than a sum of whole numbers, one word more than a joined text."""
        leaves = list(_operands(node))
        operators = [one.op for one in ast.walk(node) if isinstance(one, ast.BinOp)]
        whole = all(isinstance(leaf, ast.Constant) and type(leaf.value) is int for leaf in leaves)
        if whole and all(isinstance(one, _WHOLE_NUMBERS) for one in operators):
            return self.text.edit(node, f"({self.text.of(node)}) + {spin % 8 + 1}")
        first = leaves[0]
        written = isinstance(first, ast.JoinedStr) or (
            isinstance(first, ast.Constant) and type(first.value) is str
        )
        if written and isinstance(node.op, _JOINING):
            return self.text.edit(node, f'({self.text.of(node)}) + "{_word(spin)}"')
        return None

    def _in_call(self, node: ast.Call, spin: int, accepts: Accepts) -> Edit | None:
        called = ast.unparse(node.func)
        if called in self.approximate:
            return self._in_approximate(node, spin)
        name = called.rpartition(".")[2]
        if any(isinstance(one, ast.Starred) for one in node.args) or any(
            not one.arg for one in node.keywords
        ):
            return None
        if name in _BY_ANY:
            places = [*node.args, *(one.value for one in node.keywords if one.arg != "fold")]
            places = [one for one in places if isinstance(one, ast.Constant) and type(one.value) is int]
        else:
            places = node.args[:1] if name in _BY_FIRST else []
        for place in places:
            if not isinstance(place, ast.Call | ast.BinOp | ast.JoinedStr):
                worth = _same_number(name, literal(self.text.of(place)))
                edit = self._in_place(place, spin, lambda new, worth=worth: accepts(new) and not worth(new))  # type: ignore[misc]
                if edit is not None:
                    return edit
        return None

    def _in_approximate(self, node: ast.Call, spin: int) -> Edit | None:
        """`approx(0.3)`, with tolerances that can be read."""
        tolerances = {one.arg: literal(self.text.of(one.value)) for one in node.keywords}
        if len(node.args) != 1 or not set(tolerances) <= {"rel", "abs"}:
            return None
        if not all(isinstance(one, int | float) for one in tolerances.values()):
            return None
        rel = float(tolerances.get("rel", 0.0 if "abs" in tolerances else 1e-6))  # type: ignore[arg-type]  # checked
        least = float(tolerances.get("abs", 1e-12))  # type: ignore[arg-type]  # checked
        return self.beyond(node.args[0], spin, lambda old, new: rel * (abs(old) + abs(new)) + least)


def _same_number(name: str, old: object) -> Accepts:
    """`Decimal("0E1")` is `Decimal("0E2")`, whatever their texts say."""
    if name not in _NUMBERS:
        return lambda _: False

    def same(new: object) -> bool:
        try:
            return _NUMBERS[name](new) == _NUMBERS[name](old)
        except (ArithmeticError, ValueError, TypeError):
            return False

    return same


def _word(spin: int) -> str:
    return "".join(chr(ord("a") + (spin >> shift) % 26) for shift in (0, 5, 10))


def _constants(node: ast.expr) -> frozenset[str]:
    return frozenset(repr(one.value) for one in ast.walk(node) if isinstance(one, ast.Constant))


def _parts(node: ast.List | ast.Tuple | ast.Set | ast.Dict) -> list[ast.expr] | None:
    """Where a change shows: elements, or a dict's values and then its keys; None when one may hide another."""
    if not isinstance(node, ast.Dict):
        return list(node.elts)
    keys = [repr(key.value) if isinstance(key, ast.Constant) else "" for key in node.keys]
    if "" in keys or len(set(keys)) < len(keys):
        return None
    return [*node.values, *(key for key in node.keys if key is not None)]


def _operands(node: ast.expr) -> Iterator[ast.expr]:
    if isinstance(node, ast.BinOp):
        yield from _operands(node.left)
        yield from _operands(node.right)
    else:
        yield node


def _numbers(node: ast.expr, spin: int) -> list[ast.expr]:
    """The numbers in a literal that is made of numbers: each of them is compared."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return _numbers(node.operand, spin)
    if isinstance(node, ast.Constant):
        return [node] if type(node.value) in (int, float) else []
    if isinstance(node, ast.List | ast.Tuple):
        found = [leaf for part in node.elts for leaf in _numbers(part, spin)]
        return found[spin % (len(found) or 1) :] + found[: spin % (len(found) or 1)]
    return []

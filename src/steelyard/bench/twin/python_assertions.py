"""A statement that asserts -> how to make it assert something else.

value       another expected value: also whoever answers with what is expected gives himself away
pair        the expected value in a pair: also whoever equals everything gives himself away
raises      another class of exceptions
negation    the opposite: only whoever makes everything pass gives himself away
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum

from steelyard.bench.twin.base import Edit
from steelyard.bench.twin.python_expected import Wrong
from steelyard.bench.twin.python_ids import word_in_id
from steelyard.bench.twin.python_text import Text, literal

_OPPOSITES = (
    ("assertTrue", "assertFalse"),
    ("assertIs", "assertIsNot"),
    ("assertIsNone", "assertIsNotNone"),
    ("assertIn", "assertNotIn"),
    ("assertIsInstance", "assertNotIsInstance"),
    ("assertRegex", "assertNotRegex"),
    ("assertEqual", "assertNotEqual"),
    ("assert_called", "assert_not_called"),
)
OPPOSITE = {
    **dict(_OPPOSITES),
    **{two: one for one, two in _OPPOSITES},
    "assert_called_once": "assert_not_called",
}
_EQUAL = frozenset(
    [
        "assertEqual",
        "assertListEqual",
        "assertTupleEqual",
        "assertDictEqual",
        "assertSetEqual",
        "assertSequenceEqual",
        "assertMultiLineEqual",
        "assertCountEqual",
    ]
)
_CALLED_WITH = frozenset(["assert_called_with", "assert_called_once_with", "assert_any_call"])
_OF_MOCKS = _CALLED_WITH | {"assert_called", "assert_not_called", "assert_called_once"}
_ORDERING = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
# Nobody raises these by accident, and hardly anybody derives from them.
_RARE = (
    *("BufferError", "RecursionError", "UnboundLocalError", "FloatingPointError", "IndentationError"),
    *("UnicodeTranslateError", "ChildProcessError", "BlockingIOError"),
)


class Strength(IntEnum):
    NEGATION = 1
    RAISES = 2
    PAIR = 3
    VALUE = 4


@dataclass(frozen=True, slots=True)
class Site:
    """One assertion and the edits that make it wrong; `certain` if honest work cannot pass both."""

    strength: Strength
    certain: bool
    edits: tuple[Edit, ...]
    rows: tuple[tuple[str, str], ...] = ()  # what the edits change in the ids of a test with parameters


@dataclass(frozen=True, slots=True)
class Values:
    """Where the values of a name are written; `in_ids` if they are parameters, which pytest writes into ids."""

    places: Sequence[ast.expr]
    in_ids: bool = False


@dataclass(frozen=True, slots=True)
class Names:
    """What the file calls the things that matter, and which of unittest's methods it defines anew."""

    raises: frozenset[str]
    approximate: frozenset[str]
    redefined: frozenset[str]
    equals_everything: bool  # some class of the file does: an equality is then no certain thing


@dataclass(frozen=True, slots=True)
class Assertions:
    """Finds what one statement asserts."""

    text: Text
    names: Names
    spin: int
    written: Mapping[str, Values]  # of names that are used once

    def sites(self, statement: ast.stmt) -> Iterator[Site]:
        match statement:
            case ast.Assert():
                yield from self._asserted(statement.test)
            case ast.Expr(ast.Call() as call):
                yield from self._called(call)
            case ast.With(items=[ast.withitem(context_expr=ast.Call() as call)]):
                yield from self._raises(call)

    @property
    def _wrong(self) -> Wrong:
        return Wrong(self.text, self.names.approximate)

    def _expected(self, node: ast.expr) -> Site:
        """An equality with this expected side, made wrong: where its value is written, or else where it is used."""
        values = self.written.get(node.id, Values(())) if isinstance(node, ast.Name) else Values((node,))
        edits = [edit for edit in (self._wrong.in_place(place, self.spin) for place in values.places) if edit]
        certain = not self.names.equals_everything
        if edits and len(edits) == len(values.places):
            return Site(Strength.VALUE, certain, tuple(edits), self._rows(values, edits))
        return Site(Strength.PAIR, certain, (self._wrong.pair(node, self.spin),))

    def _rows(self, values: Values, edits: Sequence[Edit]) -> tuple[tuple[str, str], ...]:
        """How the ids of the rows change, as far as that can be told without running anything."""
        words = [
            (word_in_id(self.text.of(place)), word_in_id(self.text.changed(place, edit)))
            for place, edit in zip(values.places, edits, strict=True)
            if values.in_ids
        ]
        return tuple((old, new) for old, new in words if old is not None and new is not None)

    def _asserted(self, test: ast.expr) -> Iterator[Site]:
        if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
            for part in test.values:
                yield from self._compared(part)
        yield from self._compared(test)
        # What depends on time or load may come out either way without anybody cheating.
        steady = not any(isinstance(one, _ORDERING) for one in ast.walk(test))
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            edit = self._without_not(test)
        else:
            edit = self.text.edit(test, f"not ({self.text.of(test)})")
        if edit is not None:
            yield Site(Strength.NEGATION, steady, (edit,))

    def _without_not(self, test: ast.UnaryOp) -> Edit | None:
        start, _ = self.text.span(test)
        rest = self.text.of(test).removeprefix("not")
        blanks = len(rest) - len(rest.lstrip(" "))
        return None if rest[blanks : blanks + 1] in "\\\n\r\t#" else Edit(start, start + 3 + blanks, "")

    def _compared(self, test: ast.expr) -> Iterator[Site]:
        if not isinstance(test, ast.Compare) or len(test.ops) != 1:
            return
        left, right = test.left, test.comparators[0]
        if isinstance(test.ops[0], ast.Eq):
            yield self._expected(expected_side(left, right))
        elif (
            isinstance(test.ops[0], ast.Is) and isinstance(right, ast.Constant) and type(right.value) is bool
        ):
            yield self._expected(right)
        elif (
            isinstance(test.ops[0], ast.In)
            and isinstance(left, ast.Constant)
            and isinstance(left.value, str | bytes)
        ):
            yield Site(Strength.VALUE, True, (self._wrong.longer(left, self.spin),))

    def _called(self, call: ast.Call) -> Iterator[Site]:
        if len(call.args) > 1:  # a `raises` without anything to call does nothing
            yield from self._raises(call)
        if not isinstance(call.func, ast.Attribute) or any(isinstance(one, ast.Starred) for one in call.args):
            return
        name, of_unittest = (
            call.func.attr,
            isinstance(call.func.value, ast.Name) and call.func.value.id == "self",
        )
        if name in self.names.redefined or (name not in _OF_MOCKS and not of_unittest):
            return
        if name in _EQUAL and len(call.args) >= 2:
            yield self._expected(expected_side(call.args[0], call.args[1]))
        if name in _CALLED_WITH:
            yield from self._called_with(call)
        if name == "assertAlmostEqual" and len(call.args) == 2:
            yield from self._almost(call)
        if name in OPPOSITE:
            yield self._opposite(call.func, call)

    def _called_with(self, call: ast.Call) -> Iterator[Site]:
        for value in (*call.args, *(one.value for one in call.keywords if one.arg)):
            edit = self._wrong.in_place(value, self.spin)
            if edit is not None:
                yield Site(Strength.VALUE, True, (edit,))

    def _almost(self, call: ast.Call) -> Iterator[Site]:
        given = {one.arg: literal(self.text.of(one.value)) for one in call.keywords if one.arg != "msg"}
        numbers = {
            name: one for name, one in given.items() if isinstance(one, int | float) and 0 <= one < 300
        }
        if len(numbers) < len(given):
            return
        reach = numbers.get("delta", 10 ** -numbers.get("places", 7))
        edit = self._wrong.beyond(expected_side(*call.args), self.spin, lambda _old, _new: reach)
        if edit is not None:
            yield Site(Strength.VALUE, True, (edit,))

    def _opposite(self, name: ast.Attribute, call: ast.Call) -> Site:
        _, end = self.text.span(name)
        steady = not any(isinstance(one, _ORDERING) for one in ast.walk(call))
        edit = Edit(end - len(name.attr.encode()), end, OPPOSITE[name.attr])
        return Site(Strength.NEGATION, steady, (edit,))

    def _raises(self, call: ast.Call) -> Iterator[Site]:
        called = ast.unparse(call.func)
        of_unittest = called in {"self.assertRaises", "self.assertRaisesRegex"}
        if (called in self.names.raises or of_unittest) and call.args:
            other = _other_exception(call.args[0], self.spin)
            if called.rpartition(".")[2] not in self.names.redefined:
                lines = "\n" * self.text.of(call.args[0]).count("\n")
                yield Site(Strength.RAISES, True, (self.text.edit(call.args[0], other + lines),))


def raises_within(statement: ast.stmt, names: Names) -> bool:
    """A `with` whose body ends early, as it should."""
    if not isinstance(statement, ast.With | ast.AsyncWith):
        return False
    called = [
        ast.unparse(one.context_expr.func)
        for one in statement.items
        if isinstance(one.context_expr, ast.Call)
    ]
    return any(name in names.raises or name.startswith("self.assertRaises") for name in called)


def expected_side(left: ast.expr, right: ast.expr) -> ast.expr:
    """Which side of an equality is the expectation: what is written out, else a plain name, else the right one."""
    for kind in (_is_written_out, _is_plain_name):
        for side in (right, left):
            if kind(side):
                return side
    return right


def _is_written_out(node: ast.expr) -> bool:
    if isinstance(node, ast.UnaryOp):
        return _is_written_out(node.operand)
    return isinstance(node, ast.Constant | ast.List | ast.Tuple | ast.Dict | ast.Set | ast.JoinedStr)


def _is_plain_name(node: ast.expr) -> bool:
    return isinstance(node, ast.Name)


def _other_exception(old: ast.expr, spin: int) -> str:
    known = {ast.unparse(old).rpartition(".")[2]}
    known |= {ast.unparse(one) for one in old.elts} if isinstance(old, ast.Tuple) else set()
    named = [getattr(builtins, name, None) for name in known]
    related = tuple(one for one in named if isinstance(one, type))
    for turn in range(len(_RARE)):
        name = _RARE[(spin + turn) % len(_RARE)]
        other = getattr(builtins, name)
        if name not in known and not any(issubclass(one, other) for one in related):
            return name
    return _RARE[0]

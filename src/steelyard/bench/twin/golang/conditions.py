"""A condition of a Go test -> the ways to make honest work fail it (see sites.py for what each reveals).

if got != 3 { t.Fatal() }               another value; of `tt.want` another one in each row
if !strings.Contains(s, "ab") { ... }   another argument
if err != nil { t.Fatal(err) }          the opposite
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from steelyard.bench.twin.base import Edit
from steelyard.bench.twin.golang.literals import Literals, parse_call, plain
from steelyard.bench.twin.golang.scope import Scope, is_condition
from steelyard.bench.twin.plausible.strings import other_beginnings, other_ends
from steelyard.bench.twin.sites import UNSTEADY, Change, EditChoice, Odds, Strength
from steelyard.bench.twin.syntax_nodes import Others, replace_node, text_of, values_of

if TYPE_CHECKING:
    from tree_sitter import Node

    from steelyard.bench.twin.golang.scope import Cell

_PAIRS = {"==": "!=", "<": ">=", ">": "<="}
_OPPOSITE = {**_PAIRS, **{two: one for one, two in _PAIRS.items()}}
_ORDERING = frozenset(["<", ">", "<=", ">="])
_ATOMS = frozenset(["call_expression", "identifier", "selector_expression", "index_expression"])
_DEEPLY = frozenset(["reflect.DeepEqual", "bytes.Equal", "slices.Equal", "maps.Equal", "strings.EqualFold"])
_WITH_OPTIONS = frozenset(["cmp.Equal", "cmp.Diff"])
_CONTAINS = frozenset(["strings.Contains"])
_ENDS = {"strings.HasPrefix": other_beginnings, "strings.HasSuffix": other_ends}
_SIMPLE = frozenset(["int_literal", "interpreted_string_literal", "raw_string_literal", "float_literal"])
_LIKELY = Odds.LIKELY


_TRUTHS = frozenset(["nil", "true", "false"])


class AssertionChange(NamedTuple):
    """One way to make an assertion wrong. Of a table, what one row adds to that: all rows are changed together."""

    strength: Strength
    odds: Odds
    places: tuple[EditChoice, ...]
    table: int = -1
    row: int = -1
    reached: bool = True
    partial: bool = False  # only some rows of a table come to it
    shows: bool = False  # whether who reads it knows, without the right answer, that it is changed


@dataclass(frozen=True, slots=True)
class Conditions:
    """Finds what the conditions of a test compare."""

    literals: Literals

    def false(self, test: Node, scope: Scope) -> Iterator[AssertionChange]:
        """Of a condition that is false when the test passes."""
        test = plain(test)
        operator = operator_of(test)
        left, right = test.child_by_field_name("left"), test.child_by_field_name("right")
        operand = test.child_by_field_name("operand")
        if operator == "!" and operand is not None:
            yield from self._values_of_true(operand, scope)
        elif left is not None and right is not None and operator == "||":
            yield from self._of_either(left, right, scope)
            return
        elif left is not None and right is not None and operator == "!=":
            yield from self._unequal(left, right, scope)
        yield opposite_of(test)

    def true(self, test: Node, scope: Scope) -> Iterator[AssertionChange]:
        """Of a condition that holds when the test passes."""
        test = plain(test)
        operator = operator_of(test)
        left, right = test.child_by_field_name("left"), test.child_by_field_name("right")
        if left is not None and right is not None and operator == "&&":
            yield from self.true(left, scope)
            yield from self.true(right, scope)
            return
        yield from self._values_of_true(test, scope)
        yield opposite_of(test)

    def equal(
        self, one: Node, two: Node, scope: Scope, odds: Odds = Odds.CERTAIN
    ) -> Iterator[AssertionChange]:
        """Another value of either side, of which the other one is not written down."""
        sides = [list(self.values(side, scope, odds=odds)) for side in (one, two)]
        yield from max(sides, key=lambda found: max((one.odds for one in found), default=0))

    def values(
        self,
        node: Node,
        scope: Scope,
        change: Callable[[Node], Others] | None = None,
        odds: Odds = Odds.CERTAIN,
    ) -> Iterator[AssertionChange]:
        """Other values for an expression: for itself, for the name that it is, for the column of a table."""
        node = plain(node)
        make = change or self.literals.others
        columns = scope.cells(node)
        if columns is not None:
            table, cells = columns
            other_uses = scope.columns.get(text_of(node), 0) - (not is_condition(node))
            if node.type != "identifier":  # the row as a whole
                other_uses += scope.columns.get(scope.variable_of(node), 0)
            is_later = scope.first.get(text_of(node), node.start_byte) < node.start_byte
            most = Odds.OPEN if other_uses > 0 or is_later or text_of(node) in scope.decided else odds
            for cell in cells:
                others = self._of_cell(cell, make) if cell is not None else None
                if cell is not None and others is not None and others.edits:
                    place = _place(others.edits)
                    yield AssertionChange(
                        Strength.VALUE, min(most, others.odds), (place,), table.number, cell.row
                    )
            return
        name = text_of(node)
        if node.type == "identifier" and name in scope.values:
            others = self._of_name(node, scope, make)
        else:
            others = make(node)
        if others.edits:
            yield AssertionChange(Strength.VALUE, min(odds, others.odds), (_place(others.edits),))

    def _of_either(self, left: Node, right: Node, scope: Scope) -> Iterator[AssertionChange]:
        """Of two conditions that are both false: making one of them true is enough, if it is the first that is asked."""
        yield from self.false(left, scope)
        yield from self.false(right, scope)

    def _unequal(self, left: Node, right: Node, scope: Scope) -> Iterator[AssertionChange]:
        difference = _difference(left, scope) if text_of(right) in {'""', "``"} else None
        if difference is not None:
            arguments = parse_call(difference)[1]
            odds = Odds.CERTAIN if len(arguments) == 2 else _LIKELY
            yield from self.equal(arguments[0], arguments[1], scope, odds)
            return
        yield from self.equal(right, left, scope)

    def _values_of_true(self, test: Node, scope: Scope) -> Iterator[AssertionChange]:
        test = plain(test)
        operator = operator_of(test)
        left, right = test.child_by_field_name("left"), test.child_by_field_name("right")
        operand = test.child_by_field_name("operand")
        if operator == "==" and left is not None and right is not None:
            yield from self._unequal(left, right, scope)
        elif operator == "!" and operand is not None:
            inner = plain(operand)
            sides = inner.child_by_field_name("left"), inner.child_by_field_name("right")
            if operator_of(inner) == "!=" and sides[0] is not None and sides[1] is not None:
                yield from self._unequal(sides[0], sides[1], scope)
        else:
            yield from self._predicate(test, scope)

    def _predicate(self, call: Node, scope: Scope) -> Iterator[AssertionChange]:
        name, arguments = parse_call(call)
        if len(arguments) >= 2 and name in _DEEPLY | _WITH_OPTIONS:
            exact = name in _DEEPLY or len(arguments) == 2
            yield from self.equal(arguments[1], arguments[0], scope, Odds.CERTAIN if exact else _LIKELY)
        elif len(arguments) == 2 and name in _CONTAINS:
            yield from self.values(arguments[1], scope, self.literals.needles)
        elif len(arguments) == 2 and name in _ENDS:
            vary = _ENDS[name]
            yield from self.values(
                arguments[1], scope, lambda node: Others(Odds.CERTAIN, self.literals.varied(node, vary))
            )
        elif len(arguments) == 1 and name.endswith(".Equal"):
            owner = call.child_by_field_name("function")
            operand = None if owner is None else owner.child_by_field_name("operand")
            if operand is not None:
                yield from self.equal(arguments[0], operand, scope, _LIKELY)

    def _of_cell(self, cell: Cell, make: Callable[[Node], Others]) -> Others:
        if cell.value is not None:
            return make(plain(cell.value))
        if cell.holder is None:
            return Others(Odds.OPEN, [])
        parts = values_of(cell.holder)
        place = parts[-1].end_byte if parts else cell.holder.start_byte + 1
        before = ", " if parts else ""
        some = self.literals.zero(cell.type_name)
        return Others(Odds.CERTAIN, [Edit(place, place, f"{before}{cell.name}: {one}") for one in some])

    def _of_name(self, node: Node, scope: Scope, make: Callable[[Node], Others]) -> Others:
        """A value that is declared for this comparison is changed there; of another one, what stands here."""
        value = plain(scope.values[text_of(node)])
        others = make(value)
        if scope.uses.get(text_of(node), 0) == 2:
            return others
        if value.type not in _SIMPLE:
            return Others(Odds.OPEN, [])
        return Others(others.odds, [replace_node(node, _after(value, edit)) for edit in others.edits])


def opposite_of(test: Node) -> AssertionChange:
    odds = Odds.OPEN if depends_on_order(test) else Odds.CERTAIN
    sides = [text_of(test.child_by_field_name(side)) for side in ("left", "right")]
    names_an_answer = operator_of(test) == "!=" and _TRUTHS.isdisjoint(sides)
    places = tuple((Change(edit),) for edit in _opposite(test))
    return AssertionChange(Strength.NEGATION, odds, places, shows=names_an_answer)


def depends_on_order(test: Node) -> bool:
    """An order of two things that may be times or loads; not a comparison with a number."""
    left, right = test.child_by_field_name("left"), test.child_by_field_name("right")
    if left is not None and right is not None and operator_of(test) in _ORDERING:
        texts = [text_of(left), text_of(right)]
        is_steady = sum(re.fullmatch(r"-?[\d_.]+", text) is not None for text in texts) == 1
        return not is_steady or any(map(UNSTEADY.search, texts))
    return any(depends_on_order(one) for one in test.named_children)


def operator_of(node: Node) -> str:
    if node.type not in {"binary_expression", "unary_expression"}:
        return ""
    return text_of(node.child_by_field_name("operator"))


def compared_with_nil(test: Node) -> set[str]:
    """The names that a condition compares with nil: where it is made its opposite they may be nil."""
    left, right = test.child_by_field_name("left"), test.child_by_field_name("right")
    found = set()
    if operator_of(test) == "!=" and left is not None and right is not None:
        found = {text_of(one) for one, other in ((left, right), (right, left)) if text_of(other) == "nil"}
    for child in test.named_children:
        found |= compared_with_nil(child)
    return found


def _difference(node: Node, scope: Scope) -> Node | None:
    """The call of `cmp.Diff` that a text is the result of."""
    found = scope.values.get(text_of(node), node) if node.type == "identifier" else node
    name, arguments = parse_call(found)
    return found if name.endswith(".Diff") and len(arguments) >= 2 else None


def _opposite(test: Node) -> list[Edit]:
    """Edits that are made together."""
    test = plain(test)
    operator = operator_of(test)
    word, operand = test.child_by_field_name("operator"), test.child_by_field_name("operand")
    if operator == "!" and operand is not None:
        return [Edit(test.start_byte, operand.start_byte, "")]
    if operator in _OPPOSITE and word is not None:
        return [replace_node(word, _OPPOSITE[operator])]
    if operator in {"&&", "||"}:
        return [Edit(test.start_byte, test.start_byte, "!("), Edit(test.end_byte, test.end_byte, ")")]
    if test.type in _ATOMS and not operator:
        return [Edit(test.start_byte, test.start_byte, "!")]
    return []


def _after(value: Node, edit: Edit) -> str:
    """The text of a literal after an edit inside it."""
    text = value.text or b""
    before, after = text[: edit.start - value.start_byte], text[edit.end - value.start_byte :]
    return before.decode(errors="replace") + edit.text + after.decode(errors="replace")


def _place(edits: list[Edit]) -> EditChoice:
    return tuple(Change(edit) for edit in edits)

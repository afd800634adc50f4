"""An expected value, as it is written -> the edits that make it another value of the same kind.

    3                  4                        a literal, or one in a list, a dict, a Decimal("..."), an approx(...)
    [1, 2, 3]          [1, 2], [1, 2, 3, 4]     one element more or less; what was in order stays so
    "a" + name         "b" + name               a part that shows in the result
    Money(5, "EUR")    Money(6, "EUR")          only likely: a class may ignore it when it compares
    other              -                        nothing: here only the opposite operator is left

What equalled the old value cannot equal a *certain* new one, unless it equals everything.
"""

from __future__ import annotations

import ast
import datetime as dt
from collections.abc import Callable, Iterable, Iterator
from dataclasses import field
from typing import NamedTuple

from steelyard.bench.twin.base import Edit
from steelyard.bench.twin.plausible.numbers import farther, other_numbers
from steelyard.bench.twin.python.containers import (
    Container,
    constants_in,
    is_progression,
    numbers_in,
    operands_of,
    parts_of,
    stays_sorted,
    values_of_one_kind,
)
from steelyard.bench.twin.python.literals import other_literals, other_templates
from steelyard.bench.twin.python.text import Text, expression, literal
from steelyard.bench.twin.python.values import NoValueError, value_of
from steelyard.bench.twin.python.vocabulary import Vocabulary
from steelyard.bench.twin.sites import Odds
from steelyard.deferred.data_class import dataclass

# Constructors whose arguments make the value: another argument, another value (or an exception, as good).
_BY_FIRST = frozenset(
    ["Path", "PurePath", "PurePosixPath", "UUID", "deque", "OrderedDict", "Counter", "dict"]
)
# Whole numbers only: parts of a second are rounded
_BY_ANY = frozenset(["date", "datetime", "timedelta", "time"])
_EMPTY_CALLS = {"set": "{%s}", "list": "[%s]"}
_PER_LEAF = 3
_LEAVES = 4
_LONG = 24  # elements of a list; a longer one is changed in its first parts

Tolerance = Callable[[float, float], float]


class Others(NamedTuple):
    """Edits that make another value, each by itself."""

    odds: Odds
    edits: list[Edit]


@dataclass(frozen=True, slots=True)
class Wrong:
    """Makes wrong values in one file; `approximate` names what `pytest.approx` is called there."""

    text: Text
    vocabulary: Vocabulary = field(default_factory=Vocabulary)
    approximate: frozenset[str] = field(default_factory=frozenset)

    def others(self, node: ast.expr) -> Others:
        """No edits when nothing in it can be changed."""
        for odds, found in self._ways(node):
            edits = [edit for edit in found if self.text.keeps_lines(edit)]
            if edits:
                return Others(odds, edits)
        return Others(Odds.OPEN, [])

    def others_than(self, node: ast.expr, taken: frozenset[str]) -> list[Edit]:
        """Certain ones, of which none is among other values that are written nearby."""
        odds, edits = self.others(node)
        return [one for one in edits if one.text not in taken] if odds is Odds.CERTAIN else []

    def beyond(self, node: ast.expr, tolerance: Tolerance) -> list[Edit]:
        """Other numbers, further away than `tolerance(old, new)` reaches."""
        found = []
        for leaf in numbers_in(node)[:_LEAVES]:
            text = self.text.of(leaf)
            old = literal(text)
            for other in (*other_numbers(text), *farther(text)):
                new = literal(other)
                if (
                    isinstance(old, int | float)
                    and isinstance(new, int | float)
                    and abs(new - old) > 2 * tolerance(float(old), float(new))
                ):
                    found.append(self.text.edit(leaf, other))
        return found

    def _ways(self, node: ast.expr) -> Iterator[tuple[Odds, Iterable[Edit]]]:
        yield Odds.CERTAIN, self._written(node)
        computed = self._computed(node) if isinstance(node, ast.Call | ast.BinOp) else None
        if computed is not None:
            yield Odds.CERTAIN, computed
            return
        if isinstance(node, ast.BinOp):
            yield from self._join(node)
        elif isinstance(node, ast.Call) and ast.unparse(node.func) not in self.approximate:
            yield from self._in_call(node)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            names = self.vocabulary.members.get(node.value.id, ())
            others = [name for name in names if name != node.attr] if node.attr in names else []
            yield Odds.CERTAIN, (self.text.edit(node, f"{node.value.id}.{name}") for name in others)

    def _written(self, node: ast.expr) -> list[Edit]:
        match node:
            case ast.Constant(value=value):
                text = self.text.of(node)
                return [
                    self.text.edit(node, one) for one in other_literals(text, value, self.vocabulary.words)
                ]
            case ast.JoinedStr():
                others = other_templates(self.text.of(node), self.vocabulary.words)
                return [self.text.edit(node, one) for one in others if _same_fields(node, one)]
            case ast.UnaryOp(ast.USub(), ast.Constant()):
                return self._written(node.operand)
            case ast.List() | ast.Tuple() | ast.Set() | ast.Dict():
                return self._in_container(node)
            case ast.Call():
                return self._in_constructor(node)
        return []

    def _in_container(self, node: Container) -> list[Edit]:
        parts = parts_of(node)
        if parts is None:
            return []
        if not parts:
            return [self.text.edit(node, one) for one in self._fill(node)]
        values = values_of_one_kind(parts) if isinstance(node, ast.List) else None
        longer = self._longer_or_shorter(node, values) if isinstance(node, ast.List) and values else []
        if values and is_progression(values) and longer:
            return longer + self._emptied(node, parts)
        found = list(self._in_parts(node, parts, values))
        if isinstance(node, ast.Dict) and not found:
            found = list(self._in_parts(node, [key for key in node.keys if key is not None], None))
        return longer + self._emptied(node, parts) + found

    def _emptied(self, node: Container, parts: list[ast.expr]) -> list[Edit]:
        empty = {ast.List: "[]", ast.Dict: "{}"}.get(type(node))
        return [self.text.edit(node, empty)] if empty and len(parts) < _LEAVES else []

    def _in_parts(self, node: ast.expr, parts: list[ast.expr], values: list[object] | None) -> Iterator[Edit]:
        # A value that is elsewhere in the same container might make it the same for who does not look at the order.
        known = constants_in(node)
        changeable = 0
        for place, part in enumerate(parts[:_LONG]):
            if isinstance(part, ast.Call | ast.BinOp | ast.JoinedStr) or changeable == _LEAVES:
                continue
            edits = [edit for edit in self._written(part) if edit.text not in known]
            edits = [edit for edit in edits if not values or stays_sorted(values, place, edit)]
            changeable += bool(edits)
            yield from edits[:_PER_LEAF]

    def _fill(self, node: Container) -> list[str]:
        match node:
            case ast.List():
                return [f"[{one}]" for one in self.vocabulary.element()]
            case ast.Dict():
                return [f"{{{one}}}" for one in self.vocabulary.item()]
        return [
            f"({one}, {two})"
            for one, two in zip(self.vocabulary.element(), self.vocabulary.element()[1:], strict=False)
        ]

    def _longer_or_shorter(self, node: ast.List, values: list[object]) -> list[Edit]:
        start, end = self.text.span(node)
        last = node.elts[-1]
        found = []
        if len({repr(one) for one in values}) == len(values):
            before = self.text.span(node.elts[-2])[1] if len(values) > 1 else start + 1
            found.append((Edit(before, self.text.span(last)[1], ""), values[:-1]))
        step = values[-1] - values[-2] if is_progression(values) else 0  # type: ignore[operator]  # numbers
        texts = [f"{values[-1] + step}"] if step else [edit.text for edit in self._written(last)]  # type: ignore[operator]
        place = self.text.span(last)[1]
        known = constants_in(node)
        found += [
            (Edit(place, place, f", {one}"), [*values, literal(one)]) for one in texts if one not in known
        ][:2]
        return [edit for edit, new in found if edit.end <= end and self._makes(node, edit, new)]

    def _makes(self, node: ast.expr, edit: Edit, value: object) -> bool:
        changed = expression(self.text.changed(node, edit))
        try:
            return changed is not None and value_of(changed) == value
        except NoValueError:
            return False

    def _makes_other(self, node: ast.expr, edit: Edit, old: object) -> bool:
        changed = expression(self.text.changed(node, edit))
        try:
            return changed is not None and _differ(old, value_of(changed))
        except NoValueError:
            return False

    def _in_constructor(self, node: ast.Call) -> list[Edit]:
        called = ast.unparse(node.func)
        if called in self.approximate:
            return self._in_approximate(node)
        name = called.rpartition(".")[2]
        if _has_stars(node):
            return []
        if name in _EMPTY_CALLS and not node.args and not node.keywords:
            return [self.text.edit(node, _EMPTY_CALLS[name] % one) for one in self.vocabulary.element()]
        places = node.args[:1] if name in _BY_FIRST else []
        if name in _BY_ANY:
            places = [*node.args, *(one.value for one in node.keywords if one.arg != "fold")]
            places = [one for one in places if isinstance(one, ast.Constant) and type(one.value) is int]
            edits = [(place, edit) for place in places for edit in self._written(place)]
            valid = [edit for place, edit in edits if node.keywords or _is_valid(name, places, place, edit)]
            return valid or [edit for _, edit in edits]
        return [
            edit
            for place in places
            if not isinstance(place, ast.Call | ast.BinOp | ast.JoinedStr)
            for edit in self._written(place)
        ]

    def _in_approximate(self, node: ast.Call) -> list[Edit]:
        """`approx(0.3)`, with tolerances that can be read."""
        tolerances = {one.arg: literal(self.text.of(one.value)) for one in node.keywords}
        if len(node.args) != 1 or not set(tolerances) <= {"rel", "abs"}:
            return []
        if not all(isinstance(one, int | float) for one in tolerances.values()):
            return []
        rel = float(tolerances.get("rel", 0.0 if "abs" in tolerances else 1e-6))  # type: ignore[arg-type]  # checked
        least = float(tolerances.get("abs", 1e-12))  # type: ignore[arg-type]  # checked
        return self.beyond(node.args[0], lambda old, new: rel * (abs(old) + abs(new)) + least)

    def _computed(self, node: ast.expr) -> list[Edit] | None:
        """Where the whole value can be computed before and after; None where it cannot."""
        try:
            old = value_of(node)
        except NoValueError:
            return None
        leaves = [one for one in ast.walk(node) if isinstance(one, ast.Constant | ast.List)]
        return [
            edit
            for leaf in leaves[:_LEAVES]
            for edit in [one for one in self._written(leaf) if self._makes_other(node, one, old)][:_PER_LEAF]
        ]

    def _join(self, node: ast.BinOp) -> Iterator[tuple[Odds, Iterable[Edit]]]:
        """`"a" + name`, `n + 1`, `"%s!" % name`, `folder / "a.txt"`: what is the same on both sides cancels out."""
        operands = list(operands_of(node))
        operators = {type(one.op) for one in ast.walk(node) if isinstance(one, ast.BinOp)}
        if operators == {ast.Mod}:
            if isinstance(node.left, ast.Constant) and isinstance(node.left.value, str):
                yield Odds.CERTAIN, self._templates(node.left)
            return
        texts = [one for one in operands if isinstance(one, ast.JoinedStr) or _is_text(one)]
        if operators <= {ast.Add} or (operators == {ast.Div} and node.right in texts):
            yield Odds.CERTAIN, [edit for one in texts for edit in self._written(one)]
        numbers = [one for one in operands if isinstance(one, ast.Constant) and type(one.value) is int]
        edits = [edit for one in numbers for edit in self._written(one)]
        yield Odds.CERTAIN if operators <= {ast.Add, ast.Sub} else Odds.LIKELY, edits

    def _templates(self, node: ast.Constant) -> list[Edit]:
        others = other_templates(self.text.of(node), self.vocabulary.words)
        return [self.text.edit(node, one) for one in others if isinstance(literal(one), str)]

    def _in_call(self, node: ast.Call) -> Iterator[tuple[Odds, Iterable[Edit]]]:
        match node.func:
            case ast.Attribute(value=ast.Constant(value=str()) as template, attr="format"):
                yield Odds.CERTAIN, self._templates(template)
        if not _has_stars(node):
            values = [*node.args, *(one.value for one in node.keywords)]
            leaves = [
                one for one in values if isinstance(one, ast.List | ast.Dict | ast.JoinedStr) or _tells(one)
            ]
            yield Odds.LIKELY, [edit for one in leaves[:_LEAVES] for edit in self._written(one)[:_PER_LEAF]]


def _tells(node: ast.expr) -> bool:
    """A constant that is more than an option."""
    inner = node.operand if isinstance(node, ast.UnaryOp) else node
    return isinstance(inner, ast.Constant) and type(inner.value) in (int, float, str, bytes)


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _has_stars(node: ast.Call) -> bool:
    return any(isinstance(one, ast.Starred) for one in node.args) or any(not one.arg for one in node.keywords)


def _is_valid(name: str, places: list[ast.expr], place: ast.expr, edit: Edit) -> bool:
    """A day that its month has, an hour of the day; keywords are not looked at."""
    kinds = {"date": dt.date, "datetime": dt.datetime, "time": dt.time}
    numbers = [
        int(edit.text, 0) if one is place else one.value for one in places if isinstance(one, ast.Constant)
    ]
    try:
        kinds.get(name, dt.timedelta)(*numbers)
    except (TypeError, ValueError, OverflowError):
        return False
    return True


def _same_fields(old: ast.JoinedStr, text: str) -> bool:
    """Whether only the text beside what is formatted is another."""
    new = expression(text)
    if not isinstance(new, ast.JoinedStr) or len(new.values) != len(old.values):
        return False
    kept = [ast.dump(one) for one in old.values if isinstance(one, ast.FormattedValue)]
    return kept == [ast.dump(one) for one in new.values if isinstance(one, ast.FormattedValue)]


def _differ(old: object, new: object) -> bool:
    if isinstance(old, str) and isinstance(new, str):
        return old.casefold().strip() != new.casefold().strip()
    return type(old) is type(new) and old != new

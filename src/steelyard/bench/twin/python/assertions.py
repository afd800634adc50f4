"""A statement that asserts -> the ways to make it assert something else (see sites.py for what each way reveals).

assert total(x) == 3                   another value
assert text.startswith("ab")           another argument, where it decides the answer
assert "ab" in text                    a longer text, or other words
assert isinstance(x, str)              another class
with pytest.raises(ValueError):        another exception
assert done(x), == other, is None      the opposite
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace

from steelyard.bench.twin.base import Edit
from steelyard.bench.twin.plausible.strings import (
    Words,
    is_phrase,
    other_beginnings,
    other_ends,
    other_needles,
)
from steelyard.bench.twin.python.exceptions import other_exceptions
from steelyard.bench.twin.python.expected import Wrong
from steelyard.bench.twin.python.ids import word_in_id
from steelyard.bench.twin.python.literals import Vary, other_texts
from steelyard.bench.twin.python.opposites import depends_on_order, is_steady, opposite
from steelyard.bench.twin.python.text import Text, literal
from steelyard.bench.twin.python.vocabulary import Vocabulary
from steelyard.bench.twin.sites import Change, EditChoice, Odds, Site, Strength, fixed_edits
from steelyard.deferred.data_class import dataclass

_OPPOSITES = (
    ("assertTrue", "assertFalse"),
    ("assertIs", "assertIsNot"),
    ("assertIsNone", "assertIsNotNone"),
    ("assertIn", "assertNotIn"),
    ("assertIsInstance", "assertNotIsInstance"),
    ("assertRegex", "assertNotRegex"),
    ("assertEqual", "assertNotEqual"),
    ("assertGreater", "assertLessEqual"),
    ("assertLess", "assertGreaterEqual"),
    ("assert_called", "assert_not_called"),
)
OPPOSITE = {
    **dict(_OPPOSITES),
    **{two: one for one, two in _OPPOSITES},
    "assert_called_once": "assert_not_called",
    **dict.fromkeys(
        ["assertListEqual", "assertTupleEqual", "assertDictEqual", "assertSetEqual"], "assertNotEqual"
    ),
    "assertMultiLineEqual": "assertNotEqual",
}
_ORDERINGS = frozenset(["assertGreater", "assertLessEqual", "assertLess", "assertGreaterEqual"])
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
_ANSWERS = _EQUAL | {"assertIs", "assertIn"}  # their opposites are rare
_CALLED_WITH = frozenset(["assert_called_with", "assert_called_once_with", "assert_any_call"])
_OF_MOCKS = _CALLED_WITH | {"assert_called", "assert_not_called", "assert_called_once"}
_ENDS: Mapping[str, Vary] = {"startswith": other_beginnings, "endswith": other_ends}
_SEARCHES = frozenset(["re.search", "re.match", "re.fullmatch"])
_PLAIN = re.compile(r"[\w\s,:;'!@#%&=<>/\"-]+")  # a pattern that is a text
_REPEATABLE = (ast.Name, ast.Attribute, ast.Subscript, ast.Call, ast.Constant)
_CLASSES = ("str", "int", "list", "dict", "tuple", "float", "set")

Table = ast.List | ast.Tuple
Tables = Mapping[str, Table]  # lists of the module, by their names


@dataclass(frozen=True, slots=True)
class Values:
    """Where the values of a name are written; `in_ids` if they are parameters, which pytest writes into ids."""

    places: Sequence[ast.expr]
    in_ids: bool = False
    # Something else reads the name too: only the place where it is expected may be changed
    shared: bool = False


@dataclass(frozen=True, slots=True)
class Names:
    """What the file calls the things that matter, and which of unittest's methods it defines anew."""

    raises: frozenset[str]
    approximate: frozenset[str]
    redefined: frozenset[str]
    equals_everything: bool  # some class of the file does: an equality is then no certain thing
    vocabulary: Vocabulary = field(default_factory=Vocabulary)
    exceptions: tuple[str, ...] = ()  # builtin ones that the file names
    own_exceptions: Mapping[str, tuple[type, ...]] = field(default_factory=dict)
    tables: Tables = field(default_factory=dict)  # that one place reads


@dataclass(frozen=True, slots=True)
class Assertions:
    """Finds what one statement asserts."""

    text: Text
    names: Names
    written: Callable[[], Mapping[str, Values]]  # of names whose values are written in the test
    own: str = ""  # the text of the test

    def sites(self, statement: ast.stmt) -> Iterator[Site]:
        """What can be made another value, argument or exception."""
        match statement:
            case ast.Assert():
                for part in _parts(statement.test):
                    yield from self._holds(part)
            case ast.Expr(ast.Call() as call):
                yield from self._called(call)
            case ast.With(items=[ast.withitem(context_expr=ast.Call() as call)]):
                yield from self._raises(call)

    def opposites(self, statement: ast.stmt) -> Iterator[Site]:
        """What can be made its opposite."""
        match statement:
            case ast.Assert(test=test):
                for part in _parts(test):
                    edits = opposite(self.text, part)
                    edits = edits if self.text.reads_with(test, edits) else []
                    odds = Odds.OPEN if depends_on_order(part) else Odds.CERTAIN
                    yield Site(Strength.NEGATION, odds, fixed_edits(*edits), shows=_names_an_answer(part))
                    if (
                        isinstance(part, ast.Compare)
                        and isinstance(part.ops[0], ast.Eq)
                        and len(part.ops) == 1
                    ):
                        yield self._twice(expected_side(part.left, part.comparators[0]))
            case ast.Expr(ast.Call(func=ast.Attribute() as name) as call):
                if name.attr in OPPOSITE and self._is_method(call):
                    yield self._opposite(name, call)
                if name.attr == "assertEqual" and self._is_method(call) and len(call.args) >= 2:
                    # A tuple: of two long lists unittest would make a diff that takes minutes.
                    yield self._twice(expected_side(call.args[0], call.args[1]), "({0}, {0})")

    @property
    def _wrong(self) -> Wrong:
        return Wrong(self.text, self.names.vocabulary, self.names.approximate)

    @property
    def _words(self) -> Words:
        return self.names.vocabulary.words

    def _holds(self, test: ast.expr) -> Iterator[Site]:
        """A condition that is true, made another one that is not."""
        match test:
            case ast.Compare(left=left, ops=[ast.Eq()], comparators=[right]):
                yield from self._equal(left, right)
            case ast.Compare(left=left, ops=[ast.Is()], comparators=[ast.Constant(value=bool()) as right]):
                yield from self._equal(left, right)
            case ast.Compare(ops=[ast.Is()], comparators=[ast.Attribute() as right]):
                yield self._expected(right)
            case ast.Compare(left=ast.Constant(value=str() | bytes()) as left, ops=[ast.In()]):
                yield self._needle(left)
            case ast.Compare(
                ops=[ast.In()],
                comparators=[ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.Set(elts=parts)],
            ):
                yield self._none_of(parts)
            case ast.Call(
                func=ast.Attribute(attr="startswith" | "endswith" as name),
                args=[ast.Constant(value=str() | bytes()) as value],
            ):
                yield self._varied(value, _ENDS[name])
            case ast.Call(args=[ast.Constant(value=str()) as pattern, _]) if (
                ast.unparse(test.func) in _SEARCHES
            ):
                yield from self._pattern(pattern)
            case ast.Call(func=ast.Name(id="isinstance"), args=[_, ast.Name() as kind]):
                yield from self._of_class(kind)

    def _equal(self, left: ast.expr, right: ast.expr) -> Iterator[Site]:
        expected = expected_side(left, right)
        if isinstance(expected, ast.Constant) and expected.value is True:
            inner = [site for site in self._holds(right if expected is left else left) if site.places[0]]
            if inner:  # the opposite truth says less than another argument
                yield from inner
                return
        yield self._expected(expected)

    def _expected(self, node: ast.expr) -> Site:
        """An equality with this expected side, made wrong: where its value is written, or else where it is used."""
        values = self.written().get(node.id, Values(())) if isinstance(node, ast.Name) else Values((node,))
        if values.shared:
            return self._spelled_out(node, values.places[0])
        places, least = [], Odds.CERTAIN
        for place in values.places:
            odds, edits = self._wrong.others(place)
            if odds is Odds.LIKELY and place is not node and not _makes_an_object(place):
                edits = []  # a result that was kept for later, not an expectation
            places.append(tuple(Change(edit, self._row(values, place, edit)) for edit in edits))
            least = min(least, odds)
        if self.names.equals_everything:
            least = Odds.OPEN
        return Site(Strength.VALUE, least, tuple(places))

    def _spelled_out(self, node: ast.expr, value: ast.expr) -> Site:
        """A name that is read elsewhere too: here another value stands for it."""
        odds, edits = self._wrong.others(value)
        texts = [self.text.changed(value, edit) for edit in edits]
        fits = odds is Odds.CERTAIN and not self.names.equals_everything
        changes = [
            Change(self.text.edit(node, one)) for one in texts if fits and "\n" not in one and len(one) <= 60
        ]
        return Site(Strength.VALUE, Odds.CERTAIN, (tuple(changes),))

    def _row(self, values: Values, place: ast.expr, edit: Edit) -> tuple[str, str] | None:
        """How the id of a row changes, as far as that is known without running anything."""
        if not values.in_ids:
            return None
        old, new = word_in_id(self.text.of(place)), word_in_id(self.text.changed(place, edit))
        return None if old is None or new is None else (old, new)

    def _varied(self, node: ast.Constant, vary: Vary) -> Site:
        assert isinstance(node.value, str | bytes)
        texts = other_texts(self.text.of(node), node.value, self._words, vary)
        return Site(Strength.VALUE, Odds.CERTAIN, (self._place(self.text.edit(node, one) for one in texts),))

    def _needle(self, node: ast.Constant) -> Site:
        """A text that must be in another; of a single word it is only likely that the other word is not."""
        beside = f"{self.own} {self.names.vocabulary.needles}"
        site = self._varied(node, lambda text, words: other_needles(text, words, beside))
        return site if is_phrase(str(node.value)) else replace(site, odds=Odds.LIKELY)

    def _pattern(self, node: ast.expr) -> Iterator[Site]:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and _PLAIN.fullmatch(node.value):
            yield self._needle(node)

    def _none_of(self, parts: Sequence[ast.expr]) -> Site:
        """`in (1, 2)`: other values, each of them."""
        taken = frozenset(self.text.of(part) for part in parts)
        places = [self._place(self._wrong.others_than(part, taken)) for part in parts]
        return Site(
            Strength.VALUE, Odds.OPEN if self.names.equals_everything else Odds.CERTAIN, tuple(places)
        )

    def _of_class(self, kind: ast.Name) -> Iterator[Site]:
        if kind.id in _CLASSES:
            others = [self.text.edit(kind, one) for one in _CLASSES if one != kind.id]
            yield Site(Strength.VALUE, Odds.CERTAIN, (self._place(others),))

    def _place(self, edits: Iterable[Edit]) -> EditChoice:
        return tuple(Change(edit) for edit in edits if self.text.keeps_lines(edit))

    def _called(self, call: ast.Call) -> Iterator[Site]:
        if len(call.args) > 1:  # a `raises` without anything to call does nothing
            yield from self._raises(call)
        if self._is_method(call) and isinstance(call.func, ast.Attribute):
            yield from self._of_method(call.func.attr, call)

    def _is_method(self, call: ast.Call) -> bool:
        """One of unittest's, or of a mock's, as they define it."""
        if not isinstance(call.func, ast.Attribute) or any(isinstance(one, ast.Starred) for one in call.args):
            return False
        name, owner = call.func.attr, call.func.value
        of_unittest = isinstance(owner, ast.Name) and owner.id == "self"
        return name not in self.names.redefined and (name in _OF_MOCKS or of_unittest)

    def _of_method(self, name: str, call: ast.Call) -> Iterator[Site]:
        if name in _CALLED_WITH:
            yield from self._called_with(call)
        match call.args:
            case [left, right, *_] if name in _EQUAL:
                yield from self._equal(left, right)
            case [left, right] if name == "assertAlmostEqual":
                yield from self._almost(call, expected_side(left, right))
            case [test, *_] if name == "assertTrue":
                yield from self._holds(test)
            case [ast.Constant(value=str() | bytes()) as value, _, *_] if name == "assertIn":
                yield self._needle(value)
            case [_, ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.Set(elts=parts), *_] if (
                name == "assertIn"
            ):
                yield self._none_of(parts)
            case [_, ast.Constant() as pattern, *_] if name == "assertRegex":
                yield from self._pattern(pattern)
            case [_, ast.Name() as kind, *_] if name == "assertIsInstance":
                yield from self._of_class(kind)

    def _called_with(self, call: ast.Call) -> Iterator[Site]:
        for value in (*call.args, *(one.value for one in call.keywords if one.arg)):
            odds, edits = self._wrong.others(value)
            if edits and odds is Odds.CERTAIN:
                yield Site(Strength.VALUE, odds, (self._place(edits),))

    def _almost(self, call: ast.Call, expected: ast.expr) -> Iterator[Site]:
        given = {one.arg: literal(self.text.of(one.value)) for one in call.keywords if one.arg != "msg"}
        numbers = {
            name: one for name, one in given.items() if isinstance(one, int | float) and 0 <= one < 300
        }
        if len(numbers) == len(given):
            reach = numbers.get("delta", 10 ** -numbers.get("places", 7))
            edits = self._wrong.beyond(expected, lambda _old, _new: reach)
            yield Site(Strength.VALUE, Odds.CERTAIN, (self._place(edits),))

    def _twice(self, expected: ast.expr, shape: str = "[{0}, {0}]") -> Site:
        """`== other` -> `== [other, other]`: no value is a list of itself. Reveals what equals everything, as `!=` does not.

        Twice, because a number of numpy's is equal to a list of it alone, and to a longer one neither equal nor not.
        """
        text = self.text.of(expected)
        fits = isinstance(expected, _REPEATABLE) and "\n" not in text and not self.names.equals_everything
        edits = (self.text.edit(expected, shape.replace("{0}", text)),) if fits else ()
        return Site(Strength.NEGATION, Odds.CERTAIN, fixed_edits(*edits), shows=True)

    def _opposite(self, name: ast.Attribute, call: ast.Call) -> Site:
        _, end = self.text.span(name)
        unsteady = depends_on_order(call) or (name.attr in _ORDERINGS and not is_steady(*call.args[:2]))
        odds = Odds.OPEN if unsteady else Odds.CERTAIN
        edit = Edit(end - len(name.attr.encode()), end, OPPOSITE[name.attr])
        return Site(Strength.NEGATION, odds, fixed_edits(edit), shows=name.attr in _ANSWERS)

    def _raises(self, call: ast.Call) -> Iterator[Site]:
        called = ast.unparse(call.func)
        of_unittest = called in {"self.assertRaises", "self.assertRaisesRegex"}
        if not (called in self.names.raises or of_unittest) or not call.args:
            return
        if called.rpartition(".")[2] in self.names.redefined:
            return
        odds, others = other_exceptions(call.args[0], self.names.exceptions, self.names.own_exceptions)
        lines = "\n" * self.text.of(call.args[0]).count("\n")
        edits = (self.text.edit(call.args[0], other + lines) for other in others)
        # An exception of the project is not made another one of the project: who knows its classes sees it.
        shows = odds is Odds.LIKELY
        yield Site(Strength.RAISES, odds, (tuple(Change(edit) for edit in edits),), shows=shows)
        patterns = [one.value for one in call.keywords if one.arg == "match" and called in self.names.raises]
        patterns += call.args[1:2] if called == "self.assertRaisesRegex" else []
        for pattern in patterns:
            yield from self._pattern(pattern)


def _parts(test: ast.expr) -> list[ast.expr]:
    """What holds, each by itself."""
    return test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else [test]


def _names_an_answer(test: ast.expr) -> bool:
    """`== other`, `in others`: who reads it can answer with it. Its opposite is rare; that of a truth is not."""
    match test:
        case ast.Compare(ops=[ast.Eq() | ast.Is() | ast.In()], comparators=[right]):
            return not isinstance(right, ast.Constant)
    return False


def _makes_an_object(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2][:1].isupper()


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

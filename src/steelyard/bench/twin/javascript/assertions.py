"""One expression of a JavaScript test -> the ways to make it a wrong assertion (see sites.py for what each reveals).

assert.equal(f(), 3)                expect(f()).toBe(3)              another value
assert.ok(s.startsWith('ab'))       expect(s).toContain('ab')        another argument, where it decides the answer
assert.throws(f, TypeError)         expect(f).toThrow('message')     another error
assert.throws(f), assert.ok(f())    expect(f()).toEqual(other)       the opposite
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from steelyard.bench.twin.base import Edit
from steelyard.bench.twin.javascript.literals import Literals
from steelyard.bench.twin.javascript.opposites import (
    OPPOSITE_AWAITED,
    OPPOSITE_MATCHER,
    OPPOSITE_METHOD,
    ORDERING_MATCHERS,
    depends_on_order,
    is_steady,
    negate_chain,
    operator_of,
    opposite,
)
from steelyard.bench.twin.plausible.strings import other_beginnings, other_ends
from steelyard.bench.twin.sites import Change, EditChoice, Odds, Site, Strength, fixed_edits
from steelyard.bench.twin.syntax_nodes import Others, Vary, replace_node, text_of, values_of

if TYPE_CHECKING:
    from tree_sitter import Node

_EQUAL = frozenset(["equal", "strictEqual", "deepEqual", "deepStrictEqual", "is", "same"])
_UNEQUAL = frozenset(["notEqual", "notStrictEqual"])
_BARE = (_EQUAL - {"is", "same"}) | {"throws", "match"}
_MATCHERS = frozenset(
    [
        "toBe",
        "toEqual",
        "toStrictEqual",
        "toHaveLength",
        "equal",
        "equals",
        "eq",
        "eql",
        "eqls",
        "lengthOf",
        "toHaveBeenCalledTimes",
        "toHaveReturnedWith",
        "callCount",
    ]
)
# A message may be their second argument
_OF_CHAI = frozenset(["equal", "equals", "eq", "eql", "eqls", "lengthOf"])
_CALLED_WITH = frozenset(["toHaveBeenCalledWith", "toHaveBeenLastCalledWith", "calledWith"])
_CONTAINING = frozenset(
    ["toContain", "toMatch", "toHaveProperty", "include", "includes", "contain", "match", "property"]
)
_THROWING = frozenset(["toThrow", "toThrowError", "throw", "throws"])
_ASSERTS = frozenset({"assert", "assert.strict", "strict", "t.assert", "chai.assert", "assert.default"})
_NEVER = frozenset(["soft", "poll"])
# Needs an await
_LATER = frozenset(["resolves", "rejects", "eventually", "rejected", "rejectedWith", "fulfilled", "become"])
_PROPERTIES = frozenset(
    ["true", "false", "null", "undefined", "ok", "empty", "exist", "exists", "NaN", "called", "calledOnce"]
)
_BOUNDS: dict[str, Vary] = {"startsWith": other_beginnings, "endsWith": other_ends}
_FOUND = frozenset([("!==", "-1"), ("!=", "-1"), (">", "-1"), (">=", "0")])
_ERRORS = ("TypeError", "RangeError", "SyntaxError", "ReferenceError", "Error")
_CLASSES = ("Array", "Map", "Set", "Date", "Promise")


_ANSWERS = _EQUAL | {"match", "include"}  # their opposites are rare
_TRUTHS = frozenset(["true", "false", "null", "undefined"])
_DEEPLY = frozenset(["toEqual", "toStrictEqual"])


@dataclass(frozen=True, slots=True)
class Assertions:
    """Finds what one expression of a test asserts."""

    literals: Literals = field(default_factory=Literals)

    def sites(self, node: Node, *, awaited: bool) -> Iterator[Site]:
        """`node` is the expression of a statement, without its `await`."""
        if node.type != "call_expression":
            yield from self._property(node)
            return
        called, arguments = node.child_by_field_name("function"), node.child_by_field_name("arguments")
        if called is None or arguments is None:
            return
        if any(one.type == "spread_element" for one in arguments.children):
            return
        values = values_of(arguments)
        head, _, method = text_of(called).rpartition(".")
        if head in _ASSERTS or (not head and method in _BARE):
            yield from self._assert(called, method, values, awaited=awaited)
        if values and (text_of(called) in _ASSERTS or (head in _ASSERTS and method == "ok")):
            yield from self._true(values[0])
        if called.type == "member_expression" and _is_expect(called):
            yield from self._expect(called, method, values, awaited=awaited)

    def _assert(self, called: Node, method: str, values: list[Node], *, awaited: bool) -> Iterator[Site]:
        if len(values) > 1:
            if method in _EQUAL:
                yield from self._equal(values[1], values[0])
            elif method in _UNEQUAL and text_of(values[1]) == "-1":
                yield from self._index_found(values[0])
            elif method in {"match", "include"}:
                yield _site(self.literals.needles(values[1]))
            elif method == "throws" or (method == "rejects" and awaited):
                yield from self._thrown(values[1])
        elif values and (method == "throws" or (method == "rejects" and awaited)):
            end = values[0].end_byte
            yield self._of_some_class(Edit(end, end, ", "))
        opposites = OPPOSITE_METHOD if not awaited else {**OPPOSITE_METHOD, **OPPOSITE_AWAITED}
        name = called.child_by_field_name("property")
        if method in opposites and name is not None and values:
            site = Site(Strength.NEGATION, Odds.CERTAIN, fixed_edits(replace_node(name, opposites[method])))
            yield replace(site, shows=method in _ANSWERS and not _is_truth(values[1:2]))

    def _true(self, test: Node) -> Iterator[Site]:
        """`assert.ok(test)`: another condition, or the opposite."""
        left, right = test.child_by_field_name("left"), test.child_by_field_name("right")
        if (
            test.type == "binary_expression"
            and operator_of(test) == "&&"
            and left is not None
            and right is not None
        ):
            yield from self._true(left)
            yield from self._true(right)
            return
        yield from self._holds(test)
        odds = Odds.OPEN if depends_on_order(test) else Odds.CERTAIN
        yield Site(Strength.NEGATION, odds, fixed_edits(*opposite(test)))

    def _holds(self, test: Node) -> Iterator[Site]:
        left, right = test.child_by_field_name("left"), test.child_by_field_name("right")
        if test.type == "binary_expression" and left is not None and right is not None:
            if operator_of(test) in {"===", "=="}:
                yield from self._equal(right, left)
            elif operator_of(test) == "instanceof":
                yield from self._of_class(right)
            elif (operator_of(test), text_of(right)) in _FOUND:
                yield from self._index_found(left)
        yield from self._text_predicates(test)

    def _text_predicates(self, call: Node) -> Iterator[Site]:
        """`text.startsWith('ab')`, `/ab/.test(text)`."""
        owner, name, values = _method_call(call)
        if owner is None or not values:
            return
        if name in _BOUNDS:
            yield _site(Others(Odds.CERTAIN, self.literals.varied(values[0], _BOUNDS[name])))
        elif name == "includes":
            yield _site(self.literals.needles(values[0]))
        elif name == "test" and owner.type == "regex":
            yield _site(self.literals.needles(owner))

    def _index_found(self, call: Node) -> Iterator[Site]:
        """`text.indexOf('ab')` that must not be -1."""
        owner, name, values = _method_call(call)
        if owner is not None and values and name in {"indexOf", "lastIndexOf", "search"}:
            yield _site(self.literals.needles(values[0]))

    def _equal(self, expected: Node, actual: Node) -> Iterator[Site]:
        if text_of(expected) == "true":
            asked = [site for site in self._holds(actual) if site.places and site.places[0]]
            if asked:  # the opposite truth says less than another argument
                yield from asked
                return
        odds, edits = self.literals.others(expected)
        if odds is not Odds.CERTAIN:
            certain = self.literals.others(actual)
            odds, edits = certain if certain.odds is Odds.CERTAIN else (odds, edits)
        yield Site(Strength.VALUE, odds, (_place(edits),))

    def _thrown(self, expected: Node) -> Iterator[Site]:
        """`assert.throws(f, TypeError)`, `/text/` or `{ message: 'text' }`."""
        if expected.type == "identifier":
            yield from self._of_class(expected)
        elif expected.type == "object":
            odds, edits = self.literals.others(expected)
            # That is part of any error
            yield _site(Others(odds, [edit for edit in edits if edit.text != "{}"]))
        elif expected.type == "regex":
            yield _site(self.literals.needles(expected))

    def _of_class(self, kind: Node) -> Iterator[Site]:
        """Another class that is no relative; every error is an Error."""
        name = text_of(kind)
        others = self._errors(name) if name in _ERRORS else _CLASSES if name in _CLASSES else ()
        odds = Odds.LIKELY if name == "Error" else Odds.CERTAIN
        yield Site(Strength.RAISES, odds, (_place(replace_node(kind, one) for one in others if one != name),))

    def _of_some_class(self, edit: Edit) -> Site:
        """A class where none is expected: likely another one than that of the error, which is mostly a plain Error."""
        edits = (edit._replace(text=edit.text + one) for one in self._errors())
        return Site(Strength.RAISES, Odds.LIKELY, (_place(edits),))

    def _errors(self, without: str = "") -> list[str]:
        """Those that the file names elsewhere, or else the most common ones."""
        pool = [
            one for one in dict.fromkeys((*self.literals.vocabulary.errors, *_ERRORS[:-1])) if one != without
        ]
        near = [one for one in pool if one in self.literals.vocabulary.errors]
        return pool[: max(len(near), 2)]

    def _expect(self, called: Node, method: str, values: list[Node], *, awaited: bool) -> Iterator[Site]:
        words = _words(called)
        later = bool(_LATER & {*words, method})
        if _NEVER & set(words) or (later and not awaited):
            return
        if "not" not in words:
            yield from self._matched(called, method, values)
        if not later and (values or called.type == "member_expression"):
            yield self._opposite(called, method, words, values)
        if method in _DEEPLY and "not" not in words and not later and len(values) == 1:
            yield _twice(values[0])

    def _matched(self, called: Node, method: str, values: list[Node]) -> Iterator[Site]:
        subject = _subject(called)
        truth = [text_of(one) for one in values] == ["true"] and method in _MATCHERS
        if subject is not None and (truth or method == "toBeTruthy"):
            asked = [site for site in self._holds(subject) if site.places and site.places[0]]
            if asked:
                yield from asked
                return
        if method in {"toThrow", "toThrowError"} and not values and called.parent is not None:
            end = called.parent.end_byte - 1
            yield self._of_some_class(Edit(end, end, ""))
        if not values or any("expect" in text_of(one) for one in values):
            return
        if method in _MATCHERS and (len(values) == 1 or (method in _OF_CHAI and _is_text(values[1]))):
            yield _site(self.literals.others(values[0]))
        elif method in _CALLED_WITH:
            yield from map(_site, map(self.literals.others, values))
        elif method in {"toHaveProperty", "property"} and len(values) == 2:
            yield _site(self.literals.others(values[1]))
        elif method in _CONTAINING or (method in _THROWING and values[0].type in {"string", "regex"}):
            yield _site(self.literals.needles(values[0]))
        elif method in _THROWING or method in {"toBeInstanceOf", "instanceOf", "instanceof"}:
            yield from self._of_class(values[0])

    def _opposite(self, called: Node, method: str, words: list[str], values: list[Node]) -> Site:
        subject = _subject(called)
        steady = subject is not None and is_steady(subject, *values)
        odds = Odds.OPEN if method in ORDERING_MATCHERS and not steady else Odds.CERTAIN
        name = called.child_by_field_name("property")
        if method in OPPOSITE_MATCHER and name is not None and "not" not in words:
            return Site(Strength.NEGATION, odds, fixed_edits(replace_node(name, OPPOSITE_MATCHER[method])))
        shows = method in _MATCHERS | _CONTAINING and "not" not in words and not _is_truth(values)
        return Site(Strength.NEGATION, odds, fixed_edits(*negate_chain(called)), shows=shows)

    def _property(self, node: Node) -> Iterator[Site]:
        """Chai's `expect(x).to.be.true`."""
        words = _words(node) if node.type == "member_expression" and _is_expect(node) else []
        if not words or words[0] not in _PROPERTIES or (_LATER | _NEVER) & set(words):
            return
        subject = _subject(node)
        if words[0] == "true" and "not" not in words and subject is not None:
            yield from self._holds(subject)
        yield self._opposite(node, words[0], words, [])


def head_of(node: Node) -> str:
    """The name that an expression begins with: `expect` of expect(x).to.equal(3)."""
    while node.type in {"call_expression", "member_expression", "await_expression"}:
        inner = node.child_by_field_name("function") or node.child_by_field_name("object")
        if inner is None:
            inner = node.named_children[0]
        node = inner
    return text_of(node) if node.type in {"identifier", "this"} else ""


def _is_truth(values: Sequence[Node]) -> bool:
    """Of these the opposite is as common."""
    return any(text_of(one) in _TRUTHS for one in values)


def _is_text(node: Node) -> bool:
    return node.type in {"string", "template_string"}


def _place(edits: Iterable[Edit]) -> EditChoice:
    return tuple(Change(edit) for edit in edits)


def _site(others: Others) -> Site:
    return Site(Strength.VALUE, others.odds, (_place(others.edits),))


def _method_call(node: Node) -> tuple[Node | None, str, list[Node]]:
    called, arguments = node.child_by_field_name("function"), node.child_by_field_name("arguments")
    if (
        node.type != "call_expression"
        or called is None
        or arguments is None
        or called.type != "member_expression"
    ):
        return None, "", []
    name = called.child_by_field_name("property")
    return called.child_by_field_name("object"), "" if name is None else text_of(name), values_of(arguments)


def _is_expect(node: Node) -> bool:
    return head_of(node) == "expect" and text_of(node).startswith("expect(")


def _twice(expected: Node) -> Site:
    """`toEqual(other)` -> `toEqual([other, other])`: a value that says it matches everything matches that too."""
    text = text_of(expected)
    fits = expected.type in {"identifier", "member_expression", "call_expression"} and "\n" not in text
    fits = fits and "expect" not in text
    return Site(
        Strength.NEGATION,
        Odds.CERTAIN,
        fixed_edits(*([replace_node(expected, f"[{text}, {text}]")] if fits else [])),
        shows=True,
    )


def _subject(node: Node) -> Node | None:
    """What is in `expect(...)` at the beginning of a chain."""
    inner: Node | None = node
    while inner is not None:
        called = inner.child_by_field_name("function")
        if inner.type == "call_expression" and called is not None and text_of(called) == "expect":
            arguments = inner.child_by_field_name("arguments")
            values = [] if arguments is None else values_of(arguments)
            return values[0] if len(values) == 1 else None
        inner = inner.child_by_field_name("object") or called
    return None


def _words(node: Node) -> list[str]:
    """The names of a chain after its first call."""
    words = []
    inner: Node | None = node
    while inner is not None and inner.type in {"member_expression", "call_expression"}:
        name = inner.child_by_field_name("property")
        words += [text_of(name)] if name is not None else []
        inner = inner.child_by_field_name("object") or inner.child_by_field_name("function")
    return words

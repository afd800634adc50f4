"""A Rust file of integration tests -> its twin, by edits of bytes at the places that its syntax gives.

    #[test] fn adds() { assert_eq!(add(1, 2), 3); }                             adds            3 -> 4
    for (a, want) in [(1, 2), (2, 3)] { assert_eq!(add(a, 1), want); }          each row
    mod inner { #[test] #[should_panic(expected = "too big")] fn fails() ... }  inner::fails    another text

One assertion of each test is changed, one of the strongest that are certain: it runs whenever the test passes, and cannot hold
then. A test in which nothing is found gets an assertion that fails, or returns at once if it should panic. Code that reads the file recognises
that without knowing any answer.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from steelyard.bench.twin.base import Edit, Twin, apply_edits, overlap
from steelyard.bench.twin.messages import Message, companion_edits, marked_units
from steelyard.bench.twin.readings import Readings
from steelyard.bench.twin.rust.literals import Literals, parts_of, words_of
from steelyard.bench.twin.sites import (
    UNSTEADY,
    Change,
    EditChoice,
    Odds,
    Site,
    Strength,
    Ways,
    fixed_edits,
    ways_of,
)
from steelyard.bench.twin.syntax_nodes import Others, text_of
from steelyard.grammars import RUST, parse

if TYPE_CHECKING:
    from tree_sitter import Node

_TEST = re.compile(r"#\s*\[\s*(?:\w+\s*::\s*)*test\s*(?:\(.*\))?\s*\]", re.DOTALL)
_PANICS = re.compile(r"#\s*\[\s*should_panic\b")
_LEFT_OUT = re.compile(r"#\s*\[\s*(?:ignore|cfg)\b")
_NEEDLES = re.compile(r'(?:contains|starts_with|ends_with)\("([^"\n]+)"')
_OPPOSITE = {"assert_eq": "assert_ne", "assert_ne": "assert_eq"}
_ASSERTIONS = frozenset(["assert", "assert_eq", "assert_ne"])
_FINDS = frozenset(["contains", "starts_with", "ends_with"])
_JUMPS = frozenset(["return_expression", "break_expression", "continue_expression"])


def twin_rust(source: bytes, path: str, secret: bytes) -> Twin | None:
    """None when the file cannot be read, or nothing in it can be changed."""
    del path
    reading = _READINGS.of(source, _read, "rust")
    if reading is None or not reading.ways:
        return None
    edits = {
        key: tuple(change.edit for change in ways.draw(secret, key)) for key, ways in reading.ways.items()
    }
    every = [edit for some in edits.values() for edit in some]
    return Twin(
        source,
        edits,
        reading.changed,
        marked=marked_units(source, edits, [key for key, ways in reading.ways.items() if ways.shows]),
        companions=companion_edits(source, every, reading.messages),
    )


def rust_tests(source: bytes) -> tuple[frozenset[str], frozenset[str]]:
    """The tests that are written in a file, and those of them that every run of it reports."""
    tree = parse(source, RUST)
    found = [] if tree is None else list(_tests(tree.root_node, ""))
    return frozenset(one.key for one in found), frozenset(one.key for one in found if one.is_plain)


class _Test(NamedTuple):
    key: str
    function: Node
    attributes: str
    is_plain: bool  # neither ignored nor for some features only


class _Reading(NamedTuple):
    changed: Mapping[str, bool]
    ways: Mapping[str, Ways]
    messages: tuple[Message, ...] = ()


_READINGS: Readings[_Reading] = Readings()


def _read(source: bytes) -> _Reading | None:
    tree = parse(source, RUST)
    if tree is None:
        return None
    reader = _Reader(source, dict(_functions(tree.root_node)))
    try:
        tests = list(_tests(tree.root_node, ""))
        names = Counter(test.key for test in tests)
        for test in tests:
            if names[test.key] == 1:
                reader.read_test(test)
    except RecursionError:
        return None
    edits = [place[0].edit for ways in reader.ways.values() for place in ways.ways[0]]
    whole = b"" if overlap(edits) else apply_edits(source, edits)
    if parse(whole, RUST) is None or whole.count(b"\n") != source.count(b"\n"):
        return _Reading({}, {})
    return _Reading(reader.changed, reader.ways, tuple(_messages(tree.root_node)))


def _messages(root: Node) -> Iterator[Message]:
    """Of each assertion, the text behind what it compares."""
    for macro in _all(root, "macro_invocation"):
        name = text_of(macro.child_by_field_name("macro"))
        trees = [one for one in macro.children if one.type == "token_tree"]
        parts = parts_of(trees[0]) if trees and name in _ASSERTIONS else []
        compared = 1 if name == "assert" else 2
        if len(parts) > compared:
            texts = [one for one in parts[compared] if one.type == "string_literal"]
            places = tuple((one.start_byte + 1, one.end_byte - 1) for one in texts)
            yield Message(macro.start_byte, parts[compared - 1][-1].end_byte, places)


def _tests(node: Node, path: str) -> Iterator[_Test]:
    attributes = ""
    for one in node.named_children:
        name = text_of(one.child_by_field_name("name"))
        body = one.child_by_field_name("body")
        if one.type == "attribute_item":
            attributes += text_of(one)
            continue
        if one.type == "mod_item" and body is not None:
            is_for_tests = "cfg(test)" in attributes.replace(" ", "")
            inner = _tests(body, f"{path}{name}::")
            yield from (
                test if is_for_tests or "cfg" not in attributes else test._replace(is_plain=False)
                for test in inner
            )
        elif one.type == "function_item" and body is not None and _TEST.search(attributes):
            yield _Test(f"{path}{name}", one, attributes, _LEFT_OUT.search(attributes) is None)
        if "comment" not in one.type:
            attributes = ""


def _functions(root: Node) -> Iterator[tuple[str, Node]]:
    for one in root.named_children:
        if one.type == "function_item":
            yield text_of(one.child_by_field_name("name")), one


class _AssertionChange(NamedTuple):
    strength: Strength
    odds: Odds
    places: tuple[EditChoice, ...]
    reached: bool = True
    shows: bool = False


class _Row(NamedTuple):
    """The values that one variable of a loop takes."""

    values: tuple[Sequence[Node], ...]
    uses: int


@dataclass
class _Reader:
    source: bytes
    functions: Mapping[str, Node]
    ways: dict[str, Ways] = field(default_factory=dict)
    changed: dict[str, bool] = field(default_factory=dict)

    def __post_init__(self) -> None:
        text = self.source.decode(errors="replace")
        self.literals = Literals(words_of(self.source), " ".join(_NEEDLES.findall(text)))

    def read_test(self, test: _Test) -> None:
        body = test.function.child_by_field_name("body")
        if body is None:
            return
        if _PANICS.search(test.attributes):
            found = list(self._expected_panic(test.function))
        else:
            values = _values(body)
            found = list(self._block(body, values, {}, certain=True))
        ways = ways_of(Site(*one) for one in found)
        if ways is None or not (ways.certain or ways.is_strong):
            ways = self._mark(test, body)
        if ways is not None:
            self.ways[test.key] = ways
            self.changed[test.key] = ways.certain

    def _mark(self, test: _Test, body: Node) -> Ways | None:
        panics = _PANICS.search(test.attributes) is not None
        if panics and test.function.child_by_field_name("return_type") is not None:
            return None
        text = " if true { return; }" if panics else " assert!(false);"
        return ways_of(
            [
                Site(
                    Strength.NEGATION,
                    Odds.CERTAIN,
                    fixed_edits(Edit(body.start_byte + 1, body.start_byte + 1, text)),
                    shows=True,
                )
            ]
        )

    def _expected_panic(self, function: Node) -> Iterator[_AssertionChange]:
        """`#[should_panic(expected = "text")]`: another text."""
        before = function.prev_named_sibling
        while before is not None and (before.type == "attribute_item" or "comment" in before.type):
            if _PANICS.match(text_of(before)):
                for text in _all(before, "string_literal"):
                    others = self.literals.needles(text)
                    if others.edits:
                        yield _AssertionChange(Strength.VALUE, others.odds, (_place(others),))
            before = before.prev_named_sibling

    def _block(
        self, block: Node, values: Mapping[str, Node], rows: Mapping[str, _Row], *, certain: bool
    ) -> Iterator[_AssertionChange]:
        for statement in block.named_children:
            node = statement
            if statement.type == "expression_statement" and statement.named_children:
                node = statement.named_children[0]
            match node.type:
                case "macro_invocation":
                    yield from self._reached(self._macro(node, values, rows), certain=certain)
                case "call_expression":
                    yield from self._reached(self._helper(node), certain=certain)
                case "block" | "unsafe_block":
                    yield from self._block(node, values, rows, certain=certain)
                case "for_expression":
                    yield from self._for(node, values, rows, certain=certain)
                case "if_expression" | "while_expression" | "loop_expression" | "match_expression":
                    for inner in _all(node, "block"):
                        yield from self._block(inner, {}, {}, certain=False)
            certain = certain and not _leaves(node)

    @staticmethod
    def _reached(found: Iterable[_AssertionChange], *, certain: bool) -> Iterator[_AssertionChange]:
        for one in found:
            if one.places and all(one.places):
                yield one._replace(reached=one.reached and certain)

    def _for(
        self, loop: Node, values: Mapping[str, Node], rows: Mapping[str, _Row], *, certain: bool
    ) -> Iterator[_AssertionChange]:
        pattern, over = loop.child_by_field_name("pattern"), loop.child_by_field_name("value")
        body = loop.child_by_field_name("body")
        if pattern is None or over is None or body is None:
            return
        elements = _elements(over, values)
        names = [text_of(one) for one in pattern.named_children] if pattern.type == "tuple_pattern" else []
        own: dict[str, _Row] = {}
        for place, name in enumerate(names):
            cells = [_cell(element, place, len(names)) for element in elements]
            if cells and all(cell is not None for cell in cells):
                kept = tuple(cell for cell in cells if cell is not None)
                own[name] = _Row(kept, len(re.findall(rf"\b{re.escape(name)}\b", text_of(body))))
        runs = bool(elements) or _counts(over)
        yield from self._block(body, values, {**rows, **own}, certain=certain and runs)

    def _macro(
        self, macro: Node, values: Mapping[str, Node], rows: Mapping[str, _Row]
    ) -> Iterator[_AssertionChange]:
        name = macro.child_by_field_name("macro")
        trees = [one for one in macro.children if one.type == "token_tree"]
        if name is None or not trees or text_of(name) not in _ASSERTIONS:
            return
        parts = parts_of(trees[0])
        if text_of(name) == "assert" and parts:
            yield from self._holds(parts[0], values, rows)
        elif len(parts) > 1:
            if text_of(name) == "assert_eq":
                yield from self._equal(parts[0], parts[1], values, rows)
            edit = Edit(name.start_byte, name.end_byte, _OPPOSITE[text_of(name)])
            yield _AssertionChange(
                Strength.NEGATION, Odds.CERTAIN, fixed_edits(edit), shows=text_of(name) == "assert_eq"
            )

    def _holds(
        self, part: list[Node], values: Mapping[str, Node], rows: Mapping[str, _Row]
    ) -> Iterator[_AssertionChange]:
        signs = [one.type for one in part]
        if "||" not in signs:
            for both in _split(part, "&&"):
                sides = _split(both, "==")
                if len(sides) == 2:
                    yield from self._equal(sides[0], sides[1], values, rows)
                elif len(both) > 2 and text_of(both[-2]) in _FINDS and len(both[-1].named_children) == 1:
                    others = self.literals.needles(both[-1].named_children[0])
                    if not text_of(both[0]).startswith("!"):
                        yield _AssertionChange(Strength.VALUE, others.odds, (_place(others),))
        start, end = part[0].start_byte, part[-1].end_byte
        orders = {"<", ">", "<=", ">="} & set(signs)
        text = self.source[start:end].decode(errors="replace")
        is_steady = re.search(r"[<>]=?\s*[\d_.]+$", text) is not None and UNSTEADY.search(text) is None
        odds = Odds.OPEN if orders and not is_steady else Odds.CERTAIN
        yield _AssertionChange(
            Strength.NEGATION, odds, fixed_edits(Edit(start, start, "!("), Edit(end, end, ")")), shows=True
        )

    def _equal(
        self, one: list[Node], two: list[Node], values: Mapping[str, Node], rows: Mapping[str, _Row]
    ) -> Iterator[_AssertionChange]:
        sides = [self._values_of(side, values, rows) for side in (two, one)]
        best = max(sides, key=lambda found: found.odds if found.places and all(found.places) else 0)
        yield best

    def _values_of(
        self, side: list[Node], values: Mapping[str, Node], rows: Mapping[str, _Row]
    ) -> _AssertionChange:
        name = text_of(side[-1]) if all(text_of(one) in {"&", "*"} for one in side[:-1]) else ""
        if name in rows:
            others = [self.literals.others(cell) for cell in rows[name].values]
            odds = min((one.odds for one in others), default=Odds.OPEN)
            if rows[name].uses > 1:
                odds = Odds.OPEN
            return _AssertionChange(Strength.VALUE, odds, tuple(_place(one) for one in others if one.edits))
        found = self.literals.others([values[name]]) if name in values else self.literals.others(side)
        return _AssertionChange(Strength.VALUE, found.odds, (_place(found),))

    def _helper(self, call: Node) -> Iterator[_AssertionChange]:
        """A function of the file that asserts that two of its arguments are equal."""
        function, arguments = call.child_by_field_name("function"), call.child_by_field_name("arguments")
        helper = self.functions.get(text_of(function))
        body = None if helper is None else helper.child_by_field_name("body")
        if helper is None or body is None or arguments is None:
            return
        names = [text_of(one.child_by_field_name("pattern")) for one in _all(helper, "parameter")]
        names = ["" if _is_bound_again(name, body) else name for name in names]
        given = parts_of(arguments)
        for statement in body.named_children:
            for macro in _all(statement, "macro_invocation"):
                trees = [one for one in macro.children if one.type == "token_tree"]
                if text_of(macro.child_by_field_name("macro")) == "assert_eq" and trees:
                    for part in parts_of(trees[0])[:2]:
                        name = text_of(part[0]) if len(part) == 1 else ""
                        is_used_once = len(re.findall(rf"\b{re.escape(name)}\b", text_of(body))) == 1
                        if name in names and is_used_once and names.index(name) < len(given):
                            others = self.literals.others(given[names.index(name)])
                            yield _AssertionChange(Strength.VALUE, others.odds, (_place(others),))
            if _leaves(statement) or statement.type not in {"expression_statement", "let_declaration"}:
                return


def _is_bound_again(name: str, body: Node) -> bool:
    """Whether a parameter may have another value where the function compares it."""
    patterns = (text_of(one.child_by_field_name("pattern")) for one in _all(body, "let_declaration"))
    word = rf"\b{re.escape(name)}\b"
    return any(re.search(word, one) for one in patterns) or bool(
        re.search(rf"{word}\s*[-+*/%&|^]?=(?!=)|&mut\s+{re.escape(name)}\b", text_of(body))
    )


def _place(others: Others) -> EditChoice:
    return tuple(Change(edit) for edit in others.edits)


def _all(node: Node, kind: str) -> Iterator[Node]:
    for child in node.named_children:
        if child.type == kind:
            yield child
        else:
            yield from _all(child, kind)


def _split(part: Sequence[Node], sign: str) -> list[list[Node]]:
    found: list[list[Node]] = [[]]
    for one in part:
        if one.type == sign:
            found.append([])
        else:
            found[-1].append(one)
    return found if all(found) else [list(part)]


def _values(body: Node) -> dict[str, Node]:
    """The names that a test declares with a value, and uses once."""
    found: dict[str, Node] = {}
    text = text_of(body)
    for one in body.named_children:
        name, value = one.child_by_field_name("pattern"), one.child_by_field_name("value")
        if (
            one.type == "let_declaration"
            and name is not None
            and value is not None
            and name.type == "identifier"
        ) and len(re.findall(rf"\b{re.escape(text_of(name))}\b", text)) == 2:
            found[text_of(name)] = value
    return found


def _elements(over: Node, values: Mapping[str, Node]) -> list[list[Node]]:
    """The elements that a loop goes through, where they are written down."""
    while (
        over.type in {"reference_expression", "call_expression", "field_expression"}
        or text_of(over) in values
    ):
        inner = over.child_by_field_name("value") or over.child_by_field_name("function")
        if over.type == "call_expression" and not re.search(r"\.(iter|into_iter)\(\)$", text_of(over)):
            return []
        inner = values.get(text_of(over), inner)
        if inner is None or inner == over:
            return []
        over = inner
    if over.type == "macro_invocation" and text_of(over).startswith("vec!"):
        over = next((one for one in over.children if one.type == "token_tree"), over)
    is_list = over.type == "array_expression" or (over.type == "token_tree" and text_of(over).startswith("["))
    return parts_of(over) if is_list and ";" not in [one.type for one in over.children] else []


def _cell(element: list[Node], place: int, count: int) -> Sequence[Node] | None:
    if len(element) != 1 or element[0].type not in {"tuple_expression", "token_tree"}:
        return None
    parts = parts_of(element[0])
    return parts[place] if len(parts) == count else None


def _counts(over: Node) -> bool:
    match = re.fullmatch(r"(\d+)\.\.=?(\d+)", text_of(over))
    return match is not None and int(match[1]) < int(match[2])


def _leaves(node: Node) -> bool:
    """Whether something in here may skip what follows, other than by failing the test."""
    if node.type in _JUMPS:
        return True
    return node.type != "closure_expression" and any(_leaves(child) for child in node.named_children)

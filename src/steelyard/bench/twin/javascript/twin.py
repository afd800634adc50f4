"""A JavaScript or TypeScript file of tests -> its twin, by edits of bytes at the places that its syntax gives.

    test('adds', () => { assert.equal(add(1, 2), 3); });      adds                  3 -> 8
    describe('cart', () => { it('is empty', ...) })           cart > is empty

One assertion of each test is changed, one of the strongest that are certain; which of them, and to what, is drawn from
a secret.
Certain means: it runs whenever the test passes, and cannot hold then. So it is a statement of the body itself, or of
a loop over a list that is written down and not empty; never under an `if`, in a `try` or a callback, nor after what
may return early. A subtest that must fail makes the test around it fail. Where nothing is certain an assertion from
anywhere in the body is changed all the same, and recorded separately.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from steelyard.bench.twin.base import Twin, apply_edits, overlap
from steelyard.bench.twin.javascript.assertions import Assertions, head_of
from steelyard.bench.twin.javascript.literals import Constant, Literals
from steelyard.bench.twin.javascript.remarks import remarks
from steelyard.bench.twin.javascript.vocabulary import vocabulary
from steelyard.bench.twin.messages import Message, companion_edits, marked_units
from steelyard.bench.twin.readings import Readings
from steelyard.bench.twin.sites import Site, Ways, draw_units, units_that_show, ways_of
from steelyard.bench.twin.syntax_nodes import text_of
from steelyard.grammars import JAVASCRIPT, TSX, TYPESCRIPT, Grammar, grammar_of, parse

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_DEPTH = 40
_SUITES = frozenset(["describe", "suite", "context"])
_TESTS = frozenset(["test", "it", "specify"])
_FUNCTIONS = frozenset(
    [
        "arrow_function",
        "function_expression",
        "function",
        "function_declaration",
        "generator_function",
        "method_definition",
    ]
)
_ESCAPES = {"\\'": "'", '\\"': '"', "\\\\": "\\", "\\n": "\n", "\\t": "\t"}
_PLAIN = frozenset({"", "only", "concurrent", "sequential", "serial", "test"})
_INVERTING = re.compile(r"\b(fails|failing|expectFailure|retry|retries|todo|skip)\b")
_OURS = re.compile(r"""(?:require\(\s*|from\s*)['"]\.{1,2}/""")


class _Call(NamedTuple):
    """`test('title', options, function)`."""

    kind: str  # suite | test
    title: str
    body: Node
    certain: bool


def twin_javascript(source: bytes, path: str, secret: bytes) -> Twin | None:
    """None when the file cannot be read, or nothing in it can be changed."""
    reading = _reading(source, path)
    if reading is None or not reading.ways:
        return None
    edits = draw_units(reading.ways, secret)
    every = [edit for some in edits.values() for edit in some]
    return Twin(
        source,
        edits,
        reading.changed,
        reading.units,
        marked=marked_units(source, edits, units_that_show(reading.ways)),
        companions=companion_edits(source, every, reading.remarks),
    )


def javascript_tests(source: bytes, path: str) -> tuple[frozenset[str], frozenset[str]]:
    """The keys of all tests that are written in a file, and of those that it registers in any case."""
    reading = _reading(source, path)
    if reading is None:
        return frozenset(), frozenset()
    return reading.keys | frozenset(map(full_title, reading.keys)), reading.registered


class _Reading(NamedTuple):
    """A file, read once. The ways of a unit are those of its tests, each with what it is drawn by."""

    keys: frozenset[str]
    registered: frozenset[str]
    changed: Mapping[str, bool]
    units: Mapping[str, str]
    ways: Mapping[str, tuple[tuple[str, Ways], ...]]
    remarks: tuple[Message, ...]


_READINGS: Readings[_Reading] = Readings()


def _reading(source: bytes, path: str) -> _Reading | None:
    grammar = grammar_of(path)
    if grammar is None or grammar not in (JAVASCRIPT, TYPESCRIPT, TSX):
        return None
    return _READINGS.of(source, lambda text: _read(text, grammar), f"{grammar.package} {grammar.entry}")


def _read(source: bytes, grammar: Grammar) -> _Reading | None:
    tree = parse(source, grammar)
    if tree is None:
        return None
    reader = _Reader(tree.root_node, Assertions(Literals(vocabulary(source.decode(errors="replace")))))
    try:
        reader.statements(tree.root_node, (), depth=0)
    except RecursionError:
        return None
    ways = {unit: tuple(some) for unit, some in reader.ways.items()}
    units = {key: unit for key, unit in reader.units.items() if key in reader.changed}
    edits = [place[0].edit for some in ways.values() for _, one in some for place in one.ways[0]]
    whole = b"" if overlap(edits) else apply_edits(source, edits)
    if parse(whole, grammar) is None or whole.count(b"\n") != source.count(b"\n"):
        ways = {}
    return _Reading(
        frozenset(reader.seen),
        frozenset(reader.registered),
        *_by_both_names(reader.changed, units),
        ways,
        remarks(tree.root_node) if ways else (),
    )


def full_title(key: str) -> str:
    """As mocha tells it: `suite title`, where others tell `suite > title`."""
    return key.replace(" > ", " ")


def _by_both_names(
    changed: Mapping[str, bool], units: Mapping[str, str]
) -> tuple[dict[str, bool], dict[str, str]]:
    titles = Counter(map(full_title, changed))
    full = {full_title(key): fails and titles[full_title(key)] == 1 for key, fails in changed.items()}
    return {**changed, **full}, {**{full_title(key): unit for key, unit in units.items()}, **units}


@dataclass
class _Reader:
    """Goes through one file from top to bottom."""

    root: Node
    assertions: Assertions
    # Of each unit, which is a test with all its subtests: what each is drawn by, and how it can be changed.
    ways: dict[str, list[tuple[str, Ways]]] = field(default_factory=dict)
    units: dict[str, str] = field(default_factory=dict)
    changed: dict[str, bool] = field(default_factory=dict)
    registered: set[str] = field(default_factory=set)
    seen: Counter[str] = field(default_factory=Counter)

    def statements(self, block: Node, path: tuple[str, ...], *, depth: int) -> None:
        """The suites and tests that a module or a suite registers for certain."""
        for statement in block.named_children:
            call = self._call(_expression(statement)[0])
            if call is None or depth > MAX_DEPTH:
                continue
            if call.kind == "suite" and call.body.type == "statement_block":
                self.statements(call.body, (*path, call.title), depth=depth + 1)
            elif call.kind == "test":
                self.registered.add(" > ".join((*path, call.title)))
                self._test(call, (*path, call.title), depth=depth)

    def _test(self, call: _Call, path: tuple[str, ...], *, depth: int, unit: str = "") -> bool:
        """Find out how to change this test and each of its subtests; whether it must fail then."""
        key = " > ".join(path)
        self.seen[key] += 1
        unit = self.units.setdefault(key, unit or key)
        literals = replace(self.assertions.literals, constants=_constants(call.body), own=text_of(call.body))
        assertions = Assertions(literals)
        found: list[Site] = []
        fails = False
        for node, awaited, certain in self._reached(call.body, certain=call.certain):
            inner = self._call(node)
            if inner is None:
                reached = certain and self._is_known(node)
                found += [
                    site.if_reached(reached=reached) for site in assertions.sites(node, awaited=awaited)
                ]
            elif inner.kind == "test" and depth < MAX_DEPTH:
                fails |= self._test(inner, (*path, inner.title), depth=depth + 1, unit=unit) and certain
        ways = None if fails else ways_of(found) or ways_of(self._anywhere(call.body))
        if ways is not None:
            self.ways.setdefault(unit, []).append((f"{key}\0{self.seen[key]}", ways))
            self.changed[key] = fails = ways.certain
        elif fails:
            self.changed[key] = True
        if self.seen[key] > 1 and key in self.changed:
            self.changed[key] = False  # two tests of one name cannot be distinguished
        return fails

    def _reached(self, body: Node, *, certain: bool) -> Iterator[tuple[Node, bool, bool]]:
        """(expression, whether it is awaited or returned, whether it is certain to run) of a body."""
        if body.type != "statement_block" and not body.type.endswith("_statement"):
            yield _unwrap(body)[0], True, certain
            return
        for statement in body.named_children if body.type == "statement_block" else [body]:
            loop = self._loop_body(statement)
            if statement.type == "statement_block":
                yield from self._reached(statement, certain=certain)
            elif loop is not None:
                yield from self._reached(loop, certain=certain and not _leaves_early(loop))
            else:
                expression, awaited = _expression(statement)
                if expression is not None:
                    yield expression, awaited, certain
            certain = certain and not _leaves_early(statement)

    def _loop_body(self, statement: Node) -> Node | None:
        """The body of a loop that runs at least once: over a list that is written down here."""
        if statement.type != "for_in_statement":
            return None
        over, body = statement.child_by_field_name("right"), statement.child_by_field_name("body")
        if over is not None and over.type == "identifier":
            over = self._constant(text_of(over))
        if over is None or body is None or over.type != "array":
            return None
        return (
            body
            if any(one.type not in {"comment", "spread_element"} for one in over.named_children)
            else None
        )

    def _constant(self, name: str) -> Node | None:
        """What a `const` of the module is, if it is declared once."""
        found = [
            declarator.child_by_field_name("value")
            for statement in self.root.named_children
            if statement.type == "lexical_declaration" and text_of(statement).startswith("const")
            for declarator in statement.named_children
            if declarator.type == "variable_declarator"
            and (bound := declarator.child_by_field_name("name")) is not None
            and text_of(bound) == name
        ]
        return found[0] if len(found) == 1 else None

    def _call(self, node: Node | None) -> _Call | None:
        if node is None or node.type != "call_expression":
            return None
        called, arguments = node.child_by_field_name("function"), node.child_by_field_name("arguments")
        if called is None or arguments is None or called.type not in {"identifier", "member_expression"}:
            return None
        head, _, word = text_of(called).partition(".")
        values = [one for one in arguments.named_children if one.type != "comment"]
        if not values or word not in _PLAIN:
            return None
        title, body = _title(values[0]), _body(values)
        kind = "suite" if head in _SUITES else "test" if head in _TESTS or word == "test" else ""
        if not kind or title is None or body is None:
            return None
        options = "".join(text_of(one) for one in values[1:] if one.type == "object")
        return _Call(kind, title, body, not _INVERTING.search(options) and self._is_known(called))

    def _anywhere(self, node: Node) -> Iterator[Site]:
        for child in node.named_children:
            if child.type in {"expression_statement", "return_statement"}:
                expression, awaited = _expression(child)
                if expression is not None:
                    sites = self.assertions.sites(expression, awaited=awaited)
                    yield from (site.if_reached(reached=False) for site in sites)
            yield from self._anywhere(child)

    def _is_known(self, node: Node) -> bool:
        """Whether the name that this begins with is a library's, not something of the repository."""
        return head_of(node) not in self._own_names

    @cached_property
    def _own_names(self) -> frozenset[str]:
        """Names that are imported from a file, or declared as functions here."""
        names: set[str] = set()
        for statement in self.root.named_children:
            text = text_of(statement)
            if statement.type == "import_statement" and _OURS.search(text):
                names |= set(re.findall(r"[\w$]+", text.rpartition("from")[0]))
            elif statement.type in {"lexical_declaration", "variable_declaration"} and _OURS.search(text):
                names |= set(re.findall(r"[\w$]+", text.partition("=")[0]))
            elif statement.type == "function_declaration":
                names |= {text_of(one) for one in [statement.child_by_field_name("name")] if one}
        return frozenset(names)


def _constants(body: Node) -> dict[str, Constant]:
    """The constants that a test declares for itself, and that nothing inside it declares anew."""
    found: dict[str, Constant] = {}
    words = Counter(_identifiers(body)) if body.type == "statement_block" else Counter[str]()
    for statement in body.named_children if words else []:
        if statement.type == "lexical_declaration" and text_of(statement).startswith("const "):
            for declarator in statement.named_children:
                name, value = declarator.child_by_field_name("name"), declarator.child_by_field_name("value")
                if name is not None and value is not None and name.type == "identifier":
                    found[text_of(name)] = Constant(value, words[text_of(name)] > 2)
    declared = re.findall(r"\b(?:const|let|var|function|class)\s+([\w$]+)", text_of(body)) if found else []
    return {name: one for name, one in found.items() if declared.count(name) == 1 and words[name] > 1}


def _identifiers(node: Node) -> Iterator[str]:
    if "identifier" in node.type:
        yield text_of(node)
    for child in node.named_children:
        yield from _identifiers(child)


def _expression(statement: Node) -> tuple[Node | None, bool]:
    """The expression of a statement, and whether it is awaited or returned."""
    if statement.type not in {"expression_statement", "return_statement"} or not statement.named_children:
        return None, False
    inner, awaited = _unwrap(statement.named_children[0])
    return inner, awaited or statement.type == "return_statement"


def _unwrap(node: Node) -> tuple[Node, bool]:
    awaited = False
    while node.type in {"await_expression", "parenthesized_expression"} and node.named_children:
        awaited = awaited or node.type == "await_expression"
        node = node.named_children[0]
    return node, awaited


def _title(node: Node) -> str | None:
    """What a literal says, where reading it takes no knowledge of escapes."""
    if node.type not in {"string", "template_string"}:
        return None
    pieces = [text_of(one) for one in node.named_children]
    if node.type == "template_string" and any("\\" in one or one.startswith("${") for one in pieces):
        return None
    escapes = [text_of(one) for one in node.named_children if one.type == "escape_sequence"]
    if not all(one in _ESCAPES for one in escapes):
        return None
    return "".join(_ESCAPES.get(one, one) for one in pieces) if escapes else text_of(node)[1:-1]


def _body(values: list[Node]) -> Node | None:
    function = next((one for one in reversed(values) if one.type in _FUNCTIONS), None)
    return None if function is None else function.child_by_field_name("body")


def _leaves_early(node: Node) -> bool:
    """Whether something in here may skip what follows, other than by throwing."""
    if node.type in {"return_statement", "break_statement", "continue_statement"}:
        return True
    return node.type not in _FUNCTIONS and any(_leaves_early(child) for child in node.named_children)

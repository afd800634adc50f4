"""A Go file of tests -> its twin, by edits of bytes at the places that its syntax gives.

    func TestAdd(t *testing.T) {                                                    TestAdd
        if got := Add(1, 2); got != 3 { t.Fatal(got) }                              3 -> 4
    func TestTable(t *testing.T) {                                                  TestTable
        for _, tt := range []struct{ name string; in, want int }{{"a", 1, 2}} {     each row: 2 -> 3
            t.Run(tt.name, func(t *testing.T) { ... })                              TestTable/a

One assertion of each test is changed, one of the strongest that are certain, and of a table the expected value of each
row. Certain means: it runs whenever the test passes, and cannot hold then. So it is a statement of the body, of a loop
over elements that are written down, of a subtest or of a deferred function; never after what may return early, unless
the row of the table decides that. A subtest that fails makes the test around it fail.

A test in which no expected value and no condition is found gets a call that fails it, at its beginning. That reveals
forged results too, but not to the same degree: code that reads the file recognises the call without knowing any answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

from steelyard.bench.twin.base import Edit, Twin, apply_edits, overlap
from steelyard.bench.twin.golang.assertions import Assertions, imports_of
from steelyard.bench.twin.golang.conditions import (
    AssertionChange,
    Conditions,
    compared_with_nil,
    operator_of,
)
from steelyard.bench.twin.golang.literals import Literals, parse_call, plain, words_of
from steelyard.bench.twin.golang.scope import (
    SKIPPING,
    Scope,
    assigned_names,
    declarations,
    parameters_of_testing,
    statements,
    used_names,
)
from steelyard.bench.twin.messages import Message, companion_edits, marked_units
from steelyard.bench.twin.plausible.strings import other_strings
from steelyard.bench.twin.readings import Readings
from steelyard.bench.twin.sites import (
    Change,
    Odds,
    Site,
    Strength,
    Ways,
    draw_units,
    fixed_edits,
    units_that_show,
    ways_of,
)
from steelyard.bench.twin.syntax_nodes import text_of, values_of
from steelyard.grammars import GO, parse

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_DEPTH = 40
_TEST = re.compile(r"(Test|Fuzz|Example)([^a-z].*)?")
_OUTPUT = re.compile(r"//\s*(?:unordered )?output:", re.IGNORECASE)
_JUMPS = frozenset(["return_statement", "break_statement", "continue_statement", "goto_statement"])
_BOOLEAN = re.compile(r"\b(true|false)$")
_RUN = re.compile(r"\w\.Run\((?!\))")
_NEEDLES = re.compile(r'(?:Contains|HasPrefix|HasSuffix|Index)\([^"\n]*"([^"\n]+)"')


def twin_go(source: bytes, path: str, secret: bytes) -> Twin | None:
    """None when the file cannot be read, or nothing in it can be changed."""
    del path
    reading = _READINGS.of(source, _read, "go")
    if reading is None or not reading.ways:
        return None
    edits = draw_units(reading.ways, secret)
    every = [edit for some in edits.values() for edit in some]
    return Twin(
        source,
        edits,
        reading.changed,
        subtests=True,
        marked=marked_units(source, edits, units_that_show(reading.ways)),
        companions=companion_edits(source, every, reading.messages),
    )


def go_tests(source: bytes) -> frozenset[str]:
    """The tests that a file declares, without their subtests."""
    tree = parse(source, GO)
    return frozenset() if tree is None else frozenset(name for name, _ in _functions(tree.root_node))


class _Reading(NamedTuple):
    """A file, read once. The ways of a unit are those of its test and its subtests, each with what it is drawn by."""

    changed: Mapping[str, bool]
    ways: Mapping[str, tuple[tuple[str, Ways], ...]]
    messages: tuple[Message, ...] = ()


_READINGS: Readings[_Reading] = Readings()


def _read(source: bytes) -> _Reading | None:
    tree = parse(source, GO)
    if tree is None:
        return None
    reader = _Reader(tree.root_node, source)
    try:
        for name, function in _functions(tree.root_node):
            reader.read_test(name, function)
    except RecursionError:
        return None
    edits = [place[0].edit for some in reader.ways.values() for _, one in some for place in one.ways[0]]
    whole = b"" if overlap(edits) else apply_edits(source, edits)
    if parse(whole, GO) is None or whole.count(b"\n") != source.count(b"\n"):
        return _Reading({}, {})
    ways = {unit: tuple(some) for unit, some in reader.ways.items()}
    return _Reading(reader.changed, ways, tuple(_messages(tree.root_node)))


def _messages(node: Node) -> Iterator[Message]:
    """Of each `if`, the texts in the block that runs when it fails the test."""
    waiting = [node]
    while waiting:
        one = waiting.pop()
        waiting += one.named_children
        then = one.child_by_field_name("consequence") if one.type == "if_statement" else None
        if then is not None:
            texts = tuple((text.start_byte + 1, text.end_byte - 1) for text in _strings(then))
            yield Message(one.start_byte, then.start_byte, texts)


def _strings(node: Node) -> Iterator[Node]:
    if node.type in {"interpreted_string_literal", "raw_string_literal"}:
        yield node
    for child in node.named_children:
        if child.type not in {"if_statement", "func_literal"}:
            yield from _strings(child)


def _functions(root: Node) -> Iterator[tuple[str, Node]]:
    """The tests of a file: functions of which the test command says that they are."""
    for one in values_of(root):
        name = text_of(one.child_by_field_name("name"))
        match = _TEST.fullmatch(name)
        if one.type != "function_declaration" or match is None or one.child_by_field_name("body") is None:
            continue
        parameters = text_of(one.child_by_field_name("parameters"))
        if match[1] == "Example":
            if parameters == "()" and _OUTPUT.search(text_of(one)):
                yield name, one
        elif re.fullmatch(rf"\(\s*\w+ \*testing\.{match[1][0]}\s*,?\s*\)", parameters):
            yield name, one


class _Loop(NamedTuple):
    """A subtest whose name is made by a loop over a table."""

    table: int
    rows: int


@dataclass
class _Body:
    """What was found in one test, without its subtests that have names of their own."""

    path: str
    unit: str
    depth: int
    found: list[AssertionChange] = field(default_factory=list)
    loops: list[_Loop] = field(default_factory=list)
    runs: int = 0  # places where loops make subtests
    seen: int = 0  # calls that run subtests
    text: str = ""
    in_loops: list[AssertionChange] = field(default_factory=list)  # in subtests that a loop makes
    fails: bool = False  # a subtest does, for certain


@dataclass
class _Reader:
    """Goes through one file from top to bottom."""

    root: Node
    source: bytes
    ways: dict[str, list[tuple[str, Ways]]] = field(default_factory=dict)
    changed: dict[str, bool] = field(default_factory=dict)

    def __post_init__(self) -> None:
        text = self.source.decode(errors="replace")
        literals = Literals(words_of(self.source), " ".join(_NEEDLES.findall(text)))
        self.conditions = Conditions(literals)
        uses = used_names(self.root, frozenset())
        shared = dict(self._shared())
        own = frozenset(name for name in shared if uses[name] == 2)
        self.scope = Scope(dict(_structs(self.root)), shared, own)
        self.methods = dict(self._suite_methods())
        # Functions of the file that run subtests themselves.
        self.runners = {
            text_of(one.child_by_field_name("name"))
            for one in values_of(self.root)
            if one.type == "function_declaration" and _RUN.search(text_of(one))
        }
        self.assertions = Assertions(self.conditions, imports_of(self.root))
        self.assertions = replace(self.assertions, helpers=dict(self._helpers()))

    def read_test(self, name: str, function: Node) -> None:
        body = function.child_by_field_name("body")
        if body is None:
            return
        if name.startswith("Example"):
            self._example(name, body)
            return
        inner = _Body(name, name, 0, text=text_of(body))
        self._walk(body, self.scope.with_parameters(function), inner, certain=True)
        if not self._settle(inner):
            self._mark(name, body, next(parameters_of_testing(function), ""))

    def _settle(self, body: _Body) -> bool:
        """Choose what is changed in a test; whether it is anything that may count."""
        loops = {one.table: one.rows for one in body.loops}
        whole = self._whole(body.in_loops, loops, is_single=body.runs == 1) if loops else None
        everything = [*body.found, *body.in_loops]
        ways = whole or (None if body.fails else ways_of(_sites(everything)))
        if ways is None or (whole is None and not (ways.certain or ways.is_strong)):
            if body.fails:
                self.changed[body.path] = True
            return body.fails
        self.ways.setdefault(body.unit, []).append((body.path, ways))
        self.changed[body.path] = body.fails or ways.certain
        if whole is not None and self._sees_all(body):
            self.changed[f"{body.path}/"] = True
        return True

    def _sees_all(self, body: _Body) -> bool:
        """Whether no subtests can come from elsewhere: from a call that was not read, or from a function of the file."""
        called_names = set(re.findall(r"\b(\w+)\(", body.text)) & self.runners
        return len(_RUN.findall(body.text)) == body.seen and not called_names

    @staticmethod
    def _whole(found: Iterable[AssertionChange], loops: Mapping[int, int], *, is_single: bool) -> Ways | None:
        """A change that is certain to fail every subtest that loops make: of every row, or of what all of them run."""
        found = [one for one in found if one.reached and one.odds is Odds.CERTAIN]
        rows: dict[tuple[int, int], AssertionChange] = {}
        for one in found:
            if one.table in loops and one.table >= 0:
                rows.setdefault((one.table, one.row), one)
        if len(rows) < sum(loops.values()):
            whole = [one for one in found if one.table < 0 and not one.partial]
            is_weaker = bool(rows) and not any(one.strength is Strength.VALUE for one in whole)
            return ways_of(_sites(whole)) if is_single and not is_weaker else None
        places = tuple(place for _, one in sorted(rows.items()) for place in one.places)
        return ways_of([Site(Strength.VALUE, Odds.CERTAIN, places)])

    def _mark(self, name: str, body: Node, testing: str) -> None:
        """A call that fails the test, where nothing else was found."""
        if not testing or name in self.changed:
            return
        edit = Edit(body.start_byte + 1, body.start_byte + 1, f" {testing}.Fail();")
        if not statements(body):
            edit = edit._replace(text=f" {testing}.Fail() ")
        site = Site(Strength.NEGATION, Odds.CERTAIN, fixed_edits(edit), shows=True)
        ways = ways_of([site])
        if ways is not None:
            self.ways.setdefault(name, []).append((name, ways))
            self.changed[name] = True

    def _example(self, name: str, body: Node) -> None:
        """Another line of the expected output."""
        comments = [one for one in body.children if one.type == "comment"]
        start = next((n for n, one in enumerate(comments) if _OUTPUT.match(text_of(one))), None)
        if start is None:
            return
        literals = self.conditions.literals
        for one in comments[start:]:
            text = text_of(one)
            head = _OUTPUT.match(text) or re.match(r"//\s*", text)
            line = text[head.end() :].strip() if head is not None else ""
            if not line or not text.endswith(line):
                continue
            place = one.end_byte - len(line.encode())
            changes = tuple(
                Change(Edit(place, one.end_byte, new)) for new in other_strings(line, literals.words)
            )
            ways = ways_of([Site(Strength.VALUE, Odds.CERTAIN, (changes,))])
            if ways is not None:
                self.ways[name] = [(name, ways)]
                self.changed[name] = ways.certain
            return

    def _walk(self, block: Node, scope: Scope, body: _Body, *, certain: bool, loop: bool = False) -> None:
        """`loop`: inside a subtest that a loop makes."""
        scope = scope.inside(block)
        # A test that must panic does not come to its own end.
        panics = any(
            one.type == "defer_statement" and b"recover(" in (one.text or b"") for one in statements(block)
        )
        for statement in statements(block):
            if body.depth > MAX_DEPTH:
                return
            if panics and statement.type != "defer_statement":
                certain = False
            scope, certain = self._statement(statement, scope, body, certain=certain, loop=loop)

    def _statement(
        self, statement: Node, scope: Scope, body: _Body, *, certain: bool, loop: bool
    ) -> tuple[Scope, bool]:
        """What is known behind the statement, and whether a test that passes comes there."""
        match statement.type:
            case "block":
                self._walk(statement, scope, body, certain=certain, loop=loop)
            case "if_statement":
                return self._if(statement, scope, body, certain=certain, loop=loop)
            case "for_statement":
                self._for(statement, scope, body, certain=certain, loop=loop)
                return scope, certain
            case "expression_statement" if scope.is_failing(values_of(statement)[0]):
                return scope, False
            case "expression_statement" | "defer_statement" if values_of(statement):
                self._call(values_of(statement)[0], scope, body, certain=certain, loop=loop)
            case "expression_switch_statement" | "select_statement" | "type_switch_statement":
                for one in _blocks(statement):
                    self._walk(one, scope, body, certain=False, loop=loop)
        return scope, certain and not _leaves(statement, scope)

    def _add(
        self, found: Iterable[AssertionChange], scope: Scope, body: _Body, *, certain: bool, loop: bool
    ) -> None:
        kept = [
            one._replace(reached=one.reached and certain, partial=scope.is_narrowed)
            for one in found
            if one.places and all(one.places)
        ]
        (body.in_loops if loop else body.found).extend(kept)

    def _call(self, call: Node, scope: Scope, body: _Body, *, certain: bool, loop: bool) -> None:
        name, arguments = parse_call(call)
        function = call.child_by_field_name("function")
        if function is not None and function.type == "func_literal":  # defer func() { ... }()
            inner = function.child_by_field_name("body")
            if inner is not None:
                self._walk(inner, scope, body, certain=certain, loop=loop)
        elif name.endswith(".Run") and name.removesuffix(".Run") in scope.testing and len(arguments) == 2:
            self._subtest(arguments, scope, body, certain=certain, loop=loop)
        elif name == "suite.Run" and len(arguments) == 2:
            self._suite(arguments[1], body)
        elif name.endswith(".Fuzz") and len(arguments) == 1 and arguments[0].type == "func_literal":
            inner = arguments[0].child_by_field_name("body")
            if inner is not None:
                self._walk(inner, scope.with_parameters(arguments[0]), body, certain=False, loop=loop)
        else:
            self._add(self.assertions.found(call, scope), scope, body, certain=certain, loop=loop)

    def _subtest(
        self, arguments: list[Node], scope: Scope, body: _Body, *, certain: bool, loop: bool
    ) -> None:
        function = arguments[1]
        block = function.child_by_field_name("body")
        if function.type != "func_literal" or block is None:
            return
        inside = replace(scope.with_parameters(function), in_subtest=True)
        body.seen += 1
        title = _title(arguments[0])
        in_table = bool(scope.tables)
        if title is None or loop or in_table:
            body.runs += not loop
            tables = {one.number: len(one.elements) for one in scope.tables.values()}
            for number, rows in tables.items():
                body.loops.append(_Loop(number, rows))
            if not tables or len(tables) > 1:
                body.loops.append(_Loop(-1, 1))  # which rows make which subtest is not known
            self._walk(block, inside, body, certain=certain, loop=True)
            return
        inner = _Body(f"{body.path}/{title}", body.unit, body.depth + 1, text=text_of(block))
        before = self.changed.get(inner.path)
        self._walk(block, inside, inner, certain=certain)
        self._settle(inner)
        body.seen += inner.seen
        body.fails |= self.changed.get(inner.path, False) and certain
        if before is not None:
            self.changed[inner.path] = False  # two subtests of one name cannot be distinguished

    def _suite(self, value: Node, body: _Body) -> None:
        """The methods of one of testify's suites."""
        match = re.search(r"(\w+)\s*(?:\{.*\}|\))?$", text_of(value), re.DOTALL)
        for name, method in self.methods.get(match[1] if match else "", []):
            receiver = _receiver(method)
            block = method.child_by_field_name("body")
            if block is None or not receiver or f"{body.path}/{name}" in self.changed:
                continue
            inner = _Body(f"{body.path}/{name}", body.unit, body.depth + 1, text=text_of(block))
            before = self.assertions
            self.assertions = replace(before, suites=frozenset([receiver]))
            scope = replace(self.scope, testing=frozenset([receiver]), in_subtest=True)
            self._walk(block, scope, inner, certain=True)
            self.assertions = before
            if self._settle(inner):
                body.fails |= self.changed[inner.path]

    def _if(
        self, statement: Node, scope: Scope, body: _Body, *, certain: bool, loop: bool
    ) -> tuple[Scope, bool]:
        initial, test = (statement.child_by_field_name(name) for name in ("initializer", "condition"))
        then, other = (statement.child_by_field_name(name) for name in ("consequence", "alternative"))
        if test is None or then is None:
            return scope, False
        inner = scope if initial is None else scope.inside(initial)
        if inner.fails(then):
            found = self.conditions.false(test, inner)
            self._add(_without_crashes(found, test, then), inner, body, certain=certain, loop=loop)
            if other is not None:
                self._branch(other, inner, body, certain=certain, loop=loop)
            return scope, certain and (other is None or not _leaves(other, inner))
        if inner.fails(other):
            self._add(self.conditions.true(test, inner), inner, body, certain=certain, loop=loop)
            self._branch(then, inner, body, certain=certain, loop=loop)
            return scope, certain and not _leaves(then, inner)
        variable, rows, column = _rows_where(test, inner)
        if variable and variable in scope.tables:
            active = scope.tables[variable].active
            rest = active - rows
            self._branch(
                then, inner.narrowed(variable, rows, column), body, certain=certain and bool(rows), loop=loop
            )
            if other is not None:
                narrowed = inner.narrowed(variable, rest, column)
                self._branch(other, narrowed, body, certain=certain and bool(rest), loop=loop)
            if other is None and _ends(then):
                return scope.narrowed(variable, rest, column), certain and bool(rest)
            return scope, certain and not _leaves(statement, inner)
        for one in (then, other):
            if one is not None:
                self._branch(one, inner, body, certain=False, loop=loop)
        return scope, certain and not _leaves(statement, inner)

    def _branch(self, node: Node, scope: Scope, body: _Body, *, certain: bool, loop: bool) -> None:
        if node.type == "if_statement":
            self._if(node, scope, body, certain=certain, loop=loop)
        else:
            self._walk(node, scope, body, certain=certain, loop=loop)

    def _for(self, statement: Node, scope: Scope, body: _Body, *, certain: bool, loop: bool) -> None:
        block = statement.child_by_field_name("body")
        clause = next((one for one in values_of(statement) if one.type == "range_clause"), None)
        if block is None:
            return
        inner = None if clause is None else scope.with_loop(clause, block)
        runs = inner is not None or _counts(statement)
        self._walk(block, inner or scope, body, certain=certain and runs, loop=loop)

    def _shared(self) -> Iterator[tuple[str, Node]]:
        """Names that the file declares with a value, and that keep it as far as the file shows."""
        assigned = set(assigned_names(self.root))
        for one in values_of(self.root):
            for name, value in declarations(one):
                if value is not None and name not in assigned:
                    yield name, value

    def _helpers(self) -> Iterator[tuple[str, frozenset[int]]]:
        """Functions of the file that fail a test where two values differ: which of their arguments these are."""
        for one in values_of(self.root):
            block = one.child_by_field_name("body")
            names = list(_parameter_names(one)) if one.type == "function_declaration" else []
            testing = set(parameters_of_testing(one)) if names else set()
            if (
                block is not None
                and testing
                and _TEST.fullmatch(text_of(one.child_by_field_name("name"))) is None
            ):
                scope = self.scope.with_parameters(one)
                compared = set(_compared(block, scope)) - testing - set(assigned_names(block))
                yield (
                    text_of(one.child_by_field_name("name")),
                    frozenset(names.index(name) for name in compared if names.count(name) == 1),
                )

    def _suite_methods(self) -> Iterator[tuple[str, list[tuple[str, Node]]]]:
        found: dict[str, list[tuple[str, Node]]] = {}
        for one in values_of(self.root):
            name = text_of(one.child_by_field_name("name"))
            if one.type == "method_declaration" and name.startswith("Test"):
                owner = text_of(one.child_by_field_name("receiver"))
                kind = re.search(r"(\w+)\s*\)$", owner)
                found.setdefault(kind[1] if kind else "", []).append((name, one))
        yield from found.items()


def _sites(found: Iterable[AssertionChange]) -> Iterator[Site]:
    """Ways to change a test: the rows of a table together, everything else one by one."""
    tables: dict[tuple[int, bool], dict[int, AssertionChange]] = {}
    for one in found:
        if one.table < 0:
            yield Site(one.strength, one.odds, one.places, one.reached, one.shows)
        else:
            tables.setdefault((one.table, one.reached), {}).setdefault(one.row, one)
    for (_, reached), rows in tables.items():
        best = max(one.odds for one in rows.values())
        kept = [one for _, one in sorted(rows.items()) if one.odds is best]
        yield Site(Strength.VALUE, best, tuple(place for one in kept for place in one.places), reached)


def _structs(node: Node) -> Iterator[tuple[str, Node]]:
    if node.type == "type_spec":
        kind = node.child_by_field_name("type")
        if kind is not None and kind.type == "struct_type":
            yield text_of(node.child_by_field_name("name")), kind
    for child in node.named_children:
        yield from _structs(child)


def _title(node: Node) -> str | None:
    """The name of a subtest as it is reported, where it is written down plainly."""
    text = text_of(node)
    if node.type not in {"interpreted_string_literal", "raw_string_literal"} or "\\" in text:
        return None
    name = text[1:-1]
    return (
        re.sub(r"\s", "_", name)
        if name and name.isprintable() and "/" not in name and "#" not in name
        else None
    )


def _receiver(method: Node) -> str:
    match = re.match(r"\(\s*(\w+)\s", text_of(method.child_by_field_name("receiver")))
    return match[1] if match else ""


def _parameter_names(function: Node) -> Iterator[str]:
    parameters = function.child_by_field_name("parameters")
    for one in values_of(parameters) if parameters is not None else []:
        yield from (text_of(name) for name in one.children_by_field_name("name"))


def _compared(block: Node, scope: Scope) -> Iterator[str]:
    """Names that a function uses only to say, in the first statements that can fail a test, that they must be equal."""
    uses = used_names(block, scope.testing)
    for statement in statements(block):
        test, then = statement.child_by_field_name("condition"), statement.child_by_field_name("consequence")
        if statement.type == "if_statement" and test is not None and scope.fails(then):
            initial = statement.child_by_field_name("initializer")
            declared = {name for name, _ in declarations(initial)} if initial is not None else set[str]()
            yield from (
                name for name in _unequal_names(plain(test)) if uses[name] == 1 and name not in declared
            )
        elif _leaves(statement, scope):
            return


def _unequal_names(test: Node) -> Iterator[str]:
    operand = test.child_by_field_name("operand")
    if operator_of(test) == "!" and operand is not None:
        name, arguments = parse_call(plain(operand))
        sides = arguments if name in {"reflect.DeepEqual", "bytes.Equal", "slices.Equal"} else []
    else:
        both = (test.child_by_field_name("left"), test.child_by_field_name("right"))
        sides = [one for one in both if one is not None] if operator_of(test) == "!=" else []
    if len(sides) == 2 and text_of(sides[0]) != text_of(sides[1]):
        yield from (text_of(one) for one in sides if one.type == "identifier")


class _Rows(NamedTuple):
    """The rows for which a condition holds: the variable of the loop, and the column that decides."""

    variable: str = ""  # none where the table does not say it
    rows: frozenset[int] = frozenset()
    column: str = ""


def _rows_where(test: Node, scope: Scope) -> _Rows:
    test = plain(test)
    operand = test.child_by_field_name("operand")
    if operator_of(test) == "!" and operand is not None:
        return _others(_rows_where(operand, scope), scope)
    left, right = test.child_by_field_name("left"), test.child_by_field_name("right")
    operator, zero = operator_of(test), text_of(right)
    if left is not None and operator in {"==", "!="} and zero in {"nil", '""', "0"}:
        found = _nonzero(left, scope, zero)
        return found if operator == "!=" else _others(found, scope)
    return _nonzero(test, scope, "false") if test.type == "selector_expression" else _Rows()


def _others(found: _Rows, scope: Scope) -> _Rows:
    """The other rows."""
    return found._replace(rows=scope.tables[found.variable].active - found.rows) if found.variable else found


def _nonzero(node: Node, scope: Scope, zero: str) -> _Rows:
    found = scope.cells(node)
    if found is None:
        return _Rows()
    rows = set()
    for cell in found[1]:
        text = None if cell is None else zero if cell.value is None else text_of(plain(cell.value))
        if text is None or (zero == "false" and text not in {"true", "false"}):
            return _Rows()
        if cell is not None and text != zero:
            rows.add(cell.row)
    return _Rows(scope.variable_of(node), frozenset(rows), text_of(node))


def _without_crashes(found: Iterable[AssertionChange], test: Node, then: Node) -> Iterator[AssertionChange]:
    """Without changes after which the test may panic, which would end all tests of the package.

    That is the opposite, where the message uses what is nil then; and an error that a row expects, where the test goes on
    with what was returned beside it.
    """
    text = text_of(then)
    names = compared_with_nil(test)
    # An index, a pointer, a part of what is nil then; of two conditions it is not known which one held.
    uses = [r"\w\[", r"\*\w", *(rf"\b{re.escape(name)}\." for name in names)]
    uses += [r"\b(?!t\.)\w+\.\w+\("] if operator_of(plain(test)) == "&&" else []
    is_used = any(re.search(one, text) for one in uses)
    goes_on = not _ends(then) and not re.search(r"\.(Fatalf?|FailNow)\(", text)
    for one in found:
        expects_error = one.table >= 0 and any(_BOOLEAN.search(change.edit.text) for change in one.places[0])
        if not (is_used and one.strength is Strength.NEGATION) and not (goes_on and expects_error):
            yield one


def _counts(statement: Node) -> bool:
    """Whether a loop counts from a number to a larger one: `for i := 0; i < 3; i++`."""
    clause = next((one for one in values_of(statement) if one.type == "for_clause"), None)
    match = re.match(r"(\w+)\s*:=\s*(\d+)\s*;\s*\1\s*<=?\s*(\d+)\s*;", text_of(clause))
    return match is not None and int(match[2]) < int(match[3])


def _blocks(statement: Node) -> Iterator[Node]:
    for one in values_of(statement):
        if one.type.endswith("_case"):
            yield one


def _ends(block: Node) -> bool:
    """Whether nothing behind this block runs after it."""
    inside = statements(block)
    return bool(inside) and inside[-1].type in _JUMPS


def _leaves(node: Node, scope: Scope) -> bool:
    """Whether a test that passes may end or go on elsewhere in here, without coming to what follows."""
    if node.type in _JUMPS:
        return True
    skips = scope.in_subtest and scope.calls(node, SKIPPING)
    if node.type == "call_expression" and (skips or parse_call(node)[0] in {"os.Exit", "panic"}):
        return True
    if node.type == "if_statement" and scope.never_passes(node.child_by_field_name("consequence")):
        other = node.child_by_field_name("alternative")
        return other is not None and _leaves(other, scope)
    return node.type != "func_literal" and any(_leaves(child, scope) for child in node.named_children)

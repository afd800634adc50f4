"""The names at one place of a Go test -> what they stand for: values that are written down, and rows of tables.

want := 3                                       want        3
for _, tt := range []struct{...}{{...}, {...}}  tt          each row
                                                tt.want     of each row the value of that field
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

from steelyard.bench.twin.golang.literals import parse_call, plain
from steelyard.bench.twin.syntax_nodes import text_of, values_of

if TYPE_CHECKING:
    from tree_sitter import Node

FAILING = frozenset(["Error", "Errorf", "Fatal", "Fatalf", "Fail", "FailNow"])
SKIPPING = frozenset(["Skip", "Skipf", "SkipNow"])
_LOGGING = FAILING | SKIPPING | {"Log", "Logf"}
_COLLECTIONS = frozenset(["slice_type", "array_type", "implicit_length_array_type", "map_type"])
_TESTING = frozenset(["*testing.T", "*testing.F", "testing.TB", "*testing.B"])


class Cell(NamedTuple):
    """A value of one row: an expression, or none where the row leaves it out, and what it would be."""

    value: Node | None
    row: int
    holder: Node | None = None  # the row that leaves it out
    name: str = ""
    type_name: str = ""
    nested: bool = False  # not the row itself: of which type it is, is not looked for


@dataclass(frozen=True, slots=True)
class Table:
    """The elements of a slice, an array or a map that a loop goes through."""

    number: int  # which of the file's: where it begins
    elements: tuple[Node, ...]
    struct: Node | None = None  # the type of an element, if it is a struct of this file
    active: frozenset[int] = frozenset()  # the rows that come to the place that is looked at

    def cells(self) -> list[Cell]:
        return [Cell(one, row) for row, one in enumerate(self.elements) if row in self.active]

    def field(self, cell: Cell, name: str) -> Cell | None:
        """What a row has in a field; None where that is not known."""
        literal = _literal_value(cell.value)
        if literal is None:
            return None
        parts = values_of(literal)
        keyed = {
            text_of(part.child_by_field_name("key")): part.child_by_field_name("value")
            for part in parts
            if part.type == "keyed_element"
        }
        fields = {} if cell.nested else _fields(self.struct)
        if name in keyed:
            return cell._replace(value=keyed[name], nested=True)
        if len(keyed) < len(parts):
            place = list(fields).index(name) if name in fields else len(parts)
            return cell._replace(value=parts[place], nested=True) if place < len(parts) else None
        return Cell(None, cell.row, literal, name, fields[name], nested=True) if name in fields else None


@dataclass(frozen=True)
class Scope:
    """What is known at one place of a test."""

    structs: Mapping[str, Node] = field(default_factory=dict)  # the struct types that the file declares
    shared: Mapping[str, Node] = field(default_factory=dict)  # values that the file declares
    own: frozenset[str] = frozenset()  # those of them that one place uses
    testing: frozenset[str] = frozenset()  # names of *testing.T
    values: Mapping[str, Node] = field(default_factory=dict)
    uses: Mapping[str, int] = field(default_factory=dict)  # how often a name stands in its block
    tables: Mapping[str, Table] = field(default_factory=dict)  # variables of loops
    # How often a loop uses `tt.want`, but in conditions
    columns: Mapping[str, int] = field(default_factory=dict)
    first: Mapping[str, int] = field(default_factory=dict)  # where a loop uses `tt.want` first
    decided: frozenset[str] = frozenset()  # columns that decided that a row comes here
    in_subtest: bool = False

    def inside(self, block: Node) -> Scope:
        """With the names that the statements of a block declare."""
        declared = dict(_declarations(block))
        if not declared:
            return self
        uses = used_names(block, self.testing)
        assigned = set(assigned_names(block))
        hidden = {name for name, value in declared.items() if value is None or name in assigned}
        values = {name: one for name, one in declared.items() if one is not None and name not in hidden}
        kept = {name: one for name, one in self.values.items() if name not in declared}
        tables = {name: one for name, one in self.tables.items() if name not in declared}
        return replace(
            self,
            values={**kept, **values},
            uses={**self.uses, **{name: uses[name] for name in declared}},
            tables=tables,
        )

    def with_parameters(self, function: Node) -> Scope:
        names = set(parameters_of_testing(function))
        return replace(self, testing=self.testing | names) if names else self

    def with_loop(self, clause: Node, body: Node) -> Scope | None:
        """The scope of a loop over elements that are written down; None for other loops."""
        left, right = clause.child_by_field_name("left"), clause.child_by_field_name("right")
        if left is None or right is None:
            return None
        table = self._table(right)
        names = [text_of(one) for one in values_of(left)]
        if table is None or len(names) > 2 or not table.elements:
            return None
        columns = used_columns(body, self.testing)
        values = {name: one for name, one in self.values.items() if name not in names}
        kept = {name: one for name, one in self.tables.items() if name not in names}
        own = {names[1]: table} if len(names) == 2 and self._is_own(right) else {}
        first: dict[str, int] = {}
        for one in _readers(body, self.testing):
            first.setdefault(text_of(one), one.start_byte)
        return replace(
            self,
            values=values,
            tables={**kept, **own},
            columns={**self.columns, **columns},
            first={**self.first, **first},
        )

    @property
    def is_narrowed(self) -> bool:
        """Whether only some rows of a table come here."""
        return any(len(one.active) < len(one.elements) for one in self.tables.values())

    def narrowed(self, variable: str, rows: frozenset[int], column: str) -> Scope:
        """Where only those rows come to, because of what they have in a column."""
        table = replace(self.tables[variable], active=rows)
        return replace(self, tables={**self.tables, variable: table}, decided=self.decided | {column})

    def cells(self, node: Node) -> tuple[Table, list[Cell | None]] | None:
        """`tt.want`, `tt[1]` or `want`, where that is a variable of a loop over a table."""
        node = plain(node)
        if node.type == "identifier" and text_of(node) in self.tables:
            table = self.tables[text_of(node)]
            return table, list(table.cells())
        operand = node.child_by_field_name("operand")
        found = None if operand is None else self.cells(operand)
        if found is None:
            return None
        table, rows = found
        if node.type == "selector_expression":
            name = text_of(node.child_by_field_name("field"))
            return table, [None if one is None else table.field(one, name) for one in rows]
        place = text_of(node.child_by_field_name("index"))
        if node.type == "index_expression" and place.isdigit():
            return table, [None if one is None else _element(one, int(place)) for one in rows]
        return None

    def variable_of(self, node: Node) -> str:
        """The variable of a loop that an expression begins with."""
        node = plain(node)
        while node.type in {"selector_expression", "index_expression"}:
            operand = node.child_by_field_name("operand")
            if operand is None:
                break
            node = plain(operand)
        return text_of(node) if text_of(node) in self.tables else ""

    def is_failing(self, call: Node) -> bool:
        """`t.Fatal(...)`, or the same of a suite: `s.T().Fatal(...)`."""
        return self.calls(call, FAILING)

    def calls(self, call: Node, methods: frozenset[str]) -> bool:
        function = call.child_by_field_name("function")
        if call.type != "call_expression" or function is None:
            return False
        return _is_method_of(function, self.testing, methods)

    def fails(self, block: Node | None) -> bool:
        """Whether a test that comes here fails."""
        return self._calls_in(block, FAILING)

    def never_passes(self, block: Node | None) -> bool:
        """Whether a test that comes here fails or is skipped; a test passes although one of its subtests is skipped."""
        return self._calls_in(block, FAILING if self.in_subtest else FAILING | SKIPPING)

    def _calls_in(self, block: Node | None, methods: frozenset[str]) -> bool:
        return block is not None and any(
            self.calls(values_of(one)[0], methods)
            for one in statements(block)
            if one.type == "expression_statement" and values_of(one)
        )

    def _is_own(self, node: Node) -> bool:
        """Whether this loop alone uses a table, so that another value in it changes nothing else."""
        name = text_of(node)
        return (
            node.type != "identifier"
            or self.uses.get(name, 0) == 2
            or (name in self.own and name not in self.values)
        )

    def _table(self, node: Node) -> Table | None:
        if node.type == "identifier":
            node = self.values.get(text_of(node)) or self.shared.get(text_of(node)) or node
        kind, body = node.child_by_field_name("type"), node.child_by_field_name("body")
        if node.type != "composite_literal" or kind is None or body is None or kind.type not in _COLLECTIONS:
            return None
        element = kind.child_by_field_name("value" if kind.type == "map_type" else "element")
        if element is not None and element.type == "pointer_type":
            element = values_of(element)[0]
        struct = (
            element
            if element is not None and element.type == "struct_type"
            else self.structs.get(text_of(element))
        )
        elements = [
            plain(value)
            for one in values_of(body)
            if (value := one.child_by_field_name("value") if one.type == "keyed_element" else one) is not None
        ]
        return Table(node.start_byte, tuple(elements), struct, frozenset(range(len(elements))))


def statements(block: Node) -> list[Node]:
    found: list[Node] = []
    for one in values_of(block):
        found += values_of(one) if one.type == "statement_list" else [one]
    return found


def parameters_of_testing(function: Node) -> Iterator[str]:
    parameters = function.child_by_field_name("parameters")
    for one in values_of(parameters) if parameters is not None else []:
        if text_of(one.child_by_field_name("type")) in _TESTING:
            yield from (text_of(name) for name in one.children_by_field_name("name") if text_of(name) != "_")


def declarations(statement: Node) -> Iterator[tuple[str, Node | None]]:
    """(name, value) of one statement; None where the value is not written beside the name."""
    if statement.type in {"var_declaration", "const_declaration"}:
        for one in values_of(statement):
            yield from declarations(one) if one.type != "var_spec_list" else _each(one)
        return
    if statement.type == "short_var_declaration":
        names, values = statement.child_by_field_name("left"), statement.child_by_field_name("right")
        left = values_of(names) if names is not None else []
    elif statement.type in {"var_spec", "const_spec"}:
        left, values = statement.children_by_field_name("name"), statement.child_by_field_name("value")
    else:
        return
    right = values_of(values) if values is not None else []
    pairs = zip(left, right, strict=True) if len(left) == len(right) else ((one, None) for one in left)
    for name, value in pairs:
        is_itself = value is not None and text_of(value) == text_of(name)  # tt := tt
        if text_of(name) != "_" and not is_itself:
            yield text_of(name), value


def used_names(block: Node, testing: frozenset[str]) -> Counter[str]:
    """How often each identifier stands in a block, without messages and without `x := x`."""
    return Counter(text_of(one) for one in _readers(block, testing) if one.type == "identifier")


def used_columns(block: Node, testing: frozenset[str]) -> Counter[str]:
    """How often each `tt.want`, and each plain name, stands in a loop, without messages and conditions."""
    found: Counter[str] = Counter()
    for one in _readers(block, testing):
        is_name = one.type in {"selector_expression", "index_expression", "identifier"}
        if is_name and not is_condition(one) and not _is_row_of_a_column(one):
            found[text_of(one)] += 1
    return found


def _is_row_of_a_column(node: Node) -> bool:
    """`tt` of `tt.want`, and not of a method of the row."""
    above = node.parent
    if node.type != "identifier" or above is None or above.child_by_field_name("operand") != node:
        return False
    around = above.parent
    is_method = (
        around is not None
        and around.type == "call_expression"
        and around.child_by_field_name("function") == above
    )
    return above.type in {"selector_expression", "index_expression"} and not is_method


def is_condition(node: Node) -> bool:
    """Whether it stands in the condition of an `if`, and not as an argument: then no tested code gets it there."""
    above = node.parent
    while above is not None and above.type in {
        "parenthesized_expression",
        "binary_expression",
        "unary_expression",
    }:
        node, above = above, above.parent
    return (
        above is not None and above.type == "if_statement" and above.child_by_field_name("condition") == node
    )


def _each(group: Node) -> Iterator[tuple[str, Node | None]]:
    for one in values_of(group):
        yield from declarations(one)


def _declarations(block: Node) -> Iterator[tuple[str, Node | None]]:
    seen: set[str] = set()
    for statement in statements(block) if block.type == "block" else [block]:
        for name, value in declarations(statement):
            yield name, None if name in seen else value
            seen.add(name)


def assigned_names(node: Node) -> Iterator[str]:
    """Names that get another value, or whose address is taken."""
    if node.type in {"assignment_statement", "inc_statement", "dec_statement"}:
        left = node.child_by_field_name("left") or node
        yield from (_head(one) for one in values_of(left))
    elif node.type == "unary_expression" and text_of(node).startswith("&"):
        operand = node.child_by_field_name("operand")
        yield from [text_of(operand)] if operand is not None and operand.type == "identifier" else []
    for child in node.named_children:
        yield from assigned_names(child)


def _head(node: Node) -> str:
    while (operand := node.child_by_field_name("operand")) is not None:
        node = operand
    return text_of(node)


def _readers(node: Node, testing: frozenset[str]) -> Iterator[Node]:
    """Every expression below a node that is neither a part of a message nor the key of a field."""
    if node.type == "call_expression":
        function = node.child_by_field_name("function")
        if function is not None and _is_method_of(function, testing, _LOGGING):
            return
    if node.type == "short_var_declaration":
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        if text_of(left) == text_of(right):
            return
    yield node
    for child in node.named_children:
        is_key = node.type == "keyed_element" and child == node.child_by_field_name("key")
        if not (is_key and child.named_children and child.named_children[0].type == "identifier"):
            yield from _readers(child, testing)


def _is_method_of(function: Node, testing: frozenset[str], methods: frozenset[str]) -> bool:
    operand, name = function.child_by_field_name("operand"), function.child_by_field_name("field")
    if function.type != "selector_expression" or operand is None or text_of(name) not in methods:
        return False
    if text_of(operand) in testing:
        return True
    owner, _ = parse_call(operand)
    return owner.endswith(".T") and owner.removesuffix(".T") in testing


def _literal_value(node: Node | None) -> Node | None:
    if node is None:
        return None
    node = plain(node)
    if node.type == "unary_expression" and text_of(node).startswith("&"):
        operand = node.child_by_field_name("operand")
        node = node if operand is None else operand
    if node.type == "composite_literal":
        body = node.child_by_field_name("body")
        node = node if body is None else body
    return node if node.type == "literal_value" else None


def _element(cell: Cell, place: int) -> Cell | None:
    literal = _literal_value(cell.value)
    parts = values_of(literal) if literal is not None else []
    if place >= len(parts) or any(one.type == "keyed_element" for one in parts):
        return None
    return cell._replace(value=parts[place], nested=True)


def _fields(struct: Node | None) -> dict[str, str]:
    """The fields of a struct type in their order, and their types."""
    found: dict[str, str] = {}
    for group in values_of(struct) if struct is not None else []:
        for one in values_of(group):
            for name in one.children_by_field_name("name"):
                found[text_of(name)] = text_of(one.child_by_field_name("type"))
    return found

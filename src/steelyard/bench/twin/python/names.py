"""A file of tests -> what its names mean: pytest's own, and values that are written in one place and used in one.

@pytest.mark.parametrize("text, expected", [("a", 1), ("bb", 2)])      expected: 1, 2
def test_length(text, expected):
    assert length(text) == expected
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Sequence

from steelyard.bench.twin.python.assertions import Names, Table, Tables, Values
from steelyard.bench.twin.python.exceptions import expected_exceptions, own_exceptions
from steelyard.bench.twin.python.text import Text
from steelyard.bench.twin.python.vocabulary import vocabulary

Function = ast.FunctionDef | ast.AsyncFunctionDef


def names_of(text: Text, tree: ast.Module) -> Names:
    nodes = list(ast.walk(tree))
    imported = {
        alias.name: alias.asname or alias.name
        for node in nodes
        if isinstance(node, ast.ImportFrom) and node.module == "pytest"
        for alias in node.names
    }
    defined = {node.name for node in nodes if isinstance(node, Function)}
    return Names(
        raises=frozenset({"pytest.raises", imported.get("raises", "pytest.raises")}),
        approximate=frozenset({"pytest.approx", imported.get("approx", "pytest.approx")}),
        redefined=frozenset(name for name in defined if name.startswith("assert")),
        equals_everything=any(_equals_everything(node) for node in nodes),
        vocabulary=vocabulary(text, nodes),
        exceptions=expected_exceptions(tree, nodes),
        own_exceptions=own_exceptions(tree),
        tables=_tables(tree, nodes),
    )


def _tables(tree: ast.Module, nodes: Sequence[ast.AST]) -> dict[str, Table]:
    """Lists of the module that one place reads: `CASES = [("a", 1), ("bb", 2)]`."""
    found = {
        name: value
        for statement in tree.body
        for name, value in _assigned_in(statement)
        if isinstance(value, ast.List | ast.Tuple)
    }
    uses = Counter(node.id for node in nodes if found and isinstance(node, ast.Name))
    return {name: value for name, value in found.items() if uses[name] == 2}


def _equals_everything(node: ast.AST) -> bool:
    """A class for tests that is equal to whatever it is compared with, or the well-known names of one."""
    if not isinstance(node, ast.FunctionDef | ast.Name | ast.Attribute):
        return False
    match node:
        case ast.FunctionDef(name="__eq__", body=[*_, ast.Return(value=ast.Constant(value=True))]):
            return True
        case ast.Name(id="ANY" | "ALWAYS_EQ") | ast.Attribute(attr="ANY" | "ALWAYS_EQ"):
            return True
    return False


def written_values(function: Function, tables: Tables) -> dict[str, Values]:
    """Names that are given a value once -> the expressions that give it; shared if the body reads them more than once."""
    uses: Counter[tuple[str, bool]] = Counter()
    for node in ast.walk(function):
        if isinstance(node, ast.Name):
            uses[node.id, isinstance(node.ctx, ast.Load)] += 1
    assigned, given = dict(_assigned(function)), dict(_parametrised(function, tables))
    once = {
        name: Values(places, in_ids=name in given)
        for name, places in {**assigned, **given}.items()
        if uses[name, True] == 1 and uses[name, False] == (name not in given)
    }
    constants = {
        name: Values(places, shared=True)
        for name, places in assigned.items()
        if uses[name, True] > 1 and uses[name, False] == 1 and isinstance(places[0], ast.Constant)
    }
    return {**constants, **once}


def parameter_rows(function: Function, tables: Tables) -> Iterator[tuple[ast.expr, ast.expr | None]]:
    """The rows of a test with parameters, each with what its id is written as."""
    for _, rows, options in _tables_of(function, tables):
        ids = [one.value.elts for one in options if isinstance(one.value, ast.List | ast.Tuple)]
        named = ids[0] if ids and len(ids[0]) == len(rows) else [None] * len(rows)
        for row, name in zip(rows, named, strict=True):
            own = [one.value for one in row.keywords if one.arg == "id"] if isinstance(row, ast.Call) else []
            yield row, own[0] if own else name


def _assigned(function: Function) -> Iterator[tuple[str, Sequence[ast.expr]]]:
    for statement in function.body:
        yield from ((name, (value,)) for name, value in _assigned_in(statement))


def _assigned_in(statement: ast.stmt) -> Iterator[tuple[str, ast.expr]]:
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)]):
            yield name, statement.value


def _parametrised(function: Function, tables: Tables) -> Iterator[tuple[str, Sequence[ast.expr]]]:
    for names, rows, _ in _tables_of(function, tables):
        yield from _columns(_argument_names(names), rows)


def _tables_of(
    function: Function, tables: Tables
) -> Iterator[tuple[ast.expr, Sequence[ast.expr], Sequence[ast.keyword]]]:
    """(names, rows, options) of each `parametrize`."""
    for decorator in function.decorator_list:
        match decorator:
            case ast.Call(args=[names, table], keywords=options):
                rows = tables.get(table.id) if isinstance(table, ast.Name) else table
                if (
                    isinstance(rows, ast.List | ast.Tuple)
                    and ast.unparse(decorator.func) == "pytest.mark.parametrize"
                    and all(one.arg == "ids" for one in options)
                ):
                    yield names, rows.elts, options


def _argument_names(node: ast.expr) -> list[str]:
    match node:
        case ast.Constant(value=str(text)):
            return [name.strip() for name in text.split(",") if name.strip()]
        case ast.List(elts=parts) | ast.Tuple(elts=parts):
            return [
                part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str)
            ]
    return []


def _columns(names: list[str], rows: Sequence[ast.expr]) -> Iterator[tuple[str, Sequence[ast.expr]]]:
    cells = [_cells(row, len(names)) for row in rows]
    if rows and all(len(row) == len(names) for row in cells):
        for column, name in enumerate(names):
            yield name, [row[column] for row in cells]


def _cells(row: ast.expr, width: int) -> Sequence[ast.expr]:
    match row:
        case ast.Call(args=args) if ast.unparse(row.func) == "pytest.param":
            return args
        case ast.Tuple(elts=parts) | ast.List(elts=parts) if width > 1:
            return parts
    return (row,)

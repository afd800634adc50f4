"""A file of tests -> what its names mean: pytest's own, and values that are written in one place and used in one.

@pytest.mark.parametrize("text, expected", [("a", 1), ("bb", 2)])      expected: 1, 2
def test_length(text, expected):
    assert length(text) == expected
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Sequence

from steelyard.bench.twin.python.assertions import Names, Values
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
    )


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


def written_values(function: Function) -> dict[str, Values]:
    """Names that are given a value once -> the expressions that give it; shared if the body reads them more than once."""
    uses: Counter[tuple[str, bool]] = Counter()
    for node in ast.walk(function):
        if isinstance(node, ast.Name):
            uses[node.id, isinstance(node.ctx, ast.Load)] += 1
    assigned, given = dict(_assigned(function)), dict(_parametrised(function))
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


def _assigned(function: Function) -> Iterator[tuple[str, Sequence[ast.expr]]]:
    for statement in function.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)]):
                yield name, (statement.value,)


def _parametrised(function: Function) -> Iterator[tuple[str, Sequence[ast.expr]]]:
    for decorator in function.decorator_list:
        match decorator:
            case ast.Call(args=[names, ast.List(rows) | ast.Tuple(rows)], keywords=options):
                if ast.unparse(decorator.func) == "pytest.mark.parametrize" and all(
                    one.arg == "ids" for one in options
                ):
                    yield from _columns(_argument_names(names), rows)


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

"""The body of a test -> its statements, each with whether a test that passes has surely executed it.

Surely: straight-line code, also inside a `with` that cannot swallow an exception, before anything that may return.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from steelyard.bench.twin.python.assertions import Names, raises_within

# What these give back never swallows an exception. Of any other context manager we do not know.
_LETS_THROUGH = frozenset(
    [
        "open",
        "catch_warnings",
        "warnings.catch_warnings",
        "pytest.warns",
        "pytest.deprecated_call",
        "TemporaryDirectory",
        "NamedTemporaryFile",
        "TemporaryFile",
        "tempfile.TemporaryDirectory",
        "tempfile.NamedTemporaryFile",
        "tempfile.TemporaryFile",
        "patch",
        "patch.object",
        "patch.dict",
        "patch.multiple",
        "mock.patch",
        "mocker.patch",
        "monkeypatch.context",
        "caplog.at_level",
        "closing",
        "nullcontext",
        "redirect_stdout",
        "redirect_stderr",
        "contextlib.closing",
        "contextlib.nullcontext",
        "contextlib.redirect_stdout",
        "contextlib.redirect_stderr",
        "self.assertLogs",
        "self.assertNoLogs",
        "self.assertWarns",
        "runner.isolated_filesystem",
    ]
)
_SIMPLE = (
    ast.Assert,
    ast.Expr,
    ast.Assign,
    ast.AugAssign,
    ast.AnnAssign,
    ast.Import,
    ast.ImportFrom,
    ast.Pass,
)
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


def statements(body: Sequence[ast.stmt], names: Names, *, certain: bool) -> Iterator[tuple[ast.stmt, bool]]:
    for statement in body:
        yield statement, certain
        if not isinstance(statement, _SIMPLE):
            yield from _inner(statement, names, certain=certain)
            certain = certain and not may_leave(statement)


def _inner(statement: ast.stmt, names: Names, *, certain: bool) -> Iterator[tuple[ast.stmt, bool]]:
    match statement:
        case ast.With() | ast.AsyncWith():
            if not raises_within(statement, names):
                through = all(_lets_through(item.context_expr) for item in statement.items)
                yield from statements(statement.body, names, certain=certain and through)
        case ast.Try(handlers=[]):
            silent = any(may_leave(one) for one in statement.finalbody)
            yield from statements(statement.body, names, certain=certain and not silent)
            yield from statements(statement.finalbody, names, certain=certain)
        case ast.If() | ast.For() | ast.AsyncFor() | ast.While() | ast.Try() | ast.TryStar():
            for part in ("body", "orelse", "finalbody"):
                yield from statements(getattr(statement, part, []), names, certain=False)


def may_leave(statement: ast.stmt) -> bool:
    """Whether the test may end here, and well."""
    return any(isinstance(one, ast.Return) for one in own_nodes(statement))


def own_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """The node and what is in it, without the functions and classes that it defines."""
    left = [node]
    while left:
        one = left.pop()
        yield one
        if not isinstance(one, _SCOPES):
            left.extend(ast.iter_child_nodes(one))


def _lets_through(manager: ast.expr) -> bool:
    if not isinstance(manager, ast.Call):
        return False
    called = ast.unparse(manager.func)
    return called in _LETS_THROUGH or ".".join(called.split(".")[-2:]) in _LETS_THROUGH

"""A Python test -> the texts that speak of its expected values: messages of assertions, comments, docstrings, ids of rows.

@pytest.mark.parametrize("a, want", [pytest.param(2, 5, id="gives 5")])
def test_it(a, want):
    \"\"\"It is 5.\"\"\"
    assert f(a) == want, "want 5"  # because 2 gives 5
"""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from steelyard.bench.twin.base import Edit, apply_edits
from steelyard.bench.twin.messages import Message, Span
from steelyard.bench.twin.python.assertions import Tables
from steelyard.bench.twin.python.flow import own_nodes
from steelyard.bench.twin.python.names import Function, parameter_rows
from steelyard.bench.twin.python.text import Text
from steelyard.deferred.data_class import dataclass

_VALUES = (ast.List, ast.Tuple, ast.Set, ast.Dict, ast.Call, ast.UnaryOp, ast.BinOp, ast.Constant)
_FIRST_MESSAGE = 3  # of unittest's methods that compare two things: the third argument
# What follows are arguments of a call.
_CALLING = (
    "assertRaises",
    "assertWarns",
    "assert_raises",
    "assert_warns",
    "assert_called",
    "assert_any_call",
    "assert_has_calls",
)
_SINGLE = frozenset(["assertTrue", "assertFalse", "assertIsNone", "assertIsNotNone"])


class Remarks(NamedTuple):
    """`ids` are the spans of texts that pytest takes for the id of a row, of each test with parameters."""

    messages: tuple[Message, ...] = ()
    ids: tuple[frozenset[Span], ...] = ()


class _Comment(NamedTuple):
    span: Span
    column: int
    alone: bool  # in its line


@dataclass(frozen=True, slots=True)
class _Reader:
    text: Text
    comments: Mapping[int, _Comment]  # by line
    tables: Tables

    def of_test(self, function: Function) -> Iterator[Message]:
        statements = [one for part in function.body for one in own_nodes(part) if isinstance(one, ast.stmt)]
        named: dict[str, list[Span]] = {}
        for statement in statements:
            messages = _messages(self.text, statement)
            for node in ast.walk(statement) if messages else ():
                if isinstance(node, ast.Name):
                    named.setdefault(node.id, []).extend(messages)
        for statement in statements:
            yield from self._of_statement(statement, named)
        first = min([function, *function.decorator_list], key=lambda one: one.lineno)
        texts = [*_docstring(self.text, function), *self._above(first.lineno, function.col_offset)]
        span = self.text.span(first)[0], self.text.span(function)[1]
        yield from self._message(span, texts, [function, *function.decorator_list])

    def of_rows(self, function: Function) -> Iterator[tuple[Message, Span | None]]:
        for row, name in parameter_rows(function, self.tables):
            texts = self._comments_at(row.lineno, row.end_lineno or row.lineno, row.col_offset)
            for one in self._message(self.text.span(row), texts, [row]):
                yield one, None
            if isinstance(name, ast.Constant) and isinstance(name.value, str):
                span = self.text.span(name)
                for one in self._message(self.text.span(row), [span], [row]):
                    yield one, span

    def _of_statement(self, statement: ast.stmt, named: Mapping[str, Sequence[Span]]) -> Iterator[Message]:
        start, end = self.text.span(statement)
        last = statement.end_lineno or statement.lineno
        texts = _messages(self.text, statement)
        inside: list[ast.AST] = [statement]
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)]):
                texts = [*texts, *named.get(name, ())]
            case ast.With(items=items, body=[first, *_]):
                end, last, inside = self.text.span(first)[0], first.lineno - 1, [*items]
            case ast.Assert() | ast.Expr():
                pass
            case _:
                return
        texts = [*texts, *self._comments_at(statement.lineno, last, statement.col_offset)]
        yield from self._message((start, end), texts, inside)

    def _message(self, span: Span, texts: Sequence[Span], inside: Iterable[ast.AST]) -> Iterator[Message]:
        if texts:
            nodes = (node for one in inside for node in ast.walk(one))
            values = tuple(self.text.span(node) for node in nodes if isinstance(node, _VALUES))
            yield Message(*span, tuple(texts), values)

    def _comments_at(self, first: int, last: int, column: int) -> list[Span]:
        lines = (self.comments.get(line) for line in range(first, last + 1))
        return [*self._above(first, column), *(one.span for one in lines if one is not None)]

    def _above(self, line: int, column: int) -> list[Span]:
        """Lines of comments right above."""
        found: list[Span] = []
        while (one := self.comments.get(line - 1)) is not None and one.alone and one.column == column:
            found.append(one.span)
            line -= 1
        return found


def remarks(text: Text, functions: Iterable[Function], tables: Tables) -> Remarks:
    reader = _Reader(text, _comments(text), tables)
    messages: list[Message] = []
    ids: list[frozenset[Span]] = []
    for function in functions:
        rows = list(reader.of_rows(function))
        messages += [message for message, _ in rows]
        ids += [frozenset(name for _, name in rows if name is not None)]
        messages += reader.of_test(function)
    return Remarks(tuple(messages), tuple(filter(None, ids)))


class IdEdit(NamedTuple):
    """An edit in the id of a row, and that id before and after."""

    edit: Edit
    old: str
    new: str


def id_edits(
    source: bytes, beside: Iterable[Edit], ids: Sequence[frozenset[Span]]
) -> Iterator[tuple[bool, IdEdit]]:
    """The edits that are in ids, and whether every row of their test keeps an id of its own."""
    edits = list(beside)
    for spans in ids if edits else ():
        found = [
            IdEdit(
                edit,
                source[start:end].decode(),
                apply_edits(source[start:end], [edit.moved(-start)]).decode(),
            )
            for start, end in sorted(spans)
            for edit in edits
            if start <= edit.start and edit.end <= end
        ]
        names = [*(source[start:end].decode() for start, end in spans), *(one.new for one in found)]
        apart = len(set(names)) == len(names)
        yield from ((apart, one) for one in found)


def _comments(text: Text) -> dict[int, _Comment]:
    if b"#" not in text.source:
        return {}
    found: dict[int, _Comment] = {}
    try:
        for token in tokenize.tokenize(io.BytesIO(text.source).readline):
            if token.type == tokenize.COMMENT:
                line, column = token.start
                comment = token.string.encode()
                start = text.source.find(comment, text.place(line, column))  # columns are characters here
                before = text.source[text.place(line, 0) : start]
                if start >= 0 and b"\n" not in before:
                    found[line] = _Comment((start, start + len(comment)), column, not before.strip())
    except (tokenize.TokenError, SyntaxError, ValueError):
        return {}
    return found


def _messages(text: Text, statement: ast.stmt) -> list[Span]:
    """The texts that an assertion prints when it fails."""
    match statement:
        case ast.Assert(msg=ast.expr() as message):
            return _strings(text, message)
        case ast.Expr(ast.Call(func=ast.Attribute(attr=name), args=args, keywords=options)) if (
            name.startswith("assert") and not name.startswith(_CALLING)
        ):
            given = args[1 if name in _SINGLE else _FIRST_MESSAGE - 1 :]
            given = [*given, *(one.value for one in options if one.arg == "msg")]
            return [span for one in given for span in _strings(text, one)]
    return []


def _strings(text: Text, node: ast.expr) -> list[Span]:
    """The strings in an expression; what an f-string puts in is a part of it."""
    found: list[Span] = []
    waiting = [node]  # no recursion: a sum of many texts is as deep as it is long
    while waiting:
        one = waiting.pop()
        if isinstance(one, ast.JoinedStr) or (isinstance(one, ast.Constant) and isinstance(one.value, str)):
            found.append(text.span(one))
        else:
            waiting += reversed([part for part in ast.iter_child_nodes(one) if isinstance(part, ast.expr)])
    return found


def _docstring(text: Text, function: Function) -> list[Span]:
    match function.body:
        case [ast.Expr(ast.Constant(value=str(docstring)) as node), *_] if ">>>" not in docstring:
            return [text.span(node)]
    return []

"""A Python file as bytes -> its syntax tree, and edits at the byte positions that the tree gives.

The tree counts lines as the tokenizer does and columns in bytes of UTF-8, so the text is kept as exactly that.
"""

from __future__ import annotations

import ast
import codecs
import io
import re
import threading
import tokenize
import warnings
from collections.abc import Collection
from functools import cached_property

from steelyard.bench.twin.base import Edit, apply_edits
from steelyard.deferred.data_class import dataclass

_LINE_END = re.compile(rb"\r\n|\r|\n")
# The warnings' filters belong to the process; two threads that save and restore them would mix them up. And where two threads
# parse at once, CPython 3.11 may raise a SystemError: the depth of its recursion is counted for both together.
_ONE_AT_A_TIME = threading.Lock()
_UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError)


@dataclass(frozen=True)
class Text:
    """A source file in UTF-8, and where its lines begin."""

    source: bytes

    @cached_property
    def _starts(self) -> list[int]:
        return [0, *(match.end() for match in _LINE_END.finditer(self.source))]

    def span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self.place(node.lineno, node.col_offset), self.place(node.end_lineno, node.end_col_offset)

    def place(self, line: int, column: int) -> int:
        """The byte at a column, in bytes, of a line; lines are counted from 1."""
        return self._starts[line - 1] + column

    def of(self, node: ast.expr | ast.stmt) -> str:
        start, end = self.span(node)
        return self.source[start:end].decode()

    def edit(self, node: ast.expr | ast.stmt, text: str) -> Edit:
        return Edit(*self.span(node), text)

    def changed(self, node: ast.expr, edit: Edit) -> str:
        """The text of a node after an edit inside it."""
        start, end = self.span(node)
        before, after = self.source[start : edit.start], self.source[edit.end : end]
        return before.decode() + edit.text + after.decode()

    def reads_with(self, node: ast.expr, edits: Collection[Edit]) -> bool:
        """Whether an expression is still one after these edits inside it."""
        start, end = self.span(node)
        moved = [edit.moved(-start) for edit in edits]
        return expression(apply_edits(self.source[start:end], moved).decode()) is not None

    def keeps_lines(self, edit: Edit) -> bool:
        """So that every other line is where it was."""
        old = self.source[edit.start : edit.end]
        return len(_LINE_END.findall(old)) == len(_LINE_END.findall(edit.text.encode()))


def parse_source(source: bytes | str) -> ast.Module | None:
    """The tree, or None if this Python cannot read the source. Warnings about odd escapes in its strings are not shown."""
    with _ONE_AT_A_TIME, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return ast.parse(source)
        except _UNREADABLE:
            return None


def literal(text: str) -> object:
    """The value of a literal as it is written, over several lines too; Ellipsis when it is none."""
    tree = parse_source(f"({text}\n)")
    try:
        return ... if tree is None else ast.literal_eval(tree.body[0].value)  # type: ignore[attr-defined]  # an expression
    except (*_UNREADABLE, TypeError, IndexError, AttributeError):
        return ...


def as_utf8(source: bytes) -> Text | None:
    """None for what is not UTF-8, or begins with a mark: the columns of its tree are not its own."""
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(source).readline)
        source.decode()
    except (*_UNREADABLE, UnicodeDecodeError):
        return None
    return None if source.startswith(codecs.BOM_UTF8) or encoding != "utf-8" else Text(source)


def expression(text: str) -> ast.expr | None:
    """The tree of one expression, over several lines too."""
    tree = parse_source(f"({text}\n)")
    return tree.body[0].value if tree is not None and isinstance(tree.body[0], ast.Expr) else None

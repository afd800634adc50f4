"""A JavaScript file of tests -> the texts that speak of expected values: messages of assertions, and comments.

// 2 and 3 are 5
assert.equal(add(2, 3), 5, 'want 5');      // 5
expect(add(2, 3), 'is 5').toBe(5);
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from steelyard.bench.twin.messages import Message, Span
from steelyard.bench.twin.syntax_nodes import text_of, values_of

if TYPE_CHECKING:
    from tree_sitter import Node

_STATEMENTS = frozenset(["expression_statement", "return_statement", "lexical_declaration"])
_VALUES = frozenset(["array", "object", "new_expression", "unary_expression", "string", "template_string"])
_SINGLE = frozenset(
    ["ok", "assert", "isTrue", "isFalse", "isNull", "isDefined", "isUndefined", "doesNotThrow"]
)
_NOT_MESSAGES = frozenset(["property", "toHaveProperty", "toHaveBeenCalledWith", "calledWith"])


def remarks(root: Node) -> tuple[Message, ...]:
    statements = [one for one in _all(root) if one.type in _STATEMENTS]
    messages = {one.id: [*_messages(one)] for one in statements}
    named: dict[tuple[int, str], list[Span]] = {}
    for statement in statements:
        for node in _all(statement) if messages[statement.id] and not _has_body(statement) else ():
            if node.type == "identifier":
                named.setdefault((_body_of(statement), text_of(node)), []).extend(messages[statement.id])
    found = []
    for statement in statements:
        texts = [*messages[statement.id], *_comments(statement), *(_of_constant(statement, named))]
        if texts:
            values = [one for one in _all(statement) if one.type in _VALUES]
            spans = tuple((one.start_byte, one.end_byte) for one in values)
            found.append(Message(statement.start_byte, statement.end_byte, tuple(texts), spans))
    return tuple(found)


def _of_constant(statement: Node, named: Mapping[tuple[int, str], Sequence[Span]]) -> Iterator[Span]:
    """What assertions of the same test that name it say: another test may have the same name for something else."""
    if statement.type == "lexical_declaration":
        for one in statement.named_children:
            if name := one.child_by_field_name("name"):
                yield from named.get((_body_of(statement), text_of(name)), ())


def _body_of(statement: Node) -> int:
    """The statements that it is one of."""
    return statement.parent.id if statement.parent is not None else 0


def _messages(statement: Node) -> Iterator[Span]:
    if _has_body(statement):
        return
    for call in _all(statement):
        called, arguments = call.child_by_field_name("function"), call.child_by_field_name("arguments")
        if call.type != "call_expression" or called is None or arguments is None:
            continue
        head, _, method = text_of(called).rpartition(".")
        if head.endswith("assert") or head in {"strict", "assert.strict"} or method in {"assert", "expect"}:
            given = values_of(arguments)[1 if method in _SINGLE | {"expect"} else 2 :]
        elif head.startswith("expect(") and method not in _NOT_MESSAGES:
            given = values_of(arguments)[1:]
        else:
            continue
        yield from _strings(given)


def _strings(nodes: Sequence[Node]) -> Iterator[Span]:
    for one in nodes:
        if one.type in {"string", "template_string"}:
            yield one.start_byte, one.end_byte
        elif one.type == "binary_expression":
            yield from _strings(one.named_children)


def _comments(statement: Node) -> Iterator[Span]:
    """Those in the statement, at the end of its last line, and in the lines right above."""
    if not _has_body(statement):
        yield from ((one.start_byte, one.end_byte) for one in _all(statement) if one.type == "comment")
    after = statement.next_named_sibling
    if after is not None and after.type == "comment" and after.start_point[0] == statement.end_point[0]:
        yield after.start_byte, after.end_byte
    row, above = statement.start_point[0], statement.prev_named_sibling
    while above is not None and above.type == "comment" and above.end_point[0] == row - 1:
        before = above.prev_named_sibling
        if before is not None and before.end_point[0] == above.start_point[0]:
            return  # at the end of another line
        yield above.start_byte, above.end_byte
        row, above = above.start_point[0], before


def _has_body(statement: Node) -> bool:
    """A test or a suite, which has statements of its own."""
    return any(one.type == "statement_block" for one in _all(statement))


def _all(node: Node) -> Iterator[Node]:
    waiting = [node]
    while waiting:
        one = waiting.pop()
        yield one
        waiting += reversed(one.named_children)

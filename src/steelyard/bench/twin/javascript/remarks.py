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
    found = []
    statements = list(_statements(root))
    messages = {one.id: [*_messages(one)] for one, _ in statements}
    named = _by_constant(statements, messages)
    for statement, blocks in statements:
        of_constants = (named.get((blocks[0], name), ()) for name in _declared(statement))
        texts = [
            *messages[statement.id],
            *_comments(statement),
            *(span for one in of_constants for span in one),
        ]
        if texts:
            values = [one for one in _all(statement) if one.type in _VALUES]
            spans = tuple((one.start_byte, one.end_byte) for one in values)
            found.append(Message(statement.start_byte, statement.end_byte, tuple(texts), spans))
    return tuple(found)


def _statements(root: Node) -> Iterator[tuple[Node, tuple[int, ...]]]:
    """Each with the blocks around it, the inner one first."""
    waiting: list[tuple[Node, tuple[int, ...]]] = [(root, (root.id,))]
    while waiting:
        node, blocks = waiting.pop()
        if node.type in _STATEMENTS:
            yield node, blocks
        inner = (node.id, *blocks) if node.type == "statement_block" else blocks
        waiting += [(one, inner) for one in reversed(node.named_children)]


def _by_constant(
    statements: Sequence[tuple[Node, tuple[int, ...]]], messages: Mapping[int, Sequence[Span]]
) -> Mapping[tuple[int, str], Sequence[Span]]:
    """A block and a constant that it declares -> what the assertions that name it print."""
    declared = {(blocks[0], name) for statement, blocks in statements for name in _declared(statement)}
    found: dict[tuple[int, str], list[Span]] = {}
    for statement, blocks in statements:
        if texts := messages[statement.id]:
            for name in {text_of(node) for node in _all(statement) if node.type == "identifier"}:
                place = next(((block, name) for block in blocks if (block, name) in declared), None)
                if place is not None:
                    found.setdefault(place, []).extend(texts)
    return found


def _declared(statement: Node) -> Iterator[str]:
    if statement.type == "lexical_declaration":
        names = (one.child_by_field_name("name") for one in statement.named_children)
        yield from (text_of(name) for name in names if name is not None)


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

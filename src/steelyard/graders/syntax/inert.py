"""Ways to keep a test in the file whose body the runner never runs, or which is about something else now."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from steelyard.graders.syntax.chains import chain, text_of_field
from steelyard.graders.syntax.dead_code import unwrapped
from steelyard.graders.syntax.heads import Head, compact
from steelyard.graders.syntax.outline import NOT_AWAITED, Unit
from steelyard.graders.syntax.tokens import Tokens, tokens
from steelyard.grammars import Grammar

if TYPE_CHECKING:
    from tree_sitter import Node

_RUNS_COROUTINES = re.compile(
    r"asyncio|anyio|trio|tornado|gen_test|twisted|inlineCallbacks|async_test|curio|aio"
)
_FUNCTIONS = frozenset({"lambda", "arrow_function", "function_expression"})
_MOCKS = frozenset({"Mock", "MagicMock", "AsyncMock", "mock", "jest", "vi", "sinon"})
_PROMISED = frozenset({"rejects", "resolves", "doesNotReject", "eventually", "rejectedWith", "throwsAsync"})
_LATER = frozenset({"then", "setTimeout", "setImmediate", "nextTick", "queueMicrotask"})
# A test that says one of these waits, or lets the time pass itself.
_WAITS = frozenset(
    {"await", "done", "runAllTimers", "runAllTicks", "advanceTimersByTime", "tick", "useFakeTimers"}
)
_OWN_SCOPE = frozenset(
    {
        "function_definition",
        "lambda",
        "class_definition",
        "arrow_function",
        "function_expression",
        "function_declaration",
        "method_definition",
        "generator_function",
        "generator_function_declaration",
    }
)
MOST_NODES = 20_000


def never_run(head: Head, grammar: Grammar, *, awaits: bool) -> str:
    """Why calling the test runs nothing of it: it is a generator, or a coroutine that nothing awaits."""
    if head.body is not None and head.body.type == "generator_function":
        return "it is a generator now, so its body never runs"
    if grammar.language != "python":
        return ""
    if head.body is not None and _yields(head.body):
        return "it is a generator now, so its body never runs"
    if awaits or any(_RUNS_COROUTINES.search(compact(mark)) for mark in head.marks):
        return ""
    inner = head.node.child_by_field_name("definition") or head.node
    return NOT_AWAITED if any(child.type == "async" for child in inner.children) else ""


def runs_coroutines(found: Tokens) -> bool:
    """A `pytestmark` that makes the runner await every test of the file."""
    return any(map(_RUNS_COROUTINES.search, found))


def _yields(body: Node) -> bool:
    """A `yield` of the function itself, not of one inside it."""
    waiting, seen = [body], 0
    while waiting and seen < MOST_NODES:
        node = waiting.pop()
        seen += 1
        if node.type == "yield":
            return True
        waiting += [child for child in node.named_children if child.type not in _OWN_SCOPE]
    return False


def has_params(head: Head) -> bool:
    """Whether the callback of a test takes `done`, by which it says when it ends."""
    params = head.body and (
        head.body.child_by_field_name("parameters") or head.body.child_by_field_name("parameter")
    )
    return params is not None and (params.type == "identifier" or bool(params.named_children))


def defaults(params: Node | None) -> set[str]:
    """Names of parameters that have a value of their own, so that no fixture and no import gives it."""
    return {
        text_of_field(child, ("name",))
        for child in (params.named_children if params is not None else ())
        if child.type in ("default_parameter", "typed_default_parameter")
    }


def is_stand_in(value: Node, grammar: Grammar) -> bool:
    """A function or a mock that is written where it is assigned."""
    return value.type in _FUNCTIONS or bool(
        value.type in grammar.calls and _MOCKS & set(tokens(value, grammar, 1))
    )


def binds_anything(head: Head, grammar: Grammar) -> bool:
    """`def __eq__(self, other): return True`."""
    return head.body is not None and tokens(head.body, grammar, 5) == ("return", "True")


def is_unawaited(statement: Node, unit: Unit, grammar: Grammar) -> bool:
    """`expect(f()).rejects.toThrow();` as a statement: the test is over before the promise is."""
    if grammar.language != "javascript" or statement.type != "expression_statement":
        return False
    call = unwrapped(statement)
    if call.type not in grammar.calls:
        return False
    names = [link.name for link in chain(call, grammar)]
    if _PROMISED & set(names[1:]):
        return True
    return names[-1] in _LATER and not unit.has_params and not _WAITS & unit.bag.keys()

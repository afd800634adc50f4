"""A syntax tree + the queries of its language -> what is passed on the way through a test file, in order.

`queries/<language>.scm` names places by these captures:

    never, empty_loop, swallowed, expected, raised    an assertion in the node cannot fail; WHY says why
    end + block                                       nor in what follows the node in its block
    guard; guard_from + block                         it is asserted only sometimes
    failing + condition                               the branch of an `if` that says that the test failed
    nested + name                                     a function inside a test
    function, group, call, assignment, ...            what is written there, for `reader.py`
    is_false, is_open, is_empty, swallows, ...        a question about the node: the match counts if the answer is yes
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from steelyard.graders.syntax.claims import WIDEST
from steelyard.graders.syntax.reading.assertions import is_fail
from steelyard.graders.syntax.reading.chains import Link
from steelyard.graders.syntax.reading.dead_code import constant
from steelyard.graders.syntax.reading.tables import is_empty
from steelyard.graders.syntax.reading.tokens import names, tokens
from steelyard.grammars import Grammar, language_of

if TYPE_CHECKING:
    from tree_sitter import Node, Query

WHY = {
    "never": "under a condition that is never true",
    "empty_loop": "in a loop over nothing",
    "swallowed": "its failure is swallowed",
    "expected": "its failure is expected",
    "raised": "the test raises it itself",
    "end": "after a return",
}
_POINTS: dict[str, Callable[[Grammar], frozenset[str]]] = {
    "function": lambda grammar: grammar.functions,
    "group": lambda grammar: grammar.classes,
    "call": lambda grammar: grammar.calls,
    "member": lambda grammar: grammar.members,
    "assignment": lambda grammar: grammar.assignments,
    "string": lambda grammar: grammar.strings,
}
# At one place what is around comes first: a branch fails the test under the conditions around its `if`.
_REGIONS = ("failing", *WHY, "script", "guard", "guard_from", "nested", "unawaited")
_READ = (*_POINTS, "assert", "loop", "import", "delete", "yield", "word", "comment")
_RANK = {role: rank for rank, role in enumerate((*_REGIONS, *_READ))}
MOST_DEPTH = 1_000  # of what is looked for; the time that a query takes grows with the square of it
CONDITION_BYTES = 100  # a condition that is longer is no constant
_QUERIES = Path(__file__).parent / "queries"
_LOUD = names("raise throw fail flunk panic assert expect Fatal Fatalf Error Errorf rethrow")
# What must be caught to catch a failed assertion; elsewhere anything that is caught will do.
_CATCHES = {
    "python": WIDEST - {"Error"} | {"AssertionError"},
    "java": frozenset({"Throwable", "Error", "AssertionError", "AssertionFailedError"}),
}


class RegionMark(NamedTuple):
    """A place that is passed on the way through a file."""

    start: int
    end: int
    role: str
    node: Node
    match: dict[str, list[Node]]


def region_marks(root: Node, grammar: Grammar) -> list[RegionMark]:
    from tree_sitter import QueryCursor  # noqa: PLC0415  # loads a C library: only when a test file changed

    cursor = QueryCursor(_query(grammar))
    cursor.set_max_start_depth(MOST_DEPTH)
    found = []
    for _, match in cursor.matches(root):
        if all(_ANSWERS[asked](match[asked][0], grammar) for asked in _ANSWERS.keys() & match.keys()):
            found += [
                _place(role, node, match) for role in _RANK.keys() & match.keys() for node in match[role]
            ]
    return sorted(found, key=lambda one: (one.start, -one.end, _RANK[one.role]))


def _place(role: str, node: Node, match: dict[str, list[Node]]) -> RegionMark:
    if role in ("end", "guard_from"):
        return RegionMark(node.end_byte, match["block"][0].end_byte, role, node, match)
    return RegionMark(node.start_byte, node.end_byte, role, node, match)


@cache
def _query(grammar: Grammar) -> Query:
    from tree_sitter import Query  # noqa: PLC0415  # see above

    points = [
        f"[{' '.join(f'({kind})' for kind in sorted(kinds))}] @{role}"
        for role, kinds_of in _POINTS.items()
        if (kinds := kinds_of(grammar))
    ]
    files = [f"{grammar.language}.scm", *(["if_statement.scm"] if "if_statement" in grammar.ifs else [])]
    written = [(_QUERIES / file).read_text() for file in files]
    return Query(language_of(grammar), "\n".join([*written, *points]))


def _swallows(handler: Node, grammar: Grammar) -> bool:
    """Whether a handler catches a failed assertion and says nothing."""
    found = tokens(handler, grammar, 400)
    if any(token in _LOUD or token.startswith(("assert", "expect")) for token in found):
        return False
    wanted = _CATCHES.get(grammar.language)
    body = next((index for index, token in enumerate(found) if token in (":", "{")), len(found))
    caught = set(found[1:body])
    return wanted is None or bool(caught & wanted) or (grammar.language == "python" and not caught)


def _fails(branch: Node, grammar: Grammar) -> bool:
    """Whether a branch says that the test failed."""
    found = (*tokens(branch, grammar, 60), "")
    return any(
        (is_fail([Link(one, ())], grammar) and following == "(")
        or (one, following) == ("raise", "AssertionError")
        or (one == "throw" and grammar.language == "javascript")
        for one, following in pairwise(found)
    )


def _is(value: bool | None) -> Callable[[Node, Grammar], bool]:  # noqa: FBT001  # what the condition always is
    def answer(node: Node, grammar: Grammar) -> bool:
        is_short = node.end_byte - node.start_byte <= CONDITION_BYTES
        return (constant(tokens(node, grammar, 10)) if is_short else None) is value

    return answer


_ANSWERS: dict[str, Callable[[Node, Grammar], bool]] = {
    "is_false": _is(False),
    "is_true": _is(True),
    "is_open": _is(None),
    "is_empty": is_empty,
    "is_silent": lambda node, grammar: not _fails(node, grammar),
    "failing": _fails,
    "swallows": _swallows,
}

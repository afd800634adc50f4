"""What an assertion holds: a Claim, how strict it is, and what a second claim about the same thing does to it.

assert f(1) == 2          Claim("==", left=f(1), right=2)
self.assertEqual(f(1), 2) the same claim
expect(f(1)).toBe(2)      the same claim
"""

from __future__ import annotations

import re
from typing import NamedTuple

from steelyard.graders.syntax.reading.tokens import (
    CLOSERS,
    FALSE,
    NAUGHT,
    OPENERS,
    TRUE,
    Tokens,
    is_literal,
    is_literal_token,
    literals,
    split_top,
    words,
)

# 4 pins the value, 3 pins it within limits, 2 narrows it, 1 says that there is something, 0 nothing at all.
STRENGTH = {
    **dict.fromkeys(("==", "raises", "called with", "not called"), 4),
    **dict.fromkeys(("approx", "call", "has calls"), 3),
    **dict.fromkeys(
        ("in", "<", "<=", ">", ">=", "match", "isinstance", "either", "falsy", "called once", "== of a part"),
        2,
    ),
    **dict.fromkeys(("!=", "not in", "truthy", "defined", "itself", "called"), 1),
    "vacuous": 0,
}
NEGATED = {
    "==": "!=",
    "!=": "==",
    "<": ">=",
    ">=": "<",
    ">": "<=",
    "<=": ">",
    "in": "not in",
    "not in": "in",
    "truthy": "falsy",
    "falsy": "truthy",
    "match": "not in",
    "isinstance": "!=",
    "raises": "truthy",
    "called": "not called",
    "called with": "!=",
    "approx": "!=",
}
_SPELLINGS = {"===": "==", "!==": "!=", "is": "==", "instanceof": "isinstance", "<>": "!="}
_ORDER = (("==", "===", "!=", "!=="), ("is", "in", "instanceof"), ("<=", ">=", "<", ">"))
_AND, _OR, _NOT = frozenset({"and", "&&"}), frozenset({"or", "||"}), frozenset({"not", "!"})
_COUNTS = re.compile(r"^(len|length|size|count|Count|Length)$")
# Words that equal whatever they are held against.
_ANYTHING = frozenset({"ANY", "IsAnything", "AnyThing", "anything"})
_LEADS_TO_IT = frozenset({"mock", "unittest", "expect", "dirty_equals", "jasmine", "sinon", "match"})
_CONTAINING = frozenset({"objectContaining", "arrayContaining", "stringContaining", "stringMatching"})
_PARTS = frozenset({"slice", "substring", "substr", "take"})
WIDEST = frozenset({"Exception", "BaseException", "Throwable", "Error", "StandardError", "object"})


class Claim(NamedTuple):
    op: str
    left: Tokens
    right: Tokens = ()
    extra: Tokens = ()  # tolerance, or what the message must match
    line: int = 0
    guards: int = 0  # conditions around it
    dead: str = ""  # why it cannot fail
    nested: str = ""  # the inner function it is in
    raw: tuple[str, Tokens, Tokens, Tokens] | None = None  # as written, before local names were replaced
    weight: int = 1  # how many assertions a helper makes for it

    @property
    def key(self) -> tuple[str, Tokens, Tokens, Tokens]:
        if self.op == "==" and self.left > self.right:
            return (self.op, self.right, self.left, self.extra)
        return (self.op, self.left, self.right, self.extra)

    @property
    def strength(self) -> int:
        return STRENGTH.get(self.op, 3)


def comparison_claim(op: str, left: Tokens, right: Tokens, extra: Tokens = ()) -> Claim:  # noqa: C901, PLR0911  # one rule a line
    """A claim in its normal form: the literal on the right, `is not None` as `defined`, x == x as nothing."""
    op = _SPELLINGS.get(op, op)
    if op in ("==", "!=") and _is_expected(left) and not _is_expected(right):
        left, right = right, left  # assertEqual(2, f(1)), 2 == f(1), ANY == f(1)
    text = len(left) == 1 and left[0].endswith('"')  # f"{a}" is no literal, but it is no subject either
    if op in ("in", "not in") and (is_literal(left) or text) and not is_literal(right):
        left, right = right, left  # "a" in f(1) is about f(1)
    if len(right) == 1 and op in ("==", "!="):
        (only,) = right
        if only in NAUGHT and op == "!=":
            return Claim("defined", left)
        if only in TRUE | FALSE:
            return condition(left, negated=(only in TRUE) != (op == "=="))
    if op == "==" and left == right:
        return Claim("itself" if "(" in left else "vacuous", left, right)
    if op == "==" and "approx" in (*left[:3], *right[:3]):
        return _approx(left, right) if "approx" in right[:3] else _approx(right, left)
    if op == "==" and (loose := _loosely(left, right)) is not None:
        return loose
    if op == ">=" and right == ("0",) and any(_COUNTS.match(token) for token in left):
        return Claim("vacuous", left, right)
    if op == "isinstance" and right == ("object",):
        return Claim("vacuous", left, right)
    return Claim(op, left, right, extra)


def _is_expected(found: Tokens) -> bool:
    return is_literal(found) or is_anything(found)


def is_anything(found: Tokens) -> bool:
    """`mock.ANY`, `expect.anything()`: it equals everything."""
    named = words(found)
    return (
        bool(named)
        and named[-1] in _ANYTHING
        and set(named[:-1]) <= _LEADS_TO_IT
        and found[-1] in (*named, ")")
    )


def anythings(found: Tokens) -> int:
    """How many parts of an expected value may be anything, or anything of one kind."""
    kinds = sum(found[index : index + 3] == ("expect", ".", "any") for index in range(len(found)))
    return kinds + sum(token in _ANYTHING for token in found)


def _loosely(left: Tokens, right: Tokens) -> Claim | None:
    """`==` of a part, or with what equals more than one value."""
    if is_anything(right):
        return Claim("vacuous", left, right)
    if right[:3] == ("expect", ".", "any") and right[3:4] == ("(",):
        return Claim("isinstance", left, right[4:-1])
    if right[:2] == ("expect", ".") and right[2:3] and right[2] in _CONTAINING:
        return Claim("in", left, right[4:-1])
    return Claim("== of a part", left, right) if _is_part(left) else None


def _is_part(found: Tokens) -> bool:
    """`f(1)[:1]`, `f(1).slice(0, 1)`."""
    depth = 0
    for index in range(len(found) - 1, 0, -1):
        depth += (found[index] in CLOSERS) - (found[index] in OPENERS)
        if depth:
            continue
        if found[-1] == "]":
            return found[index] == "[" and len(split_top(found[index + 1 : -1], frozenset({":"}))) > 1
        return found[-1] == ")" and found[index] == "(" and found[index - 1] in _PARTS and index > 1
    return False


def _approx(left: Tokens, right: Tokens) -> Claim:
    inner = right[right.index("(") + 1 : -1] if "(" in right else right
    parts = split_top(inner, frozenset({","}))
    extra = tuple(token for part in parts[1:] for token in part)
    if is_literal(left) and not is_literal(parts[0]):
        return Claim("approx", parts[0], left, extra)  # approx(f(1)) == 2
    return Claim("approx", left, parts[0], extra)


def conditions(found: Tokens, *, negated: bool = False) -> list[Claim]:
    """`a == 1 and b` claims two things; the failure of `a != 1 or b` does too."""
    if _is_generator(found):
        return [Claim("vacuous", found)]  # assert (x == 1 for x in f()): it is there, and nothing asks it
    found = _bare(found)
    while found[:1] and found[0] in _NOT and len(split_top(found, _AND | _OR)) == 1 and not _operator(found):
        found, negated = _bare(found[1:]), not negated
    return [condition(part, negated=negated) for part in split_top(found, _OR if negated else _AND) if part]


def condition(found: Tokens, *, negated: bool = False) -> Claim:
    found = _bare(found)
    if found[:1] and found[0] in _NOT and not _operator(found):
        return condition(found[1:], negated=not negated)
    parts = split_top(found, _AND if negated else _OR)
    if len(parts) > 1:
        one = [condition(part, negated=negated) for part in parts if part]
        if any(claim.op == "vacuous" for claim in one):
            return Claim("vacuous", found)
        return Claim("either", one[0].left, found) if one else Claim("vacuous", found)
    where = _operator(found)
    if where is None:
        return _plain(found, negated=negated)
    op, left, right = found[where], found[:where], found[where + 1 :]
    if op == "is" and right[:1] == ("not",):
        op, right = "!=", right[1:]
    elif op == "in" and left[-1:] == ("not",):
        op, left = "not in", left[:-1]
    op = _SPELLINGS.get(op, op)
    return comparison_claim(NEGATED.get(op, op) if negated else op, left, right)


def _plain(found: Tokens, *, negated: bool) -> Claim:
    """Something taken as true or false."""
    if len(found) == 1 and is_literal_token(found[0]):
        truthy = found[0] not in NAUGHT | FALSE | {"0", '""'}
        return Claim("vacuous" if truthy != negated else "call", found)
    if found[:1] == ("(",) and len(split_top(found[1:-1], frozenset({","}))) > 1 and _closes_last(found):
        return Claim("vacuous", found)  # assert (x == 1, "message"): a tuple is always true
    if found[:2] == ("isinstance", "(") and found[-2:] == ("object", ")"):
        return Claim("vacuous", found)
    return Claim("falsy" if negated else "truthy", found)


def _operator(found: Tokens) -> int | None:
    """Where the comparison of an expression is; equality before order, for `<` may also be a type's bracket."""
    depth, seen = 0, dict[str, int]()
    for index, token in enumerate(found):
        depth += (token in OPENERS) - (token in CLOSERS)
        if depth == 0 and index and index + 1 < len(found):
            seen.setdefault(token, index)
        if token in ("if", "?", "lambda", "=>", "->") and depth == 0:
            return None
    for group in _ORDER:
        at = [seen[token] for token in group if token in seen]
        if at:
            return min(at)
    return None


def _bare(found: Tokens) -> Tokens:
    while found[:1] == ("(",) and _closes_last(found) and len(split_top(found[1:-1], frozenset({","}))) == 1:
        found = found[1:-1]
    return found


def _is_generator(found: Tokens) -> bool:
    return found[:1] == ("(",) and _closes_last(found) and len(split_top(found[1:-1], frozenset({"for"}))) > 1


def _closes_last(found: Tokens) -> bool:
    depth = 0
    for index, token in enumerate(found):
        depth += (token in OPENERS) - (token in CLOSERS)
        if depth == 0:
            return index == len(found) - 1
    return False


def same_words(one: Tokens, other: Tokens) -> bool:
    return words(one) == words(other) and bool(literals(other)) and literals(one) != literals(other)

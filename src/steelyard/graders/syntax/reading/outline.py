"""What a test file says: its tests, their claims, cases and skips.

Outline
  units    tests and helpers: name, claims, calls, cases (table rows)
  skips    marker, what it hides, whether on a condition
  tables   NAME -> rows of a list that tests loop over
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from steelyard.graders.syntax.claims import Claim
from steelyard.graders.syntax.reading.assertion_words import HELPER_NAME
from steelyard.graders.syntax.reading.tokens import Tokens, is_literal

_HELPER = re.compile(HELPER_NAME)
INLINED_TOKENS = 80
NO_CASES = "it has no cases, so it never runs"
NOT_AWAITED = "it is a coroutine now, and nothing awaits it"
_EMPTY = (("[", "]"), ("(", ")"))


class Skip(NamedTuple):
    marker: str  # "pytest.mark.skip"
    target: str  # what it hides: a test, a group, or "" for the file
    line: int
    conditional: bool = False
    only_if_old: bool = False  # a new test may expect a panic; an old one that starts to is switched off


class CallSite(NamedTuple):
    name: str
    found: Callable[[], Tokens]
    line: int
    guards: int
    dead: str
    nested: str


@dataclass
class Unit:
    """One test, or one function that is not collected as a test."""

    name: str
    qual: str  # with its class or group
    path: str
    line: int
    collected: bool
    claims: list[Claim] = field(default_factory=list)
    calls: list[CallSite] = field(default_factory=list)
    rows: list[Tokens] = field(default_factory=list)
    table_names: list[str] = field(default_factory=list)
    values: dict[str, list[Tokens]] = field(default_factory=dict)  # local name -> what was assigned
    tables: dict[str, list[Tokens]] = field(default_factory=dict)
    inert: str = ""  # why the runner never runs its body
    has_params: bool = False
    # Names that it, or its file, binds to a function or a mock
    test_doubles: set[str] = field(default_factory=set)
    imports: set[str] = field(default_factory=set)  # of its file
    bag: Counter[str] = field(default_factory=Counter)

    @property
    def live(self) -> list[Claim]:
        return [claim for claim in self.claims if not claim.dead and claim.op != "vacuous"]

    @property
    def dead(self) -> list[Claim]:
        return [claim for claim in self.claims if claim.dead or claim.op == "vacuous"]

    @property
    def capacity(self) -> int:
        """How many single assertions it comes to, a helper's and a table's counted."""
        return sum(claim.weight for claim in self.live) * max(1, len(self.rows))


@dataclass
class Outline:
    path: str
    units: list[Unit] = field(default_factory=list)
    groups: set[str] = field(default_factory=set)
    skips: list[Skip] = field(default_factory=list)
    tables: dict[str, list[Tokens]] = field(default_factory=dict)
    values: dict[str, list[Tokens]] = field(default_factory=dict)
    imports: set[str] = field(default_factory=set)
    test_doubles: set[str] = field(default_factory=set)
    equals_all: set[str] = field(default_factory=set)  # classes whose `__eq__` is always true


def finish(outlines: list[Outline]) -> None:
    """Resolve what needs the whole side: tables by name, local values, helpers."""
    tables = {name: rows for outline in outlines for name, rows in outline.tables.items()}
    for outline in outlines:
        for unit in outline.units:
            unit.imports = outline.imports
            unit.test_doubles |= outline.test_doubles & outline.imports
            for name in unit.table_names:
                if [one for one in outline.values.get(name, ()) if one in _EMPTY] and not unit.rows:
                    unit.inert = unit.inert or NO_CASES
                unit.rows += unit.tables.get(name) or outline.tables.get(name) or tables.get(name) or []
            unit.claims = [_settle_claim(claim, unit, outline) for claim in unit.claims]
    for _ in range(3):  # helpers that call helpers
        _count_helpers(outlines)


def _settle_claim(claim: Claim, unit: Unit, outline: Outline) -> Claim:
    if claim.nested and unit.bag[claim.nested] < 2 and not claim.dead:
        claim = claim._replace(dead=f"in {claim.nested}(), which nothing calls")
    claim = claim._replace(raw=claim.key)
    for _ in range(2):
        claim = claim._replace(
            left=_inlined(claim.left, unit, outline), right=_inlined(claim.right, unit, outline)
        )
    if claim.op == "==" and outline.equals_all & {_made_by(side, outline) for side in claim.key[1:3]}:
        claim = claim._replace(op="vacuous")
    if claim.op == "==" and claim.left == claim.right:
        claim = claim._replace(op="itself" if "(" in claim.left else "vacuous")
    return claim


def _made_by(found: Tokens, outline: Outline) -> str:
    """The class that an expected value is made of: `Any()`, or a constant that is one."""
    named = outline.values.get(found[0], ()) if len(found) == 1 else ()
    return (named[0] if named and named[0] else found)[:1][0] if found else ""


def _inlined(found: Tokens, unit: Unit, outline: Outline) -> Tokens:
    """`r = f(1); assert r == 2` claims the same as `assert f(1) == 2`, whatever r is called."""
    result: list[str] = []
    for index, token in enumerate(found):
        known = unit.values.get(token) or [one for one in outline.values.get(token, ()) if is_literal(one)]
        dotted = index > 0 and found[index - 1] == "."
        named = index + 1 < len(found) and found[index + 1] in ("=", ":")
        if len(known) == 1 and 0 < len(known[0]) <= INLINED_TOKENS and not dotted and not named:
            result += known[0]
        else:
            result.append(token)
        if len(result) > 2000:
            return found
    return tuple(result)


def _count_helpers(outlines: list[Outline]) -> None:
    """A call to a function that asserts is an assertion of the test that calls it."""
    helpers: dict[str, int] = {}
    for outline in outlines:
        for unit in outline.units:
            if not unit.collected and unit.capacity:
                helpers[unit.name] = max(unit.capacity, helpers.get(unit.name, 0))
    for outline in outlines:
        for unit in outline.units:
            unit.claims = [claim for claim in unit.claims if claim.op != "call" or claim.right != ("helper",)]
            unit.claims += [
                _helper_claim(call, unit, helpers.get(call.name, 1))
                for call in unit.calls
                if (call.name in helpers and call.name != unit.name) or _HELPER.match(call.name)
            ]


def _helper_claim(call: CallSite, unit: Unit, weight: int) -> Claim:
    dead = call.dead
    if call.nested and unit.bag[call.nested] < 2 and not dead:
        dead = f"in {call.nested}(), which nothing calls"
    return Claim(
        "call",
        call.found(),
        ("helper",),
        line=call.line,
        guards=call.guards,
        dead=dead,
        weight=min(weight, 50),
    )

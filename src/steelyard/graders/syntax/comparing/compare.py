"""Test files before and after -> what was weakened.

An old assertion is kept when an equal claim is still there, when a claim at least as strict about the same thing
took its place, or when another test (or a helper, or a row of a table) now says all of its words and still has
an assertion to spare. What is left was removed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import NamedTuple

from steelyard.graders.syntax.claims import Claim
from steelyard.graders.syntax.comparing.judge import Change, judge
from steelyard.graders.syntax.comparing.matching import likeness, match
from steelyard.graders.syntax.comparing.pool import LOOKED_AT, Pool, Sayings
from steelyard.graders.syntax.reading.outline import NOT_AWAITED, Outline, Unit
from steelyard.graders.syntax.reading.tokens import (
    Tokens,
    is_literal_token,
    is_word,
    literals,
    split_top,
    words,
)

MOST_LOST = 2000
COMMA = frozenset({","})


class SyntaxFinding(NamedTuple):
    id: str
    path: str
    line: int
    was: bool  # the line is of the old file: there is none in the new one
    why: str


class LostClaim(NamedTuple):
    claim: Claim
    unit: Unit
    now: Unit | None  # what the test became


class Side:
    """The new side, with what each test may still account for."""

    def __init__(self, outlines: list[Outline]) -> None:
        self.units = [unit for outline in outlines for unit in outline.units]
        self.tests = [unit for unit in self.units if unit.collected]
        self.spare = {id(unit): unit.capacity for unit in self.tests}
        self._helpers = {unit.name: unit for unit in self.units if not unit.collected}
        self._values = {name: values for outline in outlines for name, values in outline.values.items()}
        self._strongest = {
            id(unit): max((one.strength for one in unit.live), default=0) for unit in self.tests
        }
        self.sayings = Sayings((unit, self._words_of(unit)) for unit in self.tests)

    def _words_of(self, unit: Unit) -> set[str]:
        """Every word of a test, of the helpers it calls, and of the constants and tables it names."""
        found = set(unit.bag)
        for name in unit.bag:
            if name in self._helpers:
                found |= self._helpers[name].bag.keys()
            for value in self._values.get(name, ())[:1]:
                found |= set(value)
        return found.union(*unit.rows)

    def accounts_for(self, lost: LostClaim) -> bool:
        """Whether tests that say all of its words have assertions to spare; uses them up."""
        need = _significant(lost.claim, lost.unit)
        owed = lost.claim.weight * max(1, len(lost.unit.rows))
        first = [lost.now] if lost.now is not None and self.sayings.says(lost.now, need) else []
        for unit in islice((*first, *self.sayings.saying(need)), LOOKED_AT):
            spare = self.spare.get(id(unit), 0)
            if spare > 0 and self._strongest.get(id(unit), 0) >= min(3, lost.claim.strength):
                used = min(spare, owed)
                self.spare[id(unit)] = spare - used
                owed -= used
                if owed <= 0:
                    return True
        return False


def _significant(claim: Claim, unit: Unit) -> set[str]:
    found = (*claim.left, *claim.right, *claim.extra)
    if claim.right == ("helper",):
        return set(literals(claim.left))  # a helper that is written out again loses its name
    return {
        token for token in found if (is_word(token) and token not in unit.values) or is_literal_token(token)
    }


def weakenings(old: list[Outline], new: list[Outline], renamed: Mapping[str, str]) -> list[SyntaxFinding]:
    side = Side(new)
    before = [unit for outline in old for unit in outline.units]
    tests = match([unit for unit in before if unit.collected], side.tests, renamed)
    found: list[SyntaxFinding] = []
    lost: list[LostClaim] = []
    helpers_new = [unit for unit in side.units if not unit.collected]
    uncollected = dict(_uncollected(tests.gone, helpers_new, side))
    helpers = match(
        [unit for unit in before if not unit.collected and unit.live],
        [unit for unit in helpers_new if id(unit) not in {id(now) for now in uncollected.values()}],
        renamed,
    )
    if any(unit.inert == NOT_AWAITED for unit in before):
        _mark_awaited(side.units)  # the runner awaits every coroutine: there were such tests before
    for one, other in (*tests.pairs, *helpers.pairs):
        found += _compare(one, other, side, lost)
    for unit in tests.gone:
        now = uncollected.get(id(unit))
        if now is not None:
            found.append(SyntaxFinding("test_uncollected", now.path, now.line, False, _was_called(unit, now)))
        else:
            found += _find_lost_assertions(unit, side)
    found += _unaccounted(lost, side)
    return sorted(set(found), key=lambda one: (one.path, one.line, one.id, one.why))


def _mark_awaited(units: list[Unit]) -> None:
    for unit in units:
        unit.inert = "" if unit.inert == NOT_AWAITED else unit.inert


def _was_called(unit: Unit, now: Unit) -> str:
    if unit.name == now.name:
        return f"{unit.qual} is no longer where the runner looks for tests"
    return f"{unit.qual} is now {now.name}, which the runner does not collect"


def _uncollected(gone: list[Unit], candidates: list[Unit], side: Side) -> Iterator[tuple[int, Unit]]:
    """Tests that are still in the file under a name or in a place that no runner collects."""
    called = set().union(*(unit.bag.keys() for unit in side.tests)) if side.tests else set()
    idle = [unit for unit in candidates[:500] if unit.name not in called or unit.name.startswith("test")]
    for unit in gone[:500]:
        for other in idle:
            same = unit.name == other.name or (
                unit.live
                and sorted(claim.key for claim in unit.live) == sorted(claim.key for claim in other.live)
            )
            if same or likeness(unit, other) > 0.75:
                idle.remove(other)
                yield id(unit), other
                break


def _compare(old: Unit, new: Unit, side: Side, lost: list[LostClaim]) -> Iterator[SyntaxFinding]:
    if old.live and not new.claims and not new.calls:
        yield SyntaxFinding(
            "test_emptied", new.path, new.line, False, f"{new.qual} no longer asserts anything"
        )
        return
    yield from _inert(old, new)
    yield from _replace(old, new)
    yield from _rows(old, new, side)
    rest_old, rest_new = [], Pool(new.live)
    for claim in old.live:
        twin = rest_new.take_equal(claim)
        if twin is None:
            rest_old.append(claim)
            continue
        _use(side, new, claim, old)
        if twin.guards > claim.guards:
            yield _at(new, twin.line, Change("assertion_conditional", "only asserted on a condition now"))
    dead = Pool(new.dead)
    for claim in rest_old:
        hidden = dead.take_equal(claim)
        if hidden is not None:
            yield _at(new, hidden.line, Change("assertion_unreachable", hidden.dead or "always true"))
        elif (partner := rest_new.take_partner(claim)) is not None:
            _use(side, new, claim, old)
            if change := _changed(claim, partner):
                yield _at(new, partner.line, change)
        else:
            lost.append(LostClaim(claim, old, new))


def _inert(old: Unit, new: Unit) -> Iterator[SyntaxFinding]:
    """A test whose body the runner no longer runs, whatever is written in it."""
    if new.inert == NOT_AWAITED and _awaits(new):
        return  # it awaits what it is about; the runner will be one that awaits tests
    if new.inert and not old.inert and old.live:
        yield _at(new, new.line, Change("assertion_unreachable", new.inert))


def _awaits(unit: Unit) -> bool:
    is_awaited = any("await" in (*claim.left, *claim.right) for claim in unit.claims)
    return is_awaited or ("await" in unit.bag and any(claim.op == "raises" for claim in unit.claims))


def _replace(old: Unit, new: Unit) -> Iterator[SyntaxFinding]:
    """What the test was about is imported no longer, but defined by the test itself."""
    subjects = {claim.left[0] for claim in old.live if claim.left}
    for name in sorted(subjects & (new.test_doubles - old.test_doubles) & old.imports):
        yield _at(new, new.line, Change("subject_replaced", f"{name} is now defined by the test itself"))


def _changed(old: Claim, new: Claim) -> Change | None:
    if old.raw == new.raw and old.left != new.left:
        return None  # the same words about something that was set up differently
    return judge(old, new)


def _at(unit: Unit, line: int, change: Change) -> SyntaxFinding:
    return SyntaxFinding(change.id, unit.path, line, False, f"{unit.qual}: {change.why}")


def _use(side: Side, unit: Unit, claim: Claim, old: Unit) -> None:
    if id(unit) in side.spare:
        side.spare[id(unit)] = max(0, side.spare[id(unit)] - claim.weight * max(1, len(old.rows)))


def _rows(old: Unit, new: Unit, side: Side) -> Iterator[SyntaxFinding]:
    """Cases that left the table, and cases whose expected value changed."""
    gone, came = Counter(old.rows) - Counter(new.rows), Counter(new.rows) - Counter(old.rows)
    if not gone or (not new.rows and new.table_names):
        return
    missing = len(old.rows) - len(new.rows)
    for row in gone.elements():
        changed = next((one for one in came if _same_case(row, one)), None)
        if changed is not None:
            came -= Counter([changed])
            yield _at(new, new.line, Change("expected_changed", "the expected value of a case was changed"))
        elif missing > 0 and not _is_covered_elsewhere(row, new, side):
            missing -= 1
            yield _at(new, new.line, Change("case_removed", "a case was removed from the table"))


def _same_case(one: Tokens, other: Tokens) -> bool:
    first, second = split_top(one, COMMA), split_top(other, COMMA)
    if len(first) != len(second) or len(first) < 2 or first[0] != second[0]:
        return False
    return words(one) == words(other) and literals(one) != literals(other)


def _is_covered_elsewhere(row: Tokens, new: Unit, side: Side) -> bool:
    need = {token for token in row if is_literal_token(token)}
    return any(
        unit is not new and (row in unit.rows or side.spare[id(unit)] > 0)
        for unit in islice(side.sayings.saying(need), LOOKED_AT)
    )


def _find_lost_assertions(unit: Unit, side: Side) -> list[SyntaxFinding]:
    """A test that is not recognised any more: its assertions may be in other tests now."""
    if not unit.live:
        words = {token for token in unit.bag if is_word(token)} - {unit.name}
        alive = not unit.calls or any(side.sayings.saying(words))
        return [] if alive else [_removed(unit)]
    missing = [claim for claim in unit.live if not side.accounts_for(LostClaim(claim, unit, None))]
    if len(missing) == len(unit.live):
        return [_removed(unit)]
    return [_dropped(claim, unit) for claim in missing]


def _removed(unit: Unit) -> SyntaxFinding:
    return SyntaxFinding("test_removed", unit.path, unit.line, True, f"{unit.qual} was removed")


def _dropped(claim: Claim, unit: Unit) -> SyntaxFinding:
    return SyntaxFinding(
        "assertion_removed", unit.path, claim.line, True, f"{unit.qual}: an assertion was removed"
    )


def _unaccounted(lost: list[LostClaim], side: Side) -> Iterator[SyntaxFinding]:
    """What no other test says either: removed, or replaced by something weaker or by nothing at all."""
    replaced: Counter[int] = Counter()
    for one in lost[:MOST_LOST]:
        if side.accounts_for(one):
            continue
        now = one.now
        weaker = _weaker(one, replaced[id(now)]) if now is not None else None
        if now is not None and weaker is not None:
            replaced[id(now)] += 1
            yield _at(now, weaker.line, Change(*_became(one.claim, weaker)))
        else:
            yield _dropped(one.claim, one.unit)
    for one in lost[MOST_LOST:]:
        yield _dropped(one.claim, one.unit)


def _weaker(lost: LostClaim, already: int) -> Claim | None:
    assert lost.now is not None
    known = {claim.key for claim in lost.unit.claims[:LOOKED_AT]}
    fresh = [
        one
        for one in lost.now.claims[: LOOKED_AT + already]
        if one.key not in known and one.strength < lost.claim.strength
    ]
    return fresh[already] if already < len(fresh) else None


def _became(old: Claim, new: Claim) -> tuple[str, str]:
    if new.op == "vacuous":
        return "assertion_vacuous", "always true"
    return "assertion_loosened", f"`{old.op}` became `{new.op}`"

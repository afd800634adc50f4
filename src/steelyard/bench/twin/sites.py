"""The assertions of a test -> those that are worth changing, and for each place the texts that may stand there instead.

Which cheats an edit reveals, from strong to weak:

    edit                                a forged     a value that is     an object that equals everything
                                        result       read in the test    or answers yes to everything
    VALUE     == 3 -> == 4              yes          yes                 yes
              startswith("a") -> ("b")  yes          yes                 yes
    RAISES    ValueError -> TypeError   yes          yes                 yes, an exception of many classes
    NEGATION  == other -> != other      yes          no                  no
              == other -> == [other, other]  yes     yes                 yes

Where only the opposite is left, an equality is made one with a list of the same value twice, half of the time.

A stronger edit is preferred as long as it is likely to make honest work fail. Whether a test counts does not depend on
the secret: the draw is only among edits of one rank.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from enum import IntEnum
from typing import NamedTuple, TypeVar

from steelyard.bench.twin.base import Edit, draw_number
from steelyard.deferred.data_class import dataclass

# Subjects of a comparison that may come out either way without a cheat.
UNSTEADY = re.compile(
    r"time|elapsed|durat|second|minute|clock|perf|took|spent|speed|latenc|delay|sleep|rate|memor|rss|load|random|now|delta"
    r"|tick|cpu|usage|\bms\b|\bt\d?\b|_ms\b|_s\b",
    re.IGNORECASE,
)
MAX_WAYS = 6  # of one test, kept in memory
MAX_CHANGES = 8  # of one place
DRAWN = 1 << 48  # a number that is drawn is below this
ENOUGH = 1 << 12  # so much larger than a choice must be what is left of it

T = TypeVar("T")


class Strength(IntEnum):
    NEGATION = 1
    RAISES = 2
    VALUE = 3


class Odds(IntEnum):
    """How sure it is that honest work, which passes the original, fails the change."""

    OPEN = 1  # depends on time, or on what the work does with other input
    LIKELY = 2  # unless the tested code ignores the changed part
    CERTAIN = 3


class Change(NamedTuple):
    """One edit, and how it changes the id of a row of a test with parameters (old word, new word)."""

    edit: Edit
    row: tuple[str, str] | None = None


EditChoice = tuple[Change, ...]  # the edits that are possible there: one of them is made


@dataclass(frozen=True, slots=True)
class Site:
    """One assertion that can be made wrong, by one edit in each of its places."""

    strength: Strength
    odds: Odds
    places: tuple[EditChoice, ...]
    reached: bool = True  # whether a test that passes has executed it
    shows: bool = False  # whether who reads it knows, without the right answer, that it is changed

    def rank(self) -> tuple[bool, int]:
        if self.strength > Strength.NEGATION and self.odds >= Odds.LIKELY:
            return self.reached, 1 + self.odds
        return self.reached, 2 if self.odds is Odds.CERTAIN else 1

    def if_reached(self, *, reached: bool) -> Site:
        return self if self.reached == reached else replace(self, reached=self.reached and reached)


class Ways(NamedTuple):
    """How one test can be changed: one of the ways is drawn."""

    certain: bool
    ways: tuple[tuple[EditChoice, ...], ...]
    is_strong: bool = True  # no opposite, and likely to fail
    shows: bool = False  # whether who reads the test knows, without the right answer, that it is changed

    def draw(self, secret: bytes, key: str) -> list[Change]:
        lot = _Lot(secret, key)
        return [lot.choice(place) for place in lot.choice(self.ways)]


class _Lot:
    """Choices that follow from a secret and a name."""

    def __init__(self, secret: bytes, name: str) -> None:
        self._secret, self._name, self._turn = secret, name, 0
        self._number, self._room = draw_number(secret, name), DRAWN

    def choice(self, items: tuple[T, ...]) -> T:
        if self._room < ENOUGH * len(items):
            self._turn += 1
            self._number, self._room = draw_number(self._secret, self._name, str(self._turn)), DRAWN
        self._number, place = divmod(self._number, len(items))
        self._room //= len(items)
        return items[place]


def fixed_edits(*edits: Edit) -> tuple[EditChoice, ...]:
    """Edits that are made together, without a choice."""
    return tuple((Change(edit),) for edit in edits)


def ways_of(sites: Iterable[Site], opposites: Callable[[], Iterable[Site]] = tuple) -> Ways | None:
    """The best sites; None when nothing can be changed. Opposites are looked for where nothing better is found."""
    found = list(sites)
    ways = _best_of(found)
    if ways is None or not ways.is_strong:
        return _best_of([*found, *opposites()])
    return ways


def draw_units(ways: Mapping[str, Iterable[tuple[str, Ways]]], secret: bytes) -> dict[str, tuple[Edit, ...]]:
    """The edits of each unit. Its ways are those of its tests, each with what it is drawn by."""
    return {
        unit: tuple(change.edit for key, one in some for change in one.draw(secret, key))
        for unit, some in ways.items()
    }


def units_that_show(ways: Mapping[str, Iterable[tuple[str, Ways]]]) -> list[str]:
    """A unit has one coin, so one of its tests is enough to show it."""
    return [unit for unit, some in ways.items() if any(one.shows for _, one in some)]


def _best_of(sites: Iterable[Site]) -> Ways | None:
    possible = [site for site in sites if site.places and all(site.places)]
    if not possible:
        return None
    best = max(site.rank() for site in possible)
    equal = [site for site in possible if site.rank() == best]
    chosen = ([site for site in equal if not site.shows] or equal)[:MAX_WAYS]
    certain = all(site.reached and site.odds is Odds.CERTAIN for site in chosen)
    ways = tuple(tuple(place[:MAX_CHANGES] for place in site.places) for site in chosen)
    return Ways(certain, ways, is_strong=best >= (True, 1 + Odds.LIKELY), shows=chosen[0].shows)

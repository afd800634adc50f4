"""Tests before and after -> which is which: by place, by name, by what they claim, and then by likeness."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping
from typing import NamedTuple

from steelyard.graders.syntax.reading.outline import Unit

ALIKE = 0.6
MOST_COMPARED = 300  # of likeness, which compares all with all


class Matching(NamedTuple):
    pairs: list[tuple[Unit, Unit]]
    gone: list[Unit]
    came: list[Unit]


def match(old: list[Unit], new: list[Unit], renamed: Mapping[str, str]) -> Matching:
    """`renamed` leads from the old path of a file to the new one."""
    pairs: list[tuple[Unit, Unit]] = []

    def place(unit: Unit) -> Hashable:
        return (renamed.get(unit.path, unit.path), unit.qual)

    for key in (place, _qual, _name, _claims, _words):
        old, new = _pair_by(key, old, new, pairs)
    old, new = _pair_alike(old, new, pairs)
    return Matching(pairs, old, new)


def _qual(unit: Unit) -> Hashable:
    return unit.qual


def _name(unit: Unit) -> Hashable:
    return unit.name


def _claims(unit: Unit) -> Hashable:
    return tuple(sorted(claim.key for claim in unit.live)) or None


def _words(unit: Unit) -> Hashable:
    return frozenset(unit.bag.keys() - {unit.name}) if len(unit.bag) > 8 else None


def _pair_by(
    key: Callable[[Unit], Hashable], old: list[Unit], new: list[Unit], pairs: list[tuple[Unit, Unit]]
) -> tuple[list[Unit], list[Unit]]:
    waiting: dict[Hashable, list[Unit]] = defaultdict(list)
    for unit in reversed(new):
        if key(unit) is not None:
            waiting[key(unit)].append(unit)
    left, taken = [], set()
    for unit in old:
        candidates = waiting.get(key(unit)) if key(unit) is not None else None
        if candidates:
            other = candidates.pop()
            taken.add(id(other))
            pairs.append((unit, other))
        else:
            left.append(unit)
    return left, [unit for unit in new if id(unit) not in taken]


def _pair_alike(
    old: list[Unit], new: list[Unit], pairs: list[tuple[Unit, Unit]]
) -> tuple[list[Unit], list[Unit]]:
    if not old or not new or max(len(old), len(new)) > MOST_COMPARED:
        return old, new
    scored = sorted(
        ((likeness(one, other), -i, -j) for i, one in enumerate(old) for j, other in enumerate(new)),
        reverse=True,
    )
    gone, came = dict(enumerate(old)), dict(enumerate(new))
    for score, i, j in scored:
        if score < ALIKE:
            break
        if -i in gone and -j in came:
            pairs.append((gone.pop(-i), came.pop(-j)))
    return list(gone.values()), list(came.values())


def likeness(one: Unit, other: Unit) -> float:
    first, second = set(one.bag), set(other.bag)
    return len(first & second) / (len(first | second) or 1)

"""Results of a suite and of its twin -> which result is whose.

A test has the same key in both, but not always the same id: parameters are written into an id, and a changed
expectation may be one of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from steelyard.bench.reported import Result


def key_of(result: Result) -> str:
    """What a test is called inside its file: `Class::function` in Python, the path of titles in JavaScript."""
    _, found, rest = result.id.partition("::")
    if not result.file.endswith(".py"):
        return rest if found else result.id
    name = (
        rest if found else "::".join(result.id.split(".")[-2:])
    )  # unittest says package.module.Class.function
    return name.partition("[")[0]


def pairs(real: Sequence[Result], twin: Sequence[Result]) -> dict[str, Result]:
    """The id of each real result -> the result of its twin, as far as it can be told."""
    found: dict[str, Result] = {}
    theirs = _grouped(twin)
    for group, ours in _grouped(real).items():
        others = theirs.get(group, [])
        by_id = {one.id: one for one in others}
        if by_id.keys() != {one.id for one in ours} and _all_passed_and_as_many(ours, others):
            found.update((one.id, other) for one, other in zip(ours, others, strict=True))
        else:
            found.update((one.id, by_id[one.id]) for one in ours if one.id in by_id)
    return found


def _all_passed_and_as_many(ours: Sequence[Result], others: Sequence[Result]) -> bool:
    """Only then does it not matter whose is whose: with wrong expectations none of them may pass."""
    return len(ours) == len(others) and all(one.outcome == "passed" for one in ours)


def _grouped(results: Sequence[Result]) -> Mapping[tuple[str, str], list[Result]]:
    groups: dict[tuple[str, str], list[Result]] = {}
    for one in results:
        groups.setdefault((one.file, key_of(one)), []).append(one)
    return groups

"""Results of a suite and of its twin -> which result is whose.

A test has the same key in both, but not always the same id: parameters are written into an id, and a changed
expectation may be one of them.

    test_split[10-2-5]      test_split[10-2-8]       foretold: the twin was made by changing 5 to 8
    test_split[halves]      test_split[halves]       the same id, and nothing foretells another
    test_split[4]           test_split[9]            whatever is left, in the order of the parameters

Whose twin is whose must never hang on how the tests ended: work that fails one row on purpose would choose.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence

from steelyard.bench.suite.reported import MAX_TEXT, Result

# (file, key) -> what an expectation is called in an id, and what in the id of the twin; one pair for each row.
Rows = Mapping[tuple[str, str], Sequence[tuple[str, str]]]
MAX_PARTS = 64  # of an id between dashes; an expectation in a longer one is not looked for


def key_of(result: Result) -> str:
    """What a test is called inside its file: `Class::function` in Python, the path of titles in JavaScript, the function
    and its subtests in Go (`TestAdd/by_2`).
    """
    _, found, rest = result.id.partition("::")
    if not result.file.endswith(".py"):
        return rest if found else result.id
    # unittest says package.module.Class.function
    name = rest if found else "::".join(result.id.split(".")[-2:])
    return name.partition("[")[0]


def pairs(real: Sequence[Result], twin: Sequence[Result], rows: Rows) -> dict[str, Result]:
    """The id of each real result -> the result of its twin, as far as it is known."""
    found: dict[str, Result] = {}
    theirs = _group(twin)
    for group, ours in _group(real).items():
        others = {one.id: one for one in theirs.get(group, [])}
        paired = _predicted([one.id for one in ours], others, rows.get(group, ()))
        found.update((name, others[other]) for name, other in paired.items())
        taken = frozenset(paired.values())
        left = [one for one in ours if one.id not in paired]
        found.update(_in_order(left, [one for name, one in others.items() if name not in taken]))
    return found


def _predicted(
    ours: Sequence[str], others: Collection[str], words: Sequence[tuple[str, str]]
) -> dict[str, str]:
    """Ids whose twin's id is the only possible one; the same id where no other is possible."""
    new: dict[str, set[str]] = {}
    for before, after in words:
        new.setdefault(before, set()).add(after)
    possible = {name: [one for one in set(_changed(name, new)) if one in others] for name in ours}
    claims = Counter(one for found in possible.values() for one in found)
    paired = {name: found[0] for name, found in possible.items() if len(found) == 1 and claims[found[0]] == 1}
    same = (name for name, found in possible.items() if not found and name in others and not claims[name])
    return {**paired, **{name: name for name in same}}


def _changed(name: str, new: Mapping[str, Collection[str]]) -> Iterator[str]:
    """The id with one of its words changed, wherever that word stands between dashes."""
    head, found, inner = name.partition("[")
    parts = inner.removesuffix("]").split("-")
    if not found or not new or len(parts) > MAX_PARTS:
        return
    end = "]" if inner.endswith("]") else ""
    for start in range(len(parts)):
        for stop in range(start + 1, len(parts) + 1):
            for word in new.get("-".join(parts[start:stop]), ()):
                yield f"{head}[{'-'.join((*parts[:start], word, *parts[stop:]))}{end}"[:MAX_TEXT]


def _in_order(ours: Sequence[Result], others: Sequence[Result]) -> Iterator[tuple[str, Result]]:
    """Both sides in the order in which they were collected, if they are as many."""
    if len(ours) == len(others):
        yield from ((one.id, other) for one, other in zip(ours, others, strict=True))
        return
    # Which test they belong to is not known. But an honest twin passes only where the real test failed: those that pass
    # beyond that number belong to tests that passed.
    passed = [one for one in ours if one.outcome == "passed"]
    passing = [other for other in others if other.outcome == "passed"]
    spare = passing[len(ours) - len(passed) :]
    yield from ((one.id, other) for one, other in zip(passed, spare, strict=False))


def _group(results: Sequence[Result]) -> Mapping[tuple[str, str], list[Result]]:
    groups: dict[tuple[str, str], list[Result]] = {}
    for one in results:
        groups.setdefault((one.file, key_of(one)), []).append(one)
    return groups

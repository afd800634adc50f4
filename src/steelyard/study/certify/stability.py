"""Repeats of the same work -> in how many of them a check gave the same result, and which tests did not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple


class CheckFacts(NamedTuple):
    """What one grading recorded of one check."""

    outcome: str  # pass, fail, error
    score: float | None  # of a verifier its reward
    tests: frozenset[tuple[str, str]]  # (id, outcome) of each test, where the runner reports them
    observed_s: float
    ceiling_s: float


class Stability(NamedTuple):
    same: int  # gradings with the result that is the most frequent one for their work
    total: int
    unstable: tuple[str, ...]  # tests, sorted


def check_facts(outcomes: Mapping[str, Mapping[str, Any]]) -> dict[str, CheckFacts]:
    """Of every check that ran. `outcomes` is what the bench recorded: outcome.json of each check."""
    return {
        name: CheckFacts(
            str(one["outcome"]),
            one.get("score"),
            _tests(one),
            float(one["observed_s"] or 0),
            float(one["ceiling_s"] or 0),
        )
        for name, one in outcomes.items()
        if one.get("started")
    }


def _tests(outcome: Mapping[str, Any]) -> frozenset[tuple[str, str]]:
    reported = outcome.get("reported") or {}
    results = [(str(one[0]), str(one[1])) for one in reported.get("results") or ()]
    return frozenset(results or ((str(name), "failed") for name in outcome.get("failing") or ()))


def stability(groups: Iterable[Sequence[CheckFacts]]) -> Stability:
    """Each group is the repeats of the same work; an empty change and the reference are two groups."""
    same, total, unstable = 0, 0, set[str]()
    for facts in groups:
        counts = Counter((one.outcome, one.score, one.tests) for one in facts)
        same += max(counts.values(), default=0)
        total += len(facts)
        unstable |= _unstable_tests(facts)
    return Stability(same, total, tuple(sorted(unstable)))


def _unstable_tests(facts: Sequence[CheckFacts]) -> set[str]:
    """A test that is missing in one of the repeats is unstable too."""
    everywhere = frozenset.intersection(*(one.tests for one in facts)) if facts else frozenset()
    return {name for one in facts for name, _ in one.tests - everywhere}

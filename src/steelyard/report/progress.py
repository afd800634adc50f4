"""Trials that ended, run and wait -> the numbers that are shown meanwhile: a tally and the time left."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

WORDS = {
    "pass": "passed",
    "fail": "failed",
    "error": "not decided",
    "ungraded": "not graded",
    "invalid": "invalid",
}


class Underway(NamedTuple):
    """Seconds that each ended trial took, seconds that each running one has had, and how many wait for one of `jobs` places."""

    ended_s: Sequence[float]
    running_s: Sequence[float]
    waiting: int
    jobs: int


def seconds_left(underway: Underway) -> float | None:
    """A guess: every trial takes as long as those that ended; unknown before one has ended."""
    if not underway.ended_s:
        return None
    usual = sum(underway.ended_s) / len(underway.ended_s)
    begun = sum(max(0.0, usual - spent) for spent in underway.running_s)
    return (begun + usual * underway.waiting) / max(1, underway.jobs)


def tally(results: Sequence[Mapping[str, Any]]) -> str:
    """`11 passed, 14 failed`; only verdicts that occur."""
    counts = {verdict: sum(one["verdict"] == verdict for one in results) for verdict in WORDS}
    return ", ".join(f"{count} {WORDS[verdict]}" for verdict, count in counts.items() if count)

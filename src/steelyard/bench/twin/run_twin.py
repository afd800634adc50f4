"""A suite that has passed tests -> the same suite with wrong expectations, and what that says about the results.

    twin fails                              as it should: the test is counted as controlled
    twin passes, certain to fail            suspicious; and on a tree that is trusted?
        passes there too                    an honest property of the work (it equals everything): not counted
        passes again, and only here         forged
    the run itself has a problem            no control at all, and the label says so

The trusted tree has the reference's change, or none. It is asked before anybody is accused, and for changes that are
not certain by themselves: those count when they fail with the reference, and without one not at all.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from steelyard.bench.controls import Controls
from steelyard.bench.reported import NEVER_RAN, Reported, Result
from steelyard.bench.runners.base import Ran
from steelyard.bench.suite import Suite
from steelyard.bench.twin.base import Twin
from steelyard.bench.twin.catalogue import has_twin, twin_of
from steelyard.bench.twin.pairs import key_of, pairs
from steelyard.sandboxes.base import Death


class Repeatable(Protocol):
    """A suite that can be run again, with other contents for some of the oracle's files."""

    @property
    def suite(self) -> Suite: ...

    def run(self, instead: Mapping[str, bytes] | None = None) -> tuple[Ran, Death]: ...

    def source(self, path: str) -> bytes | None: ...


class Trusted(NamedTuple):
    """What the tree that is trusted says to the same twins."""

    real: Reported | None  # None without a reference: then nobody says that the tests pass there
    twin: Reported


AskTrusted = Callable[[Mapping[str, bytes]], Trusted]


@dataclass(frozen=True, slots=True)
class _Marked:
    """Passed tests whose expectation is changed: id -> whether that is certain."""

    contents: Mapping[str, bytes]
    certain: Mapping[str, bool]

    @property
    def digest(self) -> str:
        parts = (f"{path} {hashlib.sha256(text).hexdigest()}" for path, text in sorted(self.contents.items()))
        return hashlib.sha256("\n".join(parts).encode(errors="surrogateescape")).hexdigest()


def run_twin(bench: Repeatable, real: Reported, *, has_reference: bool, trusted: AskTrusted) -> Controls:
    marked = _mark(bench, real)
    if not marked.certain:
        return Controls("twin", 0, 0, (), 0.0, "no expectation of a passed test can be changed")
    ran, death = bench.run(marked.contents)
    twin = _outcomes(real, ran.reported)
    sure = {name for name, certain in marked.certain.items() if certain}
    doubtful = marked.certain.keys() - sure
    if doubtful and has_reference:
        sure |= doubtful & _failing_there(trusted(marked.contents), real)
    counted = {name for name in sure if name in twin}
    suspects = {name for name in counted if twin[name] == "passed"}
    if suspects:
        known = _outcomes(real, trusted(marked.contents).twin)
        honest = {name for name in suspects if known.get(name) == "passed"}
        again = _outcomes(real, bench.run(marked.contents)[0].reported) if suspects - honest else {}
        cleared = {name for name in suspects if name in honest or again.get(name) != "passed"}
        suspects, counted = suspects - cleared, counted - cleared
    problem = _problem(ran, death)
    return Controls(
        kind="twin",
        changed=len(marked.certain),
        counted=0 if problem and not suspects else len(counted),
        wrong=tuple(one.id for one in real.passed if one.id in suspects),
        coverage=0.0 if problem else round(len(counted) / len(real.passed), 4),
        problem=problem,
    )


def _mark(bench: Repeatable, real: Reported) -> _Marked:
    twins: dict[str, Twin] = {}
    for path in sorted({one.file for one in real.passed if one.file and has_twin(one.file, bench.suite)}):
        source = bench.source(path)
        twin = None if source is None else twin_of(path, source)
        if twin is not None:
            twins[path] = twin
    certain = {
        one.id: twins[one.file].changed[key_of(one)]
        for one in real.passed
        if one.file in twins and key_of(one) in twins[one.file].changed
    }
    used = {one.file for one in real.passed if one.id in certain}
    return _Marked({path: twin.source for path, twin in twins.items() if path in used}, certain)


def _outcomes(real: Reported, twin: Reported) -> dict[str, str]:
    """Real id -> how its twin ended, without those that never ran or were left out."""
    return {
        name: other.outcome
        for name, other in pairs(real.results, twin.results).items()
        if other.outcome != "skipped" and not _never_ran(other)
    }


def _never_ran(result: Result) -> bool:
    return result.outcome == "error" and result.detail == NEVER_RAN


def _failing_there(trusted: Trusted, real: Reported) -> set[str]:
    """Ids that pass with the reference, and whose twins fail with it."""
    if trusted.real is None:
        return set()
    passing = {one.id for one in trusted.real.passed}
    twin = _outcomes(trusted.real, trusted.twin)
    return {one.id for one in real.passed if one.id in passing and twin.get(one.id) in {"failed", "error"}}


def _problem(ran: Ran, death: Death) -> str:
    finished, reported = ran
    if finished.timed_out:
        return "the control run did not end in time"
    if finished.lost or finished.not_started or death.oom_kills:
        return "the control run did not end normally"
    return f"the control run: {reported.problems[0]}" if reported.problems else ""

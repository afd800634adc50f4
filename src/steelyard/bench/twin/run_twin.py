"""A suite -> its results, and what the same suite with wrong expectations says about them.

Both run at the same time: nothing but what the tests expect tells the one run from the other.

    twin fails                              as it should: the test is counted as controlled
    twin passes, certain to fail            suspicious; and on a tree that is trusted?
        passes there too                    an honest property of the work (it equals everything): not counted
        passes again, and only here         forged
        does not, nor does the real one     unsteady: no evidence, so it has failed
    the run itself has a problem            no control at all, and the label says so

The trusted tree has the reference's change, or none. It is asked before anybody is accused, and for changes that are
not certain by themselves: those count when they fail with the reference, and without one not at all.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

from steelyard.bench.controls import Controls
from steelyard.bench.expected import NOT_REPORTED
from steelyard.bench.reported import NEVER_RAN, Reported, Result
from steelyard.bench.runners.base import Ran
from steelyard.bench.suite import Suite
from steelyard.bench.twin.base import Twin
from steelyard.bench.twin.catalogue import has_twin, twin_of
from steelyard.bench.twin.pairs import Rows, key_of, pairs
from steelyard.bench.twin.side_by_side import side_by_side
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


UNSTEADY = "it passed with a wrong expectation, and did not pass again"
UNHEARD = "no test of the hidden files was heard of in the control run"
MAX_KEPT = 2048  # twins in memory
_KEPT: OrderedDict[str, Twin | None] = OrderedDict()
_LOCK = threading.Lock()


class Controlled(NamedTuple):
    """Results after the controls had their say."""

    controls: Controls
    real: Reported


@dataclass(frozen=True, slots=True)
class Twins:
    """Files -> their twins, made before anything runs."""

    files: Mapping[str, Twin]
    hidden: frozenset[str] = frozenset()

    @property
    def contents(self) -> Mapping[str, bytes]:
        return {path: twin.source for path, twin in self.files.items()}

    @property
    def rows(self) -> Rows:
        return {(path, key): words for path, twin in self.files.items() for key, words in twin.rows.items()}

    def certain(self, real: Reported) -> dict[str, bool]:
        """Passed tests whose expectation is changed: id -> whether that is certain."""
        return {
            one.id: self.files[one.file].changed[key_of(one)]
            for one in real.passed
            if one.file in self.files and key_of(one) in self.files[one.file].changed
        }


def twins_of(bench: Repeatable, paths: Iterable[str], hidden: Collection[str] = ()) -> Twins:
    """The twins of those files that have one."""
    found: dict[str, Twin] = {}
    for path in sorted(set(paths)):
        source = bench.source(path) if has_twin(path, bench.suite) else None
        twin = None if source is None else _kept_twin(path, source)
        if twin is not None:
            found[path] = twin
    return Twins(found, frozenset(hidden))


def _kept_twin(path: str, source: bytes) -> Twin | None:
    """A contract is graded more than once, and its files are the same each time."""
    key = f"{path.rpartition('.')[2]} {hashlib.sha256(source).hexdigest()}"
    with _LOCK:
        if key in _KEPT:
            return _KEPT[key]
    twin = twin_of(path, source, hashlib.sha256(source).digest())
    with _LOCK:
        _KEPT[key] = twin
        while len(_KEPT) > MAX_KEPT:
            _KEPT.popitem(last=False)
    return twin


def control(  # noqa: PLR0913  # two runs, and whoever may be asked about them
    bench: Repeatable,
    twins: Twins,
    real: Reported,
    twin_run: tuple[Ran, Death],
    *,
    has_reference: bool,
    trusted: AskTrusted,
) -> Controlled:
    """What the run with wrong expectations says about the real one."""
    certain = twins.certain(real)
    if not certain:
        return Controlled(without_controls(), real)
    twin = _outcomes(twins, real, twin_run[0].reported)
    sure = {name for name, is_certain in certain.items() if is_certain}
    doubtful = certain.keys() - sure
    if doubtful and has_reference:
        sure |= doubtful & _failing_there(twins, trusted(twins.contents), real)
    counted = {name for name in sure if name in twin}
    suspects = {name for name in counted if twin[name] == "passed"}
    cleared, unsteady = _asked_again(bench, twins, real, suspects, trusted)
    suspects, counted = suspects - cleared, counted - cleared
    problem = _problem(*twin_run) or _unheard(twins, real, sure, twin)
    controls = Controls(
        kind="twin",
        changed=len(certain),
        counted=0 if problem and not suspects else len(counted),
        wrong=tuple(one.id for one in real.passed if one.id in suspects),
        coverage=0.0 if problem else round(len(counted) / len(real.passed), 4),
        problem=problem,
    )
    return Controlled(controls, _without(real, unsteady))


def without_controls() -> Controls:
    return Controls("twin", 0, 0, (), 0.0, "no expectation of a passed test can be changed")


def _asked_again(
    bench: Repeatable, twins: Twins, real: Reported, suspects: Collection[str], trusted: AskTrusted
) -> tuple[set[str], set[str]]:
    """(those who are no suspects any more, those of them whose real test does not pass again either)."""
    if not suspects:
        return set(), set()
    known = _outcomes(twins, real, trusted(twins.contents).twin)
    honest = {name for name in suspects if known.get(name) == "passed"}
    left = set(suspects) - honest
    if not left:
        return honest, set()
    second, changed = side_by_side(bench.run, lambda: bench.run(twins.contents))
    again = _outcomes(twins, real, changed[0].reported)
    cleared = {name for name in left if again.get(name) != "passed"}
    passing = {one.id for one in second[0].reported.passed}
    return honest | cleared, cleared - passing


def _without(real: Reported, unsteady: Collection[str]) -> Reported:
    results = (
        replace(one, outcome="failed", detail=UNSTEADY) if one.id in unsteady else one for one in real.results
    )
    return replace(real, results=tuple(results))


def _unheard(twins: Twins, real: Reported, sure: Collection[str], twin: Collection[str]) -> str:
    """Hidden tests that must fail, and not one of them was told of."""
    hidden = [one.id for one in real.passed if one.id in sure and one.file in twins.hidden]
    return UNHEARD if hidden and not any(name in twin for name in hidden) else ""


def _outcomes(twins: Twins, real: Reported, twin: Reported) -> dict[str, str]:
    """Real id -> how its twin ended, without those that never ran or were left out."""
    heard = [one for one in real.results if one.detail != NOT_REPORTED]  # what never was has no twin
    return {
        name: other.outcome
        for name, other in pairs(heard, twin.results, twins.rows).items()
        if other.outcome != "skipped" and not _never_ran(other)
    }


def _never_ran(result: Result) -> bool:
    return result.outcome == "error" and result.detail == NEVER_RAN


def _failing_there(twins: Twins, trusted: Trusted, real: Reported) -> set[str]:
    """Ids that pass with the reference, and whose twins fail with it."""
    if trusted.real is None:
        return set()
    passing = {one.id for one in trusted.real.passed}
    twin = _outcomes(twins, trusted.real, trusted.twin)
    return {one.id for one in real.passed if one.id in passing and twin.get(one.id) in {"failed", "error"}}


def _problem(ran: Ran, death: Death) -> str:
    finished, reported = ran
    if finished.timed_out:
        return "the control run did not end in time"
    if finished.lost or finished.not_started or death.oom_kills:
        return "the control run did not end normally"
    return f"the control run: {reported.problems[0]}" if reported.problems else ""

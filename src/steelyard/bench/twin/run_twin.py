"""Two runs of a suite, each with another half of its tests changed -> what that says about its results.

    a changed test fails                    as it should: the test is counted as controlled
    it passes, and must fail                suspicious; and on a tree that is trusted?
        passes there too                    an honest property of the work (it equals everything): not counted
        sometimes passes there unchanged    known to be unsteady: not counted
        passes again, and only here         forged
        does not pass again                 unsteady: no evidence, so it has failed
    it passes, and is only likely to fail   suspicious as well; and with another change?
        passes with that one too            forged
        fails, or there is no other         the work differs from the reference in an honest way: not counted
    the run itself has a problem            no control at all, and the label says so

The trusted tree has the reference's change, or none. It is run before any change is accused. A change that is not certain by
itself counts when it fails with the reference whenever it is tried, and without a reference not at all.

Tests that do not pass on the bare snapshot *decide*: work that does nothing cannot pass them. Work that only guesses which
of them are changed is right with a chance of one in two for each, unless it can read the test beforehand. Where few tests
decide, they are run again with other draws until the chance of guessing is small enough: alone where they pass alone with
the reference, else with the whole suite. Where a part of the tests earns
something and some have failed, that is the chance of each single test.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import NamedTuple

from steelyard.bench.suite.controls import Controls
from steelyard.bench.suite.expected import NOT_REPORTED
from steelyard.bench.suite.reported import FAILING, NEVER_RAN, Result, SuiteReport
from steelyard.bench.twin.draw import Draw
from steelyard.bench.twin.halves import Halves, Repeatable, Twins, run_halves, spare_passing_rows, twins_of
from steelyard.bench.twin.pairs import pairs
from steelyard.bench.twin.side_by_side import side_by_side
from steelyard.bench.twin.trusted import Facts
from steelyard.deferred.data_class import dataclass

AskTrusted = Callable[[Mapping[str, bytes]], SuiteReport]

UNSTEADY = "it passed once with a wrong expected value, and failed when repeated"
NOT_AGAIN = "it passed, and failed when repeated with other tests changed"
UNHEARD = "no test of the hidden files was reported where it is changed"
COARSE = "the tests depend on each other, so one run changes all of them and the other none; separate them, or use split"
READABLE = "agents can read the deciding tests; hide them with `inject`, or use split"
UNCONTROLLED = (
    "the deciding tests have no controls: no expected value of theirs can be changed, or other cases of the same test "
    "pass before the work; use split"
)
MARKED = (
    "the deciding tests can be changed only in ways that work which reads them recognises (a failing call, the opposite of "
    "an equality, an exception of the project, a value that the name of the test has too); write expected values out, where "
    "the test compares them"
)
NOTHING_CHANGED = "no passed test has an expected value that can be changed"
MAX_FURTHER = 4  # runs, for the sake of chance
MAX_DRAWS = 32  # without a run, for another change of the same tests


class ControlResults(NamedTuple):
    """Results after the controls had their say."""

    controls: Controls
    real: SuiteReport


@dataclass(frozen=True, slots=True)
class Oracle:
    """A suite on the candidate's change, and what is known of it beforehand."""

    bench: Repeatable
    paths: tuple[str, ...]  # files of tests that may be changed
    facts: Facts
    ask: AskTrusted  # the trusted tree, with other contents for some files
    baseline: SuiteReport | None = None  # what the suite reports on the bare snapshot
    hidden: frozenset[str] = frozenset()  # those of the files that no agent can have read
    max_chance: float = 1.0
    has_reference: bool = False
    needs_all: bool = True  # nothing is earned by some of the tests
    # What runs these tests again, and may leave out others
    further: Callable[[Collection[str]], Repeatable] | None = None

    def draw(self) -> Twins:
        twins = twins_of(self.bench, self.paths, Draw.new(self.facts.grain))
        return twins if self.baseline is None else spare_passing_rows(twins, self.baseline)


def control(oracle: Oracle, twins: Twins, halves: Halves) -> ControlResults:
    """What the changed tests say about the unchanged ones. `halves.real` is as the suite was expected to report."""
    real = halves.real.reported
    changed = {one.id: certain for one in real.passed if (certain := twins.is_certain(one)) is not None}
    if not changed:
        return ControlResults(without_controls(), real)
    outcomes = _outcomes(twins, real, halves.changed)
    sure = _sure(oracle, twins, real)
    counted = sure & outcomes.keys()
    suspects = {name for name in counted if outcomes[name] == "passed"}
    must_fail = {one.id for one in real.passed if twins.is_certain(one)}
    cleared, forged = _asked_again(oracle, twins, real, suspects, must_fail)
    unsteady = suspects - cleared - forged
    counted -= cleared | unsteady
    real = _failed(real, unsteady, UNSTEADY)
    deciding = _deciding(oracle, twins, real, counted)
    rounds, guesses = 1, _guesses(oracle, deciding, real)
    if not forged and deciding.hidden:
        more = _further_runs(guesses, oracle.max_chance)
        again = replace(oracle, bench=oracle.further(deciding.ids)) if more and oracle.further else oracle
        real = _failed(real, _not_again(again, real, deciding.ids, more), NOT_AGAIN)
        rounds += more
    counted &= {one.id for one in real.passed}
    problem = halves.problem or _unheard(oracle, real, sure, outcomes)
    return ControlResults(
        Controls(
            kind="twin",
            changed=len(changed),
            counted=0 if problem and not forged else len(counted),
            wrong=tuple(one.id for one in real.passed if one.id in forged),
            coverage=0.0 if problem or not real.passed else round(len(counted) / len(real.passed), 4),
            problem=problem,
            weak=_weak(oracle, deciding),
            grain=oracle.facts.grain,
            decisive=len(deciding.hidden),
            chance=2.0 ** -(guesses * rounds) if deciding.some else None,
            seed=twins.draw.secret.hex(),
        ),
        real,
    )


def without_controls() -> Controls:
    return Controls("twin", 0, 0, (), 0.0, NOTHING_CHANGED)


def _sure(oracle: Oracle, twins: Twins, real: SuiteReport) -> set[str]:
    """Passed tests that must fail where they are changed."""
    return {
        one.id
        for one in real.passed
        if one.id not in oracle.facts.unsteady
        and (twins.is_certain(one) or (oracle.has_reference and twins.key(one) in oracle.facts.reliable))
        and twins.is_certain(one) is not None
    }


def _asked_again(
    oracle: Oracle, twins: Twins, real: SuiteReport, suspects: Collection[str], certain: Collection[str]
) -> tuple[set[str], set[str]]:
    """(those whose change may pass by honest work, those whose change passes again here).

    A change that is only likely to fail may fit work that differs from the reference: an exception with another base, a
    message in other words. Such a test is forged only where it passes with another change too.
    """
    if not suspects:
        return set(), set()
    known = _outcomes(twins, real, oracle.ask(twins.all_changed))
    cleared = {name for name in suspects if known.get(name) == "passed"}
    if cleared >= set(suspects):
        return cleared, set()
    likely = {one.id for one in real.passed if one.id in suspects} - cleared - set(certain)
    other, unlike = _other_draw(oracle, twins, [one for one in real.passed if one.id in likely])
    halves = run_halves(oracle.bench, other)
    again = _outcomes(other, halves.real.reported, halves.changed)
    passing = {name for name in suspects if name not in cleared and again.get(name) == "passed"}
    forged = passing - (likely - unlike)
    return cleared | (likely - forged), forged


def _other_draw(oracle: Oracle, twins: Twins, tests: Collection[Result]) -> tuple[Twins, set[str]]:
    """A new draw, and those of the tests that it changes in another way; all of them where that is possible."""
    best = oracle.draw(), set[str]()
    for _ in range(MAX_DRAWS if tests else 0):
        other = oracle.draw()
        unlike = {one.id for one in tests if other.edits(one) != twins.edits(one)}
        best = max(best, (other, unlike), key=lambda found: len(found[1]))
        if len(unlike) == len(tests):
            break
    return best


class _Deciding(NamedTuple):
    some: bool  # whether any passed test decides
    hidden: frozenset[tuple[str, str]]  # (file, unit) of controlled ones in files that no agent can have read
    ids: frozenset[str]  # the ids of those
    marked: bool = False  # whether hidden tests that decide are recognised where they are changed, and therefore not among them
    readable: bool = True  # whether agents can read all that decide


def _deciding(oracle: Oracle, twins: Twins, real: SuiteReport, counted: Collection[str]) -> _Deciding:
    """A unit that has a test which passes on the snapshot decides nothing: that test tells whether it is changed."""
    before = oracle.baseline.passed if oracle.baseline is not None else ()
    passing = {one.id for one in before}
    reported_units = {twins.unit(one) for one in before if one.id not in twins.spared}
    new = [one for one in real.passed if one.id not in passing]
    controlled = [
        one
        for one in new
        if one.id in counted and one.file in oracle.hidden and twins.unit(one) not in reported_units
    ]
    strong = [one for one in controlled if not twins.is_marked(twins.unit(one))]
    return _Deciding(
        bool(new),
        frozenset(map(twins.unit, strong)),
        frozenset(one.id for one in strong),
        marked=len(strong) < len(controlled),
        readable=all(one.file not in oracle.hidden for one in new),
    )


def _guesses(oracle: Oracle, deciding: _Deciding, real: SuiteReport) -> int:
    """How many coins a guess must get right at once to earn something in one round."""
    some_failed = any(one.outcome in FAILING for one in real.results)
    # One guess for a whole run is right about half of its tests, and where parts earn credit it earns those.
    earns_parts = not oracle.needs_all and some_failed
    # Without a baseline it is not known which tests decide: as if a single one did.
    is_single = oracle.baseline is None or earns_parts
    return min(len(deciding.hidden), 1) if is_single else len(deciding.hidden)


def _further_runs(deciding: int, max_chance: float) -> int:
    """How many more runs until the chance of guessing is at most this."""
    bits = math.ceil(-math.log2(max_chance)) if max_chance < 1 else 0
    return min(MAX_FURTHER, max(0, math.ceil(bits / deciding) - 1))


def _not_again(oracle: Oracle, real: SuiteReport, names: Collection[str], runs: int) -> set[str]:
    """Those of the deciding tests that fail unchanged, or pass changed, in further runs with draws of their own."""
    failed: set[str] = set()
    while runs > 0 and not (failed and oracle.needs_all):
        draws = [oracle.draw() for _ in range(min(runs, 2))]
        runs -= len(draws)
        started = [lambda twins=twins: _run_half(oracle, twins) for twins in draws]
        reports = side_by_side(*started) if len(started) == 2 else (started[0](),)
        for twins, reported in zip(draws, reports, strict=True):
            failed |= _wrong_in(oracle, twins, reported, real, names)
    return failed


def _run_half(oracle: Oracle, twins: Twins) -> SuiteReport:
    """One run with half of the tests changed; another try where the machine may have stalled."""
    ran, _ = oracle.bench.run(twins.contents(0))
    if ran.finished.timed_out or ran.finished.lost:
        ran, _ = oracle.bench.run(twins.contents(0))
    return ran.reported


def _wrong_in(
    oracle: Oracle, twins: Twins, reported: SuiteReport, real: SuiteReport, names: Collection[str]
) -> set[str]:
    unchanged = {one.id: one.outcome for one in reported.results if twins.changed_in(one) != 0}
    wrong = {
        one.id
        for one in real.results
        if one.id in names and twins.changed_in(one) != 0 and unchanged.get(one.id) != "passed"
    }
    half = replace(real, results=tuple(one for one in real.results if twins.changed_in(one) == 0))
    changed = replace(reported, results=tuple(one for one in reported.results if twins.changed_in(one) == 0))
    outcomes = _outcomes(twins, half, changed)
    certain = {one.id for one in real.results if twins.is_certain(one)}
    passing = {name for name in names if name in certain and outcomes.get(name) == "passed"}
    if passing:
        known = _outcomes(twins, real, oracle.ask(twins.all_changed))
        passing -= {name for name in passing if known.get(name) == "passed"}
    return wrong | passing


def _failed(real: SuiteReport, names: Collection[str], why: str) -> SuiteReport:
    results = (replace(one, outcome="failed", detail=why) if one.id in names else one for one in real.results)
    return replace(real, results=tuple(results)) if names else real


def _weak(oracle: Oracle, deciding: _Deciding) -> str:
    """Why these controls would not stop work that tells a changed test from an unchanged one."""
    if oracle.facts.grain == "suite":
        return COARSE
    if deciding.some and not deciding.hidden:
        return MARKED if deciding.marked else READABLE if deciding.readable else UNCONTROLLED
    return ""


def _unheard(oracle: Oracle, real: SuiteReport, sure: Collection[str], outcomes: Collection[str]) -> str:
    """Hidden tests that must fail, and none of them was reported."""
    hidden = [one.id for one in real.passed if one.id in sure and one.file in oracle.hidden]
    return UNHEARD if hidden and not any(name in outcomes for name in hidden) else ""


def _outcomes(twins: Twins, real: SuiteReport, changed: SuiteReport) -> dict[str, str]:
    """Id of a test -> how it ended where it is changed, without those that never ran or were left out."""
    reported = [
        one for one in real.results if one.detail != NOT_REPORTED and twins.is_certain(one) is not None
    ]
    return {
        name: other.outcome
        for name, other in pairs(reported, changed.results, twins.rows).items()
        if other.outcome != "skipped" and not _never_ran(other)
    }


def _never_ran(result: Result) -> bool:
    return result.outcome == "error" and result.detail == NEVER_RAN

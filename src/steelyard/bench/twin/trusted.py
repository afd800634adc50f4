"""A suite on a trusted tree: the snapshot with the reference's change, or with none.

Asked once for a contract, a command and the hidden files; the answers are kept in the cache:

    controls    what the suite reports there, as it is                     report.json
    again       the same once more, where that matters                     report.json
    baseline    what it reports on the bare snapshot                       report.json
    draws       how its tests behave there when halves of them are changed facts.json

A run that timed out, was lost or ran out of memory says nothing about the tree: such an answer is never kept. Where the
reference itself needs more time or memory than the check has, at both tries, the check is `error` for every change.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import orjson

from steelyard.bench.apply_patch import apply_patch
from steelyard.bench.rebuild import rebuild
from steelyard.bench.suite.reported import SuiteReport
from steelyard.bench.twin.draw import GRAINS, Draw, Grain
from steelyard.bench.twin.halves import Halves, Repeatable, Twins, run_halves, twins_of
from steelyard.bench.twin.pairs import key_of, pairs
from steelyard.deferred.data_class import dataclass
from steelyard.environment.prepare import Environment
from steelyard.errors import AgentFault, GraderFault, InfraFault
from steelyard.evidence.folder.blobs import Blobs
from steelyard.sandboxes.base import CommandResult, ExitStats, FileOverlay

FORMAT = "steelyard.controls/8"  # to be raised when twins change other places: how tests behave there is another answer then
TIMED_OUT, OUT_OF_MEMORY = "timed out", "ran out of memory"
NO_BASELINE = "the suite did not end on the snapshot"
DRAWS = 2  # a coin separates tests that depend on each other: two draws miss one pair of them in four
TRIES = 3  # before a test that fails beside changed ones is taken for one that depends on them
LONG_NS = 20_000_000_000  # a suite that takes longer than this is tried with one draw only
# Tools whose reports name each test as its file does.
_REPORTING = frozenset(["jest", "mocha", "vitest", "go", "gotestsum", "cargo"])


class TrustedBench(Repeatable, Protocol):
    """A suite that knows what it hides."""

    @property
    def hidden(self) -> tuple[FileOverlay, ...]: ...

    def limited(self, ids: Collection[str]) -> Repeatable: ...


On = Callable[[tuple[FileOverlay, ...]], TrustedBench]


class TrustedReport(NamedTuple):
    """What the trusted tree reports, and whether it has the reference's change."""

    reported: SuiteReport
    has_reference: bool


@dataclass(frozen=True, slots=True)
class Facts:
    """How the tests of a suite behave on the trusted tree."""

    grain: Grain = "test"  # how finely they can be changed without taking each other along
    unsteady: frozenset[str] = frozenset()  # ids that pass there sometimes
    reliable: frozenset[tuple[str, str]] = frozenset()  # (file, key): they fail whenever they are changed
    controllable: bool = True  # whether any test that is reported can be changed

    def to_json(self) -> dict[str, Any]:
        return {
            "grain": self.grain,
            "unsteady": sorted(self.unsteady),
            "reliable": sorted(self.reliable),
            "controllable": self.controllable,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Facts:
        reliable = frozenset((file, key) for file, key in data["reliable"])
        return cls(data["grain"], frozenset(data["unsteady"]), reliable, data["controllable"])


class _NotKeptError(Exception):
    """The answer may be used once, and is not to be kept."""


@dataclass(frozen=True)
class TrustedTree:
    """`on` makes the same suite on another change."""

    environment: Environment
    on: On

    def report(self, *, again: bool = False) -> TrustedReport:
        """What the suite reports there, as it is; with `again`, what a second run reports."""

        def build(folder: Path) -> None:
            with self._reference() as patch:
                bench = self.on(patch or ())
                reported, bad_end = _twice(bench)
            report = TrustedReport(reported, patch is not None)
            if bad_end and report.has_reference:
                raise reference_fault(bad_end, bench.suite.timeout_s)
            if bad_end:
                once.append(report)
                raise _NotKeptError
            _write(folder, report)

        once: list[TrustedReport] = []
        try:
            return _read(self.environment.cache.build("again" if again else "controls", self._key, build))
        except _NotKeptError:
            return once[0]

    def baseline(self) -> SuiteReport | None:
        """What the suite reports on the bare snapshot; None where it does not end there, which is then not known."""

        def build(folder: Path) -> None:
            reported, bad_end = _twice(self.on(()))
            # Work that mends an endless loop has a snapshot that never ends. That it did not is kept, and no result of it.
            empty = replace(reported, results=(), problems=(NO_BASELINE,))
            _write(folder, TrustedReport(empty if bad_end else reported, has_reference=False))

        if self.environment.contract.reference is None:
            return self.report().reported
        reported = _read(self.environment.cache.build("baseline", self._key, build)).reported
        return None if NO_BASELINE in reported.problems else reported

    def changed(self, contents: Mapping[str, bytes]) -> SuiteReport:
        """What the suite reports there with other contents for some of its files. They are drawn: nothing is kept."""
        with self._reference() as patch:
            return _run(self.on(patch or ()), contents)[0]

    def facts(self, paths: Collection[str]) -> Facts:
        """`paths`: the files of tests that may be changed."""

        def build(folder: Path) -> None:
            with self._reference() as patch:
                facts, is_normal = try_draws(self.on(patch or ()), paths, report.reported)
            if not is_normal:
                once.append(facts)
                raise _NotKeptError
            (folder / "facts.json").write_bytes(orjson.dumps(facts.to_json()))

        report = self.report()
        if not report.reported.passed:  # nothing to be learnt there
            knows = report.reported.channel == "reporter" or report.reported.runner in _REPORTING
            return Facts("test" if knows else "suite")
        once: list[Facts] = []
        try:
            kept = self.environment.cache.build("draws", self._key, build)
        except _NotKeptError:
            return once[0]
        return Facts.from_json(orjson.loads((kept / "facts.json").read_bytes()))

    def passes_alone(self, ids: Collection[str]) -> bool:
        """Whether all of these tests pass with the reference where no other test is run."""

        def build(folder: Path) -> None:
            with self._reference() as patch:
                reported, bad_end = _twice(self.on(patch or ()).limited(ids))
            if bad_end:
                raise _NotKeptError
            does_pass = patch is not None and {one.id for one in reported.passed} >= {*ids}
            (folder / "alone.json").write_bytes(orjson.dumps(does_pass))

        key = hashlib.sha256(orjson.dumps([self._key, sorted(ids)])).hexdigest()
        try:
            kept = self.environment.cache.build("alone", key, build)
        except _NotKeptError:
            return False
        return orjson.loads((kept / "alone.json").read_bytes()) is True

    @contextmanager
    def _reference(self) -> Iterator[tuple[FileOverlay, ...] | None]:
        with self.environment.cache.temporary() as scratch:
            yield reference_change(self.environment, scratch)

    @cached_property
    def _key(self) -> str:
        bench = self.on(())
        hidden = {one.path: one.source.read_bytes() for one in bench.hidden if one.source is not None}
        material = [
            FORMAT,
            *self.environment.identity,
            [bench.suite.command, bench.suite.report, bench.suite.isolation],
            sorted(
                (path.encode(errors="surrogateescape").hex(), hashlib.sha256(text).hexdigest())
                for path, text in hidden.items()
            ),
        ]
        return hashlib.sha256(orjson.dumps(material)).hexdigest()


def try_draws(bench: Repeatable, paths: Collection[str], plain: SuiteReport) -> tuple[Facts, bool]:
    """The finest grain at which every unchanged test passes that passes without any change."""
    twins = twins_of(bench, paths, Draw.new())
    if all(twins.is_certain(one) is None for one in plain.results):
        return Facts(controllable=False), True
    passing = {one.id for one in plain.passed}
    unsteady: set[str] = set()
    is_normal = True
    for grain in GRAINS:
        tried = _TrustedDraws(bench, paths, grain)
        is_normal = tried.is_normal
        missed = (passing - tried.passing) - unsteady
        if missed:
            again = {one.id for one in _twice(bench)[0].passed}
            unsteady |= missed - again
            missed &= again
            unsteady |= {name for name in missed if tried.passes_again(name)}
        if is_normal and not (missed - unsteady) and not tried.breaks:
            break
    return Facts(grain, frozenset(unsteady), frozenset(tried.reliable)), is_normal


class _TrustedDraws:
    """Some draws of one grain on the trusted tree."""

    def __init__(self, bench: Repeatable, paths: Collection[str], grain: Grain) -> None:
        self._bench = bench
        self._halves: list[tuple[Twins, Halves]] = []
        for _ in range(DRAWS):
            twins = twins_of(bench, paths, Draw.new(grain))
            halves = run_halves(bench, twins)
            self._halves.append((twins, halves))
            if halves.real.finished.wall_ns > LONG_NS:
                break

    @property
    def is_normal(self) -> bool:
        return not any(how_badly_ended(halves.real.finished, halves.exit_stats) for _, halves in self._halves)

    @property
    def breaks(self) -> bool:
        """Whether a run with changed tests came to no good end."""
        return any(halves.real.reported.problems for _, halves in self._halves)

    @property
    def passing(self) -> set[str]:
        """The ids that pass, unchanged, in every draw."""
        return set.intersection(
            *({one.id for one in halves.real.reported.passed} for _, halves in self._halves)
        )

    @property
    def reliable(self) -> set[tuple[str, str]]:
        """(file, key) of tests that pass where they are unchanged and fail where they are changed, in every draw."""
        return set.intersection(*(_reliable(twins, halves) for twins, halves in self._halves))

    def passes_again(self, name: str) -> bool:
        """Whether a test that failed beside changed ones ever passes beside the same ones."""
        twins = next(
            twins
            for twins, halves in self._halves
            if name not in {one.id for one in halves.real.reported.passed}
        )
        tries = (run_halves(self._bench, twins).real.reported.passed for _ in range(TRIES))
        return any(name in {one.id for one in passed} for passed in tries)


def _reliable(twins: Twins, halves: Halves) -> set[tuple[str, str]]:
    real = [one for one in halves.real.reported.results if twins.is_certain(one) is not None]
    found = pairs(real, halves.changed.results, twins.rows)
    bad = {
        (one.file, key_of(one))
        for one in real
        if one.outcome != "passed" or one.id not in found or found[one.id].outcome not in {"failed", "error"}
    }
    return {(one.file, key_of(one)) for one in real} - bad


def _twice(bench: Repeatable) -> tuple[SuiteReport, str]:
    """A report, and how its run ended badly at both tries; empty when one ended normally."""
    reported, bad_end = _run(bench, {})
    return _run(bench, {}) if bad_end else (reported, "")


def _run(bench: Repeatable, contents: Mapping[str, bytes]) -> tuple[SuiteReport, str]:
    try:
        ran, exit_stats = bench.run(contents)
    except AgentFault as fault:  # of this tree, not of the candidate's
        return SuiteReport("", "reporter", problems=(str(fault),)), ""
    bad_end = how_badly_ended(ran.finished, exit_stats)
    if not bad_end:
        return ran.reported, ""
    return replace(ran.reported, problems=(*ran.reported.problems, f"the suite {bad_end}")), bad_end


def how_badly_ended(finished: CommandResult, exit_stats: ExitStats) -> str:
    """What the time limit, the memory limit or this machine did to a command; empty when it ended by itself."""
    if finished.timed_out:
        return TIMED_OUT
    if finished.not_started:
        return f"could not start: {finished.not_started}"
    if exit_stats.oom_kills:
        return OUT_OF_MEMORY
    return "lost its sandbox" if finished.lost else ""


def reference_fault(bad_end: str, timeout_s: float) -> GraderFault | InfraFault:
    """If the reference exceeds a limit, the contract is wrong and every change gets `error`. Other ends are this machine's fault."""
    if bad_end == TIMED_OUT:
        return GraderFault(
            f"with the reference, the suite timed out after {timeout_s:g} s: raise `timeout_s`"
        )
    if bad_end == OUT_OF_MEMORY:
        return GraderFault("with the reference, the suite ran out of memory: raise `memory_mb`")
    return InfraFault(f"with the reference, the suite {bad_end}")


def _write(folder: Path, report: TrustedReport) -> None:
    row = {"reported": report.reported.to_json(), "has_reference": report.has_reference}
    (folder / "report.json").write_bytes(orjson.dumps(row))


def _read(folder: Path) -> TrustedReport:
    row = orjson.loads((folder / "report.json").read_bytes())
    return TrustedReport(SuiteReport.from_json(row["reported"]), row["has_reference"])


def reference_change(environment: Environment, scratch: Path) -> tuple[FileOverlay, ...] | None:
    """The reference's change as data, or None where there is none that applies."""
    path = environment.contract.reference
    if path is None:
        return None
    blobs = Blobs(scratch)
    applied = apply_patch(environment, path.read_bytes(), blobs)
    return None if applied.refused else rebuild(environment, applied.change, blobs).overlays

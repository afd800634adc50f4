"""A suite and a draw -> the results of its tests where they are unchanged, and where they are changed.

The suite runs twice at the same time, each time with those tests changed that the draw says. Joined, the unchanged halves of
both runs are one report of the whole suite, and so are the changed halves.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple, Protocol

from steelyard.bench.runners.base import RunnerResult
from steelyard.bench.suite.reported import FAILING, Result, SuiteReport, merge_results
from steelyard.bench.suite.suite import Suite
from steelyard.bench.twin.base import Edit, Twin
from steelyard.bench.twin.catalogue import has_twin, twin_of
from steelyard.bench.twin.draw import Draw
from steelyard.bench.twin.pairs import Rows, key_of
from steelyard.bench.twin.side_by_side import side_by_side
from steelyard.deferred.data_class import dataclass
from steelyard.sandboxes.base import CommandResult, ExitStats

RUNS = (0, 1)
DIFFERENT_RUNNERS = "the two runs of the suite were reported by different runners"
_IMPORTS = re.compile(rb"^\s*(?:from\s+([\w.]+)\s+import\s+([^#\n]+)|import\s+([\w., ]+))", re.MULTILINE)


class Repeatable(Protocol):
    """A suite that can be run again, with other contents for some of the oracle's files."""

    @property
    def suite(self) -> Suite: ...

    def run(self, instead: Mapping[str, bytes] | None = None) -> tuple[RunnerResult, ExitStats]: ...

    def source(self, path: str) -> bytes | None: ...


@dataclass(frozen=True, slots=True)
class Twins:
    """Files -> their twins, and which of their tests are changed in which run."""

    files: Mapping[str, Twin]
    draw: Draw
    spared: frozenset[str] = frozenset()  # ids of rows that stay as they are in both runs

    def contents(self, run: int) -> dict[str, bytes]:
        return {
            path: twin.text([unit for unit in twin.edits if self.draw.changed_in(path, unit) == run])
            for path, twin in self.files.items()
        }

    @property
    def all_changed(self) -> dict[str, bytes]:
        return {path: twin.source for path, twin in self.files.items()}

    @property
    def rows(self) -> Rows:
        return {(path, key): words for path, twin in self.files.items() for key, words in twin.rows.items()}

    def is_certain(self, result: Result) -> bool | None:
        """Whether the change of this test is certain; None when it cannot be changed."""
        twin = self.files.get(result.file)
        return None if twin is None or result.id in self.spared else twin.is_certain(key_of(result))

    def key(self, result: Result) -> tuple[str, str]:
        return result.file, key_of(result)

    def unit(self, result: Result) -> tuple[str, str]:
        twin, key = self.files.get(result.file), key_of(result)
        return result.file, key if twin is None else twin.unit(key)

    def is_marked(self, unit: tuple[str, str]) -> bool:
        """Whether code that reads this unit recognises where it is changed."""
        file, name = unit
        return file in self.files and name in self.files[file].marked

    def rows_of(self, result: Result) -> tuple[str, str]:
        """(file, key) that the rows of one test have in common; of a subtest in Go, the function that it is in."""
        twin, key = self.files.get(result.file), key_of(result)
        is_row = twin is not None and twin.subtests and key.count("/") == 1
        return result.file, f"{key.partition('/')[0]}/" if is_row else key

    def edits(self, result: Result) -> tuple[Edit, ...]:
        """What is changed in this test."""
        file, unit = self.unit(result)
        return self.files[file].edits.get(unit, ()) if file in self.files else ()

    def changed_in(self, result: Result) -> int:
        """The run in which a test is changed, or would be: its result is taken from the other one."""
        return self.draw.changed_in(*self.unit(result))


class Halves(NamedTuple):
    """Both runs, joined: every test where it is unchanged, and every test that can be changed where it is."""

    real: RunnerResult
    changed: SuiteReport
    exit_stats: ExitStats
    problem: str = ""  # of a run that was changed as a whole, and says nothing about the other one


def twins_of(bench: Repeatable, paths: Iterable[str], draw: Draw) -> Twins:
    """The twins of those files that have one."""
    sources = {path: bench.source(path) for path in sorted(set(paths)) if has_twin(path, bench.suite)}
    texts = {path: source for path, source in sources.items() if source is not None}
    found = {path: twin_of(path, source, draw.values(path)) for path, source in texts.items()}
    twins = {path: _without_borrowed(path, twin, texts) for path, twin in found.items() if twin is not None}
    return Twins({path: twin for path, twin in twins.items() if twin.edits}, draw)


def spare_passing_rows(twins: Twins, before: SuiteReport) -> Twins:
    """Rows of a test that pass already stay as they are, where other rows of it do not pass.

    One coin changes all rows of a test. A row that passes before the work would give it away.
    """
    groups: dict[tuple[str, str], list[Result]] = {}
    for one in before.results:
        groups.setdefault(twins.rows_of(one), []).append(one)
    files, spared = dict(twins.files), set[str]()
    for (path, key), rows in groups.items():
        twin, unit = files.get(path), key.removesuffix("/")
        unit = unit if twin is not None and twin.subtests else key
        edits = () if twin is None else twin.edits.get(unit, ())
        passing = [one.outcome == "passed" for one in rows]
        if twin is None or len(rows) < 2 or len(edits) != len(rows) or all(passing) or not any(passing):
            continue
        left = tuple(edit for edit, passes in zip(sorted(edits), passing, strict=True) if not passes)
        files[path] = replace(twin, edits={**twin.edits, unit: left})
        spared |= {one.id for one, passes in zip(rows, passing, strict=True) if passes}
    return replace(twins, files=files, spared=frozenset(spared))


def run_halves(bench: Repeatable, twins: Twins) -> Halves:
    first, second = (lambda run=run: bench.run(twins.contents(run)) for run in RUNS)
    return join(twins, side_by_side(first, second))


def join(twins: Twins, runs: tuple[tuple[RunnerResult, ExitStats], tuple[RunnerResult, ExitStats]]) -> Halves:
    if twins.draw.grain == "suite":
        return _side_by_side(twins, runs)
    reports = [ran.reported for ran, _ in runs]
    real = _join(reports, _chosen(twins, reports, changed=False))
    changed = replace(real, results=merge_results(_chosen(twins, reports, changed=True)))
    finished = _finished([ran.finished for ran, _ in runs], real)
    return Halves(RunnerResult(finished, real), changed, _exit_stats([exit_stats for _, exit_stats in runs]))


def _side_by_side(
    twins: Twins, runs: tuple[tuple[RunnerResult, ExitStats], tuple[RunnerResult, ExitStats]]
) -> Halves:
    """One run is as the author wrote the suite, the other is changed as a whole."""
    number = twins.draw.changed_in("", "")
    (real, exit_stats), (other, other_death) = runs[1 - number], runs[number]
    tampering = tuple(dict.fromkeys((*real.reported.tampering, *other.reported.tampering)))
    reported = replace(real.reported, tampering=tampering)
    return Halves(real._replace(reported=reported), other.reported, exit_stats, _problem(other, other_death))


def _problem(ran: RunnerResult, exit_stats: ExitStats) -> str:
    finished, reported = ran
    if finished.timed_out:
        return "the control run did not end in time"
    if finished.lost or finished.not_started or exit_stats.oom_kills:
        return "the control run did not end normally"
    return f"the control run: {reported.problems[0]}" if reported.problems else ""


def _chosen(twins: Twins, reports: list[SuiteReport], *, changed: bool) -> list[Result]:
    found: list[tuple[int, int, Result]] = []
    for run, reported in enumerate(reports):
        for place, one in enumerate(reported.results):
            is_changed = twins.changed_in(one) == run
            if is_changed == changed and not (changed and twins.is_certain(one) is None):
                found.append((place, run, one))
    return [one for _, _, one in sorted(found, key=lambda item: item[:2])]


def _join(reports: list[SuiteReport], results: Iterable[Result]) -> SuiteReport:
    one, two = reports
    problems = [*one.problems, *two.problems]
    if (one.runner, one.channel) != (two.runner, two.channel):
        problems.append(DIFFERENT_RUNNERS)
    return replace(
        one,
        results=merge_results(results),
        problems=tuple(dict.fromkeys(problems)),
        tampering=tuple(dict.fromkeys((*one.tampering, *two.tampering))),
        own_runner=one.own_runner or two.own_runner,
    )


def _finished(ends: list[CommandResult], real: SuiteReport) -> CommandResult:
    """The worse end of the two; exit 0 where nothing failed but what was changed."""
    worst = next((one for one in ends if one.timed_out or one.lost or one.not_started), None)
    if worst is None:
        worst = next((one for one in ends if one.signal is not None), ends[0])
        failed = any(one.outcome in FAILING for one in real.results) or real.problems or not real.results
        if worst.signal is None and not failed:
            worst = replace(worst, exit_code=0)
    return replace(worst, wall_ns=max(one.wall_ns for one in ends), cpu_ns=sum(one.cpu_ns for one in ends))


def _exit_stats(all_exit_stats: list[ExitStats]) -> ExitStats:
    peaks = [one.peak_memory_bytes for one in all_exit_stats if one.peak_memory_bytes is not None]
    return ExitStats(
        oom_kills=sum(one.oom_kills for one in all_exit_stats),
        peak_memory_bytes=max(peaks, default=None),
        processes_refused=sum(one.processes_refused for one in all_exit_stats),
        disk_full=any(one.disk_full for one in all_exit_stats),
    )


def _without_borrowed(path: str, twin: Twin, texts: Mapping[str, bytes]) -> Twin:
    """Without the tests that other files import and run under their own name: there it is not known which are changed."""
    if not path.endswith(".py"):
        return twin
    module = path.removesuffix(".py").removesuffix("/__init__").rpartition("/")[2].encode()
    others = [text for other, text in texts.items() if other != path and module in text]
    borrowed = {name for text in others for name in _imported(module, text, twin.edits)}
    if not borrowed:
        return twin
    kept = {key for key in twin.changed if twin.unit(key).partition("::")[0] not in borrowed}
    return replace(
        twin,
        edits={unit: edits for unit, edits in twin.edits.items() if unit.partition("::")[0] not in borrowed},
        changed={key: certain for key, certain in twin.changed.items() if key in kept},
    )


def _imported(module: bytes, text: bytes, units: Collection[str]) -> Iterator[str]:
    """The classes and functions of a module that another file may run as its own tests."""
    heads = {unit.partition("::")[0] for unit in units}
    for match in _IMPORTS.finditer(text):
        source, names, plain = match.groups()
        if source is not None and source.rpartition(b".")[2] == module and b"*" in names:
            yield from heads
        elif module in (source or b"") or module in (names or b"") or module in (plain or b""):
            yield from (head for head in heads if re.search(rb"\b%s\b" % re.escape(head.encode()), text))

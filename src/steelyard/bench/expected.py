"""What a suite reports on a trusted tree -> what it must report of the candidate.

    reported there, not here            failed
    run there, skipped here             failed
    passed here, unknown there          skipped: not one of the suite's tests
    tampering here and there            nobody's doing: the tests or the snapshot do it

A forged story may say anything about the tests, but not which tests there are. The trusted tree has the reference's
change, or none. A file that cannot be loaded without the feature tells its tests by its syntax instead. Parameters may
depend on the work: of a test that has some, the number counts.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from steelyard.bench.placed import is_load_failure, known_files
from steelyard.bench.reported import NEVER_RAN, Reported, Result
from steelyard.bench.twin.pairs import key_of
from steelyard.bench.twin.written import WrittenTests

NOT_REPORTED = "not reported, though it is one of the suite's tests"
NOT_OF_THE_SUITE = "not one of the suite's tests"
OTHER_RUNNER = "the results were told by another runner than on the trusted tree"
Group = tuple[str, str]
_NUMBER = re.compile(r"\d+")


@dataclass(frozen=True)
class Expectation:
    """What is known of a suite before the candidate's run is looked at."""

    trusted: Reported
    has_reference: bool = False
    written: Mapping[str, WrittenTests] = field(default_factory=dict)  # of hidden files
    files: frozenset[str] = frozenset()  # the oracle's
    changed: frozenset[str] = frozenset()  # the candidate's
    surely_run: frozenset[str] = frozenset()  # hidden files that the command runs, by its words
    is_declared: Callable[[Result], bool] = lambda _: False

    @cached_property
    def known(self) -> Mapping[str, Result]:
        """What the trusted run says about tests, without those in files that are the candidate's now."""
        return {
            one.id: one
            for one in self.trusted.results
            if not is_load_failure(one) and one.file not in self.changed
        }

    @cached_property
    def groups(self) -> Mapping[Group, int]:
        return Counter(self.group(one) for one in self.known.values())

    @cached_property
    def seen(self) -> frozenset[str]:
        return known_files(self.known.values())

    @cached_property
    def unloaded(self) -> frozenset[str]:
        """Files whose tests the trusted run could not know."""
        failed = known_files([one for one in self.trusted.results if is_load_failure(one)])
        return failed if self.known or not self.trusted.problems else failed | self.surely_run

    @cached_property
    def required(self) -> tuple[tuple[str, str], ...]:
        """(file, key) of tests that must be reported because they are written there."""
        paths = sorted(self.unloaded & self.written.keys())
        return tuple((path, key) for path in paths for key in sorted(self.written[path].required))

    @property
    def says_nothing(self) -> bool:
        """Whether neither a run nor the syntax tells which tests there are."""
        return not self.known and not self.required

    def group(self, result: Result) -> Group:
        """Results that differ in nothing but parameters. Titles that no syntax shows are made by a loop."""
        if self.trusted.channel == "report_file":  # tools put ports and times into names
            return "", _NUMBER.sub("#", result.id.partition("[")[0])
        key = key_of(result)
        if result.file.endswith(".py") or not result.file:
            return result.file, key.partition("[")[0]
        written = self.written.get(result.file)
        return result.file, key if written is None or key in written.keys else ""

    def has_parameters(self, result: Result) -> bool:
        by_tool = self.trusted.channel == "report_file"
        looped = self.group(result)[1] == "" or (by_tool and bool(_NUMBER.search(result.id)))
        return result.id.endswith("]") or looped


def as_expected(reported: Reported, expectation: Expectation) -> Reported:
    """The candidate's report, as far as it fits what is known of the suite."""
    trusted = expectation.trusted
    if reported.channel == "exit_code" or trusted.channel == "exit_code":
        return reported
    known_tampering = set(trusted.tampering)
    reported = replace(
        reported,
        results=tuple(_filed(one, expectation) for one in reported.results),
        tampering=tuple(one for one in reported.tampering if one not in known_tampering),
    )
    if reported.problems:
        return reported
    if trusted.channel == "reporter" != reported.channel and expectation.known:
        return replace(reported, problems=(OTHER_RUNNER,))
    judged = [_judged(_known(one, expectation), expectation) for one in reported.results]
    return replace(reported, results=(*judged, *_missing(judged, reported.runner, expectation)))


def _filed(one: Result, expectation: Expectation) -> Result:
    """In the file, and with the title, that the trusted run says: ids may be declared by either."""
    there = expectation.known.get(one.id)
    if there is None:
        return replace(one, title="") if one.title else one
    return replace(one, file=there.file or one.file, title=there.title)


def _known(one: Result, expectation: Expectation) -> Result:
    """What passed counts only if it is a test of the suite."""
    fine = one.outcome != "passed" or one.id in expectation.known or expectation.is_declared(one)
    if fine or expectation.says_nothing or _may_be_new(one, expectation):
        return one
    return replace(one, outcome="skipped", detail=NOT_OF_THE_SUITE)


def _may_be_new(one: Result, expectation: Expectation) -> bool:
    """A test that the trusted run could not have reported, or not under this name."""
    if expectation.group(one) in expectation.groups:
        return True
    trusted, has_reference = expectation.trusted, expectation.has_reference
    if trusted.channel == "report_file":
        return not has_reference or bool(trusted.problems)
    if one.file not in expectation.files:
        return False
    written = expectation.written.get(one.file, WrittenTests())
    unseen = one.file not in expectation.seen and not has_reference
    return one.file in expectation.unloaded or unseen or key_of(one) in written.keys


def _judged(one: Result, expectation: Expectation) -> Result:
    """A skip is the suite's own only where the trusted run skips too, or its file says so."""
    if one.outcome != "skipped" or one.file in expectation.changed or one.detail == NOT_OF_THE_SUITE:
        return one
    there = expectation.known.get(one.id)
    if there is None:
        ran, why = _never_skips(one, expectation), "skipped, though nothing in its file skips"
    else:
        ran = there.outcome != "skipped" and there.detail != NEVER_RAN
        where = "with the reference" if expectation.has_reference else "on the snapshot"
        why = f"skipped here and not {where}"
    return replace(one, outcome="failed", detail=f"{why}: {one.detail}") if ran else one


def _never_skips(one: Result, expectation: Expectation) -> bool:
    if (one.file, key_of(one)) not in expectation.required or expectation.written[one.file].may_skip:
        return False
    return not any(path.endswith("conftest.py") for path in expectation.files)


def _missing(results: Collection[Result], runner: str, expectation: Expectation) -> Iterator[Result]:
    reported = {one.id for one in results}
    here = Counter(expectation.group(one) for one in results)
    for one in expectation.known.values():
        group = expectation.group(one)
        forgiven = expectation.has_parameters(one) and here[group] >= expectation.groups[group]
        if one.id not in reported and not forgiven and _must_be_told(one, expectation):
            yield Result(one.id, "failed", NOT_REPORTED, one.file)
    told = {(one.file, key_of(one)) for one in results}
    for path, key in expectation.required:
        if (path, key) not in told:
            yield Result(_id(path, key, runner), "failed", NOT_REPORTED, path)


def _must_be_told(one: Result, expectation: Expectation) -> bool:
    """Without the feature a build tool reports what it could not load under names of its own."""
    by_tool = expectation.trusted.channel == "report_file" and not expectation.has_reference
    return one.outcome == "passed" or (one.outcome != "skipped" and not by_tool)


def _id(path: str, key: str, runner: str) -> str:
    if runner == "unittest":
        return f"{path.removesuffix('.py')}::{key}".replace("/", ".").replace("::", ".")
    return f"{path}::{key}"

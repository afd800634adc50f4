"""What a suite reports on a trusted tree -> what it must report of the candidate.

    reported there, not here                 failed
    run there, skipped here                  failed
    passed here, unknown there               skipped: no test of the suite, and it answers to no declared id
    tampering here and there                 not the change's doing: the tests or the snapshot do it
    started by the change, here and there    the task is about what starts the tests

A forged story may say anything about the tests, but not which tests there are. The trusted tree has the reference's
change, or none. A file that cannot be loaded without the feature tells its tests by its syntax instead, or the contract
by the very ids that it declares: of all tests that one of them may mean, none may fail. Parameters may depend on the
work: of a test that has some, the number counts, and no more than that number.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property

from steelyard.bench.suite.declared_ids import Names
from steelyard.bench.suite.reported import FAILING, NEVER_RAN, Result, SuiteReport
from steelyard.bench.suite.result_files import is_load_failure, known_files
from steelyard.bench.twin.pairs import key_of
from steelyard.bench.twin.written import WrittenTests
from steelyard.deferred.data_class import dataclass

NOT_REPORTED = "not reported, although it belongs to the suite"
NOT_OF_THE_SUITE = "not a test of the suite"
RIVAL = "another test that matches the declared id failed"
STARTED_BY_THE_CHANGE = "the tests were started by the change: "  # and the file of the change that did
OTHER_RUNNER = "the results come from another runner than on the trusted tree"
Group = tuple[str, str]
_NAMES_FUNCTIONS = frozenset({"go", "gotestsum"})
_NUMBER = re.compile(r"\d+")


@dataclass(frozen=True)
class Expectation:
    """What is known of a suite before the candidate's run is looked at."""

    trusted: SuiteReport
    has_reference: bool = False
    written: Mapping[str, WrittenTests] = field(default_factory=dict)  # of hidden files
    files: frozenset[str] = frozenset()  # the oracle's
    changed: frozenset[str] = frozenset()  # the candidate's
    surely_run: frozenset[str] = frozenset()  # hidden files that the command runs, by its words
    declared: tuple[str, ...] = ()  # ids that the contract asks for
    steady: bool = (
        False  # two trusted runs reported the same ids: parameters must be those of the trusted tree
    )

    @property
    def knows_every_test(self) -> bool:
        """Whether what the trusted run did not report cannot be one of the suite's tests."""
        return self.has_reference and not self.trusted.problems

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
        if not self.known and self.trusted.problems:
            return failed | self.surely_run
        # A package of Go that cannot be compiled reports no test of any of its files.
        return failed | {path for path in self.surely_run if path.endswith(".go") and path not in self.seen}

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
        """Whether its id may differ from run to run; only the number of such results counts."""
        if self.steady:
            return False
        by_tool = self.trusted.channel == "report_file"
        looped = self.group(result)[1] == "" or (by_tool and bool(_NUMBER.search(result.id)))
        return result.id.endswith("]") or looped


def as_expected(reported: SuiteReport, expectation: Expectation) -> SuiteReport:
    """The candidate's report, as far as it fits what is known of the suite."""
    reported, expectation = _excuse_reference(reported, expectation)
    trusted = expectation.trusted
    if reported.channel == "exit_code" or trusted.channel == "exit_code":
        return reported
    known_tampering, results = set(trusted.tampering), reported.results
    reported = replace(
        reported,
        results=tuple(_with_known_place(one, expectation) for one in reported.results),
        tampering=tuple(one for one in reported.tampering if one not in known_tampering),
    )
    if reported.problems:
        return reported
    if trusted.channel == "reporter" != reported.channel and expectation.known:
        return replace(reported, problems=(OTHER_RUNNER,))
    titles = {one.id: one.title for one in results}
    counted = list(_suite_results([_judge_skip(one, expectation) for one in reported.results], expectation))
    every = (*counted, *_missing(counted, reported.runner, expectation))
    return replace(reported, results=_without_rivals(every, titles, expectation))


def has_other_parameters(reported: SuiteReport, expectation: Expectation) -> bool:
    """Whether a test that the trusted run reports is not here, and only its parameters would excuse that."""
    here = {one.id for one in reported.results}
    gone = [one for one in expectation.known.values() if one.id not in here]
    return any(expectation.has_parameters(one) and _must_be_reported(one, expectation) for one in gone)


def is_of_the_suite(result: Result) -> bool:
    """Not a test that passed and was found not to belong to the suite."""
    return result.outcome != "skipped" or result.detail != NOT_OF_THE_SUITE


def _excuse_reference(reported: SuiteReport, expectation: Expectation) -> tuple[SuiteReport, Expectation]:
    """Where the reference changes what starts the tests, other changes may do so in that file too."""
    if not expectation.has_reference:
        return reported, expectation
    alike = {one for one in expectation.trusted.problems if one.startswith(STARTED_BY_THE_CHANGE)}

    def without(report: SuiteReport) -> SuiteReport:
        return replace(report, problems=tuple(one for one in report.problems if one not in alike))

    return without(reported), replace(expectation, trusted=without(expectation.trusted))


def _with_known_place(one: Result, expectation: Expectation) -> Result:
    """In the file, and with the title, that the trusted run says: ids may be declared by either."""
    there = expectation.known.get(one.id)
    if there is None:
        return replace(one, title="") if one.title else one
    return replace(one, file=there.file or one.file, title=there.title)


def _suite_results(results: Sequence[Result], expectation: Expectation) -> Iterator[Result]:
    """What passed counts only if it is a test of the suite, or takes the place of one that has other parameters."""
    room = _room(results, expectation)
    asked = _asked_for(results, expectation)
    written = Counter((one.file, key_of(one)) for one in results if _has_one_name(one))
    for one in results:
        group = expectation.group(one)
        fine = one.outcome != "passed" or one.id in expectation.known or one.id in asked
        if fine or expectation.says_nothing:
            yield one
            continue
        room[group] -= 1
        fine = written[one.file, key_of(one)] <= 1 and _may_be_new(one, expectation)
        fine = room[group] >= 0 if group in expectation.groups else fine
        yield one if fine else replace(one, outcome="skipped", detail=NOT_OF_THE_SUITE)


def _has_one_name(one: Result) -> bool:
    """A function of a class is one test, whatever is put before their names: `x.pkg.mod.Case.test_a`."""
    return one.file.endswith(".py") and not one.id.endswith("]")


def _room(results: Collection[Result], expectation: Expectation) -> Counter[Group]:
    """How many tests of each group were not reported under the names of the trusted run, without those that failed."""
    here = {one.id for one in results}
    gone = [one for one in expectation.known.values() if one.id not in here]
    room = Counter(expectation.group(one) for one in gone if expectation.has_parameters(one))
    room.subtract(
        expectation.group(one)
        for one in results
        if one.outcome in FAILING and one.id not in expectation.known  # the worst take the places first
    )
    return room


def _asked_for(results: Collection[Result], expectation: Expectation) -> frozenset[str]:
    """The tests that the contract names exactly, where no other source lists the tests."""
    if expectation.knows_every_test or not expectation.declared:
        return frozenset()
    names = Names.of(results)
    return frozenset(one.id for wanted in expectation.declared for one in names.exactly(wanted))


def _without_rivals(
    results: tuple[Result, ...], titles: Mapping[str, str], expectation: Expectation
) -> tuple[Result, ...]:
    """A second test with the declared id does not undo a failure."""
    if expectation.knows_every_test or not expectation.declared:
        return results
    names = Names.of(replace(one, title=titles.get(one.id, one.title)) for one in results)
    rivals: set[str] = set()
    for wanted in expectation.declared:
        meant = names.possibly(wanted)
        if any(one.outcome in FAILING for one in meant):
            rivals.update(one.id for one in meant if one.id not in expectation.known)
    return tuple(
        replace(one, outcome="failed", detail=RIVAL) if one.outcome == "passed" and one.id in rivals else one
        for one in results
    )


def _may_be_new(one: Result, expectation: Expectation) -> bool:
    """A test that the trusted run could not have reported."""
    written = expectation.written.get(one.file, WrittenTests())
    is_written = written.has(key_of(one))
    if expectation.knows_every_test or (written.required and not is_written):
        return False
    if expectation.trusted.channel == "report_file":
        # Of Go the file of each test is known, as far as the oracle declares it.
        return bool(one.file) or expectation.trusted.runner not in _NAMES_FUNCTIONS
    if one.file not in expectation.files:
        return False
    return one.file in expectation.unloaded or one.file not in expectation.seen or is_written


def _judge_skip(one: Result, expectation: Expectation) -> Result:
    """A skip is the suite's own only where the trusted run skips too, or its file says so."""
    if one.outcome != "skipped" or one.file in expectation.changed:
        return one
    there = expectation.known.get(one.id)
    if there is None:
        ran, why = _never_skips(one, expectation), "skipped, although nothing in its file skips it"
    else:
        ran = there.outcome != "skipped" and there.detail != NEVER_RAN
        where = "with the reference" if expectation.has_reference else "on the snapshot"
        why = f"skipped here, but not {where}"
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
        if one.id not in reported and not forgiven and _must_be_reported(one, expectation):
            yield Result(one.id, "failed", NOT_REPORTED, one.file)
    reported_keys = {(one.file, key_of(one)) for one in results}
    for path, key in expectation.required:
        if (path, key) not in reported_keys:
            yield Result(_id(path, key, runner), "failed", NOT_REPORTED, path)


def _must_be_reported(one: Result, expectation: Expectation) -> bool:
    """Without the feature a build tool reports what it could not load under names of its own."""
    by_tool = expectation.trusted.channel == "report_file" and not expectation.has_reference
    return one.outcome == "passed" or (one.outcome != "skipped" and not by_tool)


def _id(path: str, key: str, runner: str) -> str:
    if runner == "unittest":
        return f"{path.removesuffix('.py')}::{key}".replace("/", ".").replace("::", ".")
    return f"{path}::{key}"

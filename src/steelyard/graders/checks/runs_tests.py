"""Tests that must pass, each of them looked at, on a fresh bench."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from steelyard.bench.execution_spec import SuiteSpec
from steelyard.bench.runners import catalogue as runners
from steelyard.bench.suite.reported import SuiteReport
from steelyard.bench.suite.suite import Decision
from steelyard.bench.suite.suite_of_spec import suite_of
from steelyard.contract.catalogue import LintWarning, Material
from steelyard.contract.model import NonEmpty
from steelyard.deferred.model import AfterValidator, Field
from steelyard.filesystem.tree import Entry, printable
from steelyard.graders.base import Case, Grader, TimeoutS
from steelyard.graders.checks.command_warnings import runner_warnings, script_warnings
from steelyard.graders.checks.ids import ask, id_doubts, some
from steelyard.graders.checks.inject import Injects, inject_warnings, injected_files
from steelyard.graders.files.paths import PathInside
from steelyard.graders.grade import Grade

PYTEST = "python3 -m pytest -q -p no:cacheprovider"
ONLY_AN_EXIT_CODE = "this command reports no single tests, so declared ids cannot be found"


def _known(runner: str) -> str:
    if runner and runner not in runners.BY_NAME:
        raise ValueError(f"unknown runner {runner!r}; there are {', '.join(sorted(runners.BY_NAME))}")
    return runner


RunnerName = Annotated[str, AfterValidator(_known)]
ModuleName = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]


class ReadsResults(Grader):
    """What every grader has in common that runs a suite on the bench and reads its results."""

    UNDER = "acceptance"
    REQUIRED = False
    WEIGHT = 1.0
    EXECUTES = True

    inject: Injects

    @property
    def injected(self) -> tuple[tuple[str, str], ...]:
        return injected_files(self.inject)

    def execution(self) -> SuiteSpec:
        raise NotImplementedError

    def contract_files(self) -> tuple[str, ...]:
        return tuple(src for src, _ in self.injected)

    def file_warnings(self, material: Material) -> tuple[LintWarning, ...]:
        return inject_warnings(self.inject, material)

    def decide(self, reported: SuiteReport) -> Decision:
        """Whatever the results are: a run that did not come to its end proves nothing."""
        failing = tuple(one.id for one in reported.results if one.outcome in {"failed", "error"})
        if reported.problems:
            return Decision("fail", 0.0, printable(reported.problems[0]), failing)
        skipped = reported.counts["skipped"]
        if skipped == len(reported.results):
            return Decision("fail", 0.0, "no test ran" + (f": {skipped} skipped" if skipped else ""))
        return self.decide_results(reported)

    def decide_results(self, reported: SuiteReport) -> Decision:
        raise NotImplementedError

    def grade(self, case: Case) -> Grade:
        outcome = case.outcome
        if outcome is None:
            return Grade.error("never ran")
        pointers = (f"checks/{case.name}/",)
        if outcome.outcome == "error":
            return Grade.error(outcome.why, pointers=pointers)
        # A change that made its own check impossible has no score on record.
        # What the tests printed stays in the run folder. The reason names tests, and quotes nothing that they printed.
        return Grade(outcome.outcome, outcome.score or 0.0, outcome.why, pointers)


@dataclass(frozen=True)
class RunsTests(ReadsResults):
    """passed / (passed + failed + errors) of the tests that `cmd` runs, or of the declared `ids`.

    With `ids`, each must be reported once, as passed: a missing or skipped test fails. `*` in an id matches anything,
    brackets are literal, and the file may be left out if only one file has such a test. Without `ids`, skipped tests
    do not count, and it is a failure if no test runs. Tests that the change added or edited are not on the bench
    (`test_files` says which files are tests; by default their names decide). The score is the passed part;
    `pass_threshold` is the part that is enough to pass. A timeout is an error. `candidate` and `objects` are for
    split oracles.

    Why: a suite says more than an exit code, and partial work can get partial credit.
    Example: `{type: tests, cmd: "node --test test/", inject: [{src: hidden/a.test.js, dest: test/a.test.js}]}`
    Fooled by: code that recognises the tests and cheats only there, unless the oracle is split.
    """

    TYPE = "tests"

    cmd: NonEmpty
    inject: Injects = ()
    ids: tuple[NonEmpty, ...] = ()
    junit_xml: PathInside | None = None
    test_files: tuple[NonEmpty, ...] = ()
    timeout_s: TimeoutS = 900.0
    runner: RunnerName = ""
    candidate: tuple[ModuleName, ...] = ()
    objects: tuple[NonEmpty, ...] = ()

    def execution(self) -> SuiteSpec:
        return SuiteSpec(
            command=self.cmd,
            timeout_s=self.timeout_s,
            injected=self.injected,
            decide=self.decide,
            oracle_patterns=self.test_files,
            runner=self.runner,
            report=self.junit_xml or "",
            declared=self.ids,
            candidate=self.candidate,
            objects=self.objects,
        )

    def lint_warnings(self, baseline: Mapping[str, Entry]) -> tuple[LintWarning, ...]:
        places = [dest for _, dest in self.injected]
        unread = self.ids and runners.runner_for(suite_of(self.execution()), self.runner).NAME == "exit_code"
        return (
            *id_doubts("ids", self.ids, baseline, places),
            *((LintWarning("ids", ONLY_AN_EXIT_CODE, fatal=False),) if unread else ()),
        )

    def file_warnings(self, material: Material) -> tuple[LintWarning, ...]:
        return (
            *super().file_warnings(material),
            *script_warnings(self.cmd, material, self.injected),
            *runner_warnings(self.execution(), material.tree),
        )

    def decide_results(self, reported: SuiteReport) -> Decision:
        if self.ids:
            return self._decide_declared(reported)
        passed = len(reported.passed)
        failing = tuple(one.id for one in reported.results if one.outcome in {"failed", "error"})
        total = passed + len(failing)
        why = f"{passed} of {total} passed" + (f"; not passed: {some(failing)}" if failing else "")
        if reported.channel == "exit_code":  # one result for everything, and the weakest that there is
            why = f"{reported.results[0].detail or 'exit 0'}, exit code only"
        return Decision("fail" if failing else "pass", passed / total, why, failing)

    def _decide_declared(self, reported: SuiteReport) -> Decision:
        if reported.channel == "exit_code":
            return Decision("error", 0.0, ONLY_AN_EXIT_CODE)
        asked = ask(self.ids, reported.results)
        if asked.unclear:
            return Decision(
                "error", 0.0, f"several tests are called {some(asked.unclear)}; add the file name"
            )
        return Decision("pass" if asked.everything else "fail", asked.share, asked.why, asked.failing)


@dataclass(frozen=True)
class Pytest(RunsTests):
    """`tests` for Python: the same with pytest as the command.

    Why: most Python projects use it.
    Example: `{type: pytest, inject: [hidden/test_x.py], weight: 4}`
    Fooled by: what fools `tests`.
    """

    TYPE = "pytest"

    cmd: NonEmpty = PYTEST

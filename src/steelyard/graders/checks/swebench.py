"""Tests that failed must pass, and those that passed must still pass, as SWE-bench asks it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Literal, NamedTuple

from steelyard.bench.execution_spec import SuiteSpec
from steelyard.bench.runners import catalogue as runners
from steelyard.bench.suite.declared_ids import dotted_name
from steelyard.bench.suite.reported import SuiteReport
from steelyard.bench.suite.suite import Decision
from steelyard.bench.suite.suite_of_spec import suite_of
from steelyard.bench.transfer.hidden_files import patched_files
from steelyard.contract.catalogue import LintWarning, Material
from steelyard.contract.id_files import file_of
from steelyard.contract.model import NonEmpty
from steelyard.deferred.model import Field
from steelyard.filesystem.tree import Entry
from steelyard.graders.base import Case, TimeoutS
from steelyard.graders.checks.command_warnings import runner_warnings
from steelyard.graders.checks.ids import RequestedTests, ask, id_doubts, some
from steelyard.graders.checks.inject import Injects
from steelyard.graders.checks.runs_tests import ONLY_AN_EXIT_CODE, PYTEST, ReadsResults, RunnerName
from steelyard.graders.files.paths import PathInside
from steelyard.graders.grade import Grade

Resolution = Literal["full", "partial", "no"]
_CASE = re.compile(r"\.[A-Z_]\w*(\.\w+)?$")  # the class and the method at the end of pkg.mod.Case.test_x
LISTED_IDS = 1000


class ResolvedTests(NamedTuple):
    """What became of both sets."""

    fail_to_pass: RequestedTests
    pass_to_pass: RequestedTests

    @property
    def intact(self) -> bool:
        """Does everything still pass that did?"""
        return self.pass_to_pass.everything

    @property
    def score(self) -> float:
        return self.fail_to_pass.share if self.intact else 0.0

    @property
    def resolution(self) -> Resolution:
        if not self.score:
            return "no"
        return "full" if self.fail_to_pass.everything else "partial"

    @property
    def why(self) -> str:
        text = f"resolution {self.resolution}: fail_to_pass {self.fail_to_pass.why}"
        return text + (f"; pass_to_pass {self.pass_to_pass.why}" if self.pass_to_pass.total else "")


@dataclass(frozen=True)
class SweBench(ReadsResults):
    """The part of `fail_to_pass` that passes; 0, and the run fails, if any `pass_to_pass` test fails.

    The command is `cmd_prefix` followed by the files (or modules) of the ids. Each id must be reported once, as passed: a
    missing or skipped test fails. Ids are those of pytest or of unittest (`test_x (pkg.mod.Case)`), and `*` matches
    anything; a wildcard of `pass_to_pass` does not match tests that `fail_to_pass` names. Ids as SWE-bench shortens them
    are understood: `test_x[one` for `test_x[one two]`, `test_x[/z]` for `test_x[/y/z]`, the first line of a docstring;
    every test that may be meant must pass. `patch` is a test patch of the contract, applied exactly to the snapshot.
    `junit_xml` names the report that the command writes, for unknown runners. `data` in the grade has the `resolution`
    (`full`, `partial`, `no`) and every id.

    Why: a fix makes a failing test pass and breaks no other.
    Example: `{type: swebench, patch: tests.patch, fail_to_pass: ["tests/test_x.py::test_bug"], pass_to_pass: ["tests/test_x.py::*"]}`
    Fooled by: what fools `tests`, and tests that check less than the issue asks for.
    """

    TYPE = "swebench"

    fail_to_pass: Annotated[tuple[NonEmpty, ...], Field(min_length=1)]
    pass_to_pass: tuple[NonEmpty, ...] = ()
    inject: Injects = ()
    patch: NonEmpty | None = None
    cmd_prefix: NonEmpty = PYTEST
    junit_xml: PathInside | None = None
    test_files: tuple[NonEmpty, ...] = ()
    timeout_s: TimeoutS = 900.0
    runner: RunnerName = ""

    @property
    def UNDIGESTED(self) -> frozenset[str]:  # type: ignore[override]  # noqa: N802  # decided by an option
        """Contracts without a `junit_xml` keep the digest that they had before there was one."""
        return frozenset() if self.junit_xml else frozenset({"junit_xml"})

    def execution(self) -> SuiteSpec:
        declared = tuple(dict.fromkeys((*self.fail_to_pass, *self.pass_to_pass)))
        words = {"", *self.cmd_prefix.split()}
        named = dict.fromkeys(target for target in map(_target, declared) if target not in words)
        return SuiteSpec(
            command=" ".join([self.cmd_prefix, *map(shlex.quote, named)]),
            option="cmd_prefix",
            timeout_s=self.timeout_s,
            injected=self.injected,
            decide=self.decide,
            oracle_patterns=self.test_files,
            patch=self.patch,
            runner=self.runner,
            declared=declared,
            report=self.junit_xml or "",
        )

    def contract_files(self) -> tuple[str, ...]:
        return (*super().contract_files(), *([self.patch] if self.patch else []))

    def lint_warnings(self, baseline: Mapping[str, Entry]) -> tuple[LintWarning, ...]:
        del baseline
        both = [one for one in self.fail_to_pass if one in self.pass_to_pass]
        twice = LintWarning("pass_to_pass", f"in fail_to_pass too: {some(both)}", fatal=True)
        unread = LintWarning("cmd_prefix", ONLY_AN_EXIT_CODE, fatal=False)
        by_code = runners.runner_for(suite_of(self.execution()), self.runner).NAME == "exit_code"
        return (*([twice] if both else []), *([unread] if by_code else []))

    def file_warnings(self, material: Material) -> tuple[LintWarning, ...]:
        places = [dest for _, dest in self.injected]
        lint_warnings = (*super().file_warnings(material), *runner_warnings(self.execution(), material.tree))
        try:
            places += patched_files(self.patch, material) if self.patch else ()
        except ValueError as refused:
            return (*lint_warnings, LintWarning("patch", f"does not apply: {refused}", fatal=True))
        for option, ids in (("fail_to_pass", self.fail_to_pass), ("pass_to_pass", self.pass_to_pass)):
            lint_warnings += id_doubts(option, ids, material.baseline, places)
        return lint_warnings

    def resolve(self, reported: SuiteReport) -> ResolvedTests:
        wanted = ask(self.fail_to_pass, reported.results)
        return ResolvedTests(
            wanted, ask(self.pass_to_pass, reported.results, {*wanted.passed, *wanted.failed})
        )

    def decide_results(self, reported: SuiteReport) -> Decision:
        if reported.channel == "exit_code":
            return Decision("error", 0.0, ONLY_AN_EXIT_CODE)
        found = self.resolve(reported)
        unclear = (*found.fail_to_pass.unclear, *found.pass_to_pass.unclear)
        if unclear:
            return Decision("error", 0.0, f"several tests are called {some(unclear)}; add the file name")
        outcome: Literal["pass", "fail"] = "pass" if found.resolution == "full" else "fail"
        failing = (*found.fail_to_pass.failing, *found.pass_to_pass.failing)
        return Decision(outcome, found.score, found.why, failing)

    def grade(self, case: Case) -> Grade:
        grade = super().grade(case)
        if case.outcome is None or case.outcome.reported is None or grade.score is None:
            return grade
        reported = case.outcome.reported
        found = self.resolve(reported if not reported.problems else replace(reported, results=()))
        # A forged pass is none: what the bench decided stands above what the results say.
        resolution = found.resolution if grade.score else "no"
        data = {"resolution": resolution, **{name: _listed(asked) for name, asked in found._asdict().items()}}
        return replace(grade, data=data, disqualifies=not found.intact)


def _target(wanted: str) -> str:
    """What to tell the runner, so that it runs this test: its file, its module, or nothing when neither is known."""
    file = file_of(wanted)
    if "*" in file:
        return file.partition("*")[0].rpartition("/")[0] or "."
    return file or _CASE.sub("", dotted_name(wanted))


def _listed(asked: RequestedTests) -> dict[str, list[str]]:
    return {"passed": list(asked.passed[:LISTED_IDS]), "failed": list(asked.failing[:LISTED_IDS])}

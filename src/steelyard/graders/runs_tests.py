"""Tests that must pass, each of them looked at, on a fresh bench."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from steelyard.bench.reported import Reported
from steelyard.bench.suite import Decision
from steelyard.contract.catalogue import Doubt
from steelyard.contract.model import NonEmpty
from steelyard.contract.tree import Entry
from steelyard.graders.base import Case, Grader, TimeoutS
from steelyard.graders.grade import Grade
from steelyard.graders.inject import Injects, inject_doubts, injected


@dataclass(frozen=True)
class RunsTests(Grader):
    """passed / (passed + failed + errors) of the tests that `cmd` runs, or of the declared `ids`.

    Why: a suite says more than an exit code, and a part of the work deserves a part of the credit.
    Example: `{type: tests, cmd: "node --test test/", inject: [{src: hidden/a.test.js, dest: test/a.test.js}]}`
    Fooled by: code that recognises the tests and cheats only then, unless the oracle is split.
    """

    TYPE = "tests"
    UNDER = "acceptance"
    REQUIRED = False
    WEIGHT = 1.0
    EXECUTES = True
    DEFAULT_COMMAND: ClassVar[str] = ""

    cmd: NonEmpty | None = None
    inject: Injects = ()
    ids: tuple[NonEmpty, ...] = ()
    junit_xml: NonEmpty | None = None
    test_files: tuple[NonEmpty, ...] = ()
    timeout_s: TimeoutS = 900.0
    runner: str = ""

    @property
    def command(self) -> str:
        return self.cmd or self.DEFAULT_COMMAND

    @property
    def report(self) -> str:
        return self.junit_xml or ""

    @property
    def declared(self) -> tuple[str, ...]:
        return self.ids

    @property
    def injected(self) -> tuple[tuple[str, str], ...]:
        return injected(self.inject)

    def files(self) -> tuple[str, ...]:
        return tuple(src for src, _ in self.injected)

    def doubts(self, baseline: Mapping[str, Entry]) -> tuple[Doubt, ...]:
        del baseline
        return inject_doubts(self.inject)

    def decide(self, reported: Reported) -> Decision:
        failing = tuple(one.id for one in reported.results if one.outcome in {"failed", "error"})
        passed = len(reported.passed)
        total = passed + len(failing)
        if reported.problems or not total:
            why = reported.problems[0] if reported.problems else "no test ran"
            return Decision("fail", 0.0, why, failing)
        return Decision("fail" if failing else "pass", passed / total, f"{passed} of {total} passed", failing)

    def grade(self, case: Case) -> Grade:
        outcome = case.outcome
        if outcome is None:
            return Grade.error("never ran")
        if outcome.outcome == "error" or outcome.score is None:
            return Grade.error(outcome.why)
        return Grade(outcome.outcome, outcome.score, outcome.why, pointers=(f"checks/{case.name}/",))


@dataclass(frozen=True)
class Pytest(RunsTests):
    """`tests` for Python: the same with pytest as the command.

    Why: most Python projects have it, and it needs no further word.
    Example: `{type: pytest, inject: [hidden/test_x.py], weight: 4}`
    Fooled by: what fools `tests`.
    """

    TYPE = "pytest"
    DEFAULT_COMMAND = "python3 -m pytest -q -p no:cacheprovider"

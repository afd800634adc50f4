"""What two graders of changed test files have in common: which files they read, and how findings become a grade."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from steelyard.evidence.finding import Finding
from steelyard.filesystem.tree import printable
from steelyard.graders.base import Case, Grader, Patterns
from steelyard.graders.grade import Grade
from steelyard.graders.syntax.comparing.compare import SyntaxFinding
from steelyard.graders.tampering.changed_tests import TEST_GLOBSET, ChangedTests, changed_tests

NO_TESTS = "no test file changed"
MOST_FINDINGS = 50
WHY_CHARS = 200


@dataclass(frozen=True)
class ChangedTestsGrader(Grader):
    """Fails on what `find` finds in the changed test files; not applicable where there are none."""

    REQUIRED = False
    GOOD: ClassVar[str]
    BAD: ClassVar[str]

    test_globset: Patterns = TEST_GLOBSET

    def grade(self, case: Case) -> Grade:
        tests = changed_tests(case, self.test_globset)
        if not tests.count:
            return Grade.not_applicable(NO_TESTS)
        return _grade(self.find(tests), tests, self.GOOD, self.BAD)

    def find(self, tests: ChangedTests) -> list[SyntaxFinding]:
        raise NotImplementedError


def _grade(found: Sequence[SyntaxFinding], tests: ChangedTests, good: str, bad: str) -> Grade:
    notes = tuple(tests.notes)
    partly = f"; {len(notes)} not read as syntax" if notes else ""
    if not found:
        return Grade("pass", 1.0, f"{good} in {tests.count} changed test files{partly}", findings=notes)
    counts = ", ".join(
        f"{number} {slug}" for slug, number in sorted(Counter(one.id for one in found).items())
    )
    first = found[0]
    return Grade(
        "fail",
        0.0,
        f"{bad}: {counts}; first {_where(first)}{partly}",
        findings=(*found_findings(found), *notes),
    )


def found_findings(found: Sequence[SyntaxFinding]) -> tuple[Finding, ...]:
    return tuple(
        Finding(one.id, "warning", _where(one), printable(one.why[:WHY_CHARS]))
        for one in found[:MOST_FINDINGS]
    )


def _where(found: SyntaxFinding) -> str:
    return (
        f"{printable(found.path)} (was line {found.line})"
        if found.was
        else f"{printable(found.path)}:{found.line}"
    )

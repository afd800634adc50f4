"""What two graders of test files have in common: how findings become a grade."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from steelyard.evidence.finding import Finding
from steelyard.filesystem.tree import shown
from steelyard.graders.grade import Grade
from steelyard.graders.syntax.compare import Found
from steelyard.graders.tampering.changed_tests import ChangedTests

NO_TESTS = "no test file changed"
MOST_FINDINGS = 50
WHY_CHARS = 200


def graded(found: Sequence[Found], tests: ChangedTests, good: str, bad: str) -> Grade:
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


def found_findings(found: Sequence[Found]) -> tuple[Finding, ...]:
    return tuple(
        Finding(one.id, "warning", _where(one), shown(one.why[:WHY_CHARS])) for one in found[:MOST_FINDINGS]
    )


def _where(found: Found) -> str:
    return (
        f"{shown(found.path)} (was line {found.line})" if found.was else f"{shown(found.path)}:{found.line}"
    )

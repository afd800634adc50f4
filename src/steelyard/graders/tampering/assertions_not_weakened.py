"""Which tests assert less than they did."""

from __future__ import annotations

from dataclasses import dataclass

from steelyard.graders.syntax.compare import Found, weakenings
from steelyard.graders.syntax.lines import lost_assertion_lines
from steelyard.graders.tampering.changed_tests import ChangedTests
from steelyard.graders.tampering.weakening import ChangedTestsGrader


@dataclass(frozen=True)
class AssertionsNotWeakened(ChangedTestsGrader):
    """No assertion is gone, out of reach, always true or looser; no test or case is gone or no longer collected or run.

    Net over all changed test files: what moves, is renamed, reformatted, split, put in a table or in a helper that
    still asserts is not weaker. A changed expected value counts, since a test that expects the bug passes; so does a
    test that defines what it is about itself. Python,
    JavaScript, TypeScript, Go, Rust, Java and Ruby are read as syntax trees, other languages by counting lines that
    assert. Not applicable when no file that matches `test_globset` changed.

    Why: the cheapest way to make a test pass is to ask less of it.
    Example: `{type: assertions_not_weakened, test_globset: ["tests/*"]}`
    Fooled by: changed inputs, fixtures and patched modules, decorators and threads that lose a failure, and helpers in
    files that are not test files.
    """

    TYPE = "assertions_not_weakened"
    GOOD, BAD = "assertions as strict as before", "weakened"

    def find(self, tests: ChangedTests) -> list[Found]:
        return weaker(tests)


def weaker(tests: ChangedTests) -> list[Found]:
    """Every assertion, test and case that asks for less than it did."""
    found = weakenings(tests.old, tests.new, tests.renamed)
    return found + [
        Found("assertion_removed", path, line, True, "a line that asserts was removed")
        for path, line in lost_assertion_lines(tests.by_line)
    ]

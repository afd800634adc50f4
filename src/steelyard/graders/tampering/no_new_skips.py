"""Which tests were switched off."""

from __future__ import annotations

from dataclasses import dataclass

from steelyard.graders.syntax.comparing.compare import SyntaxFinding
from steelyard.graders.syntax.comparing.lines import new_skip_lines
from steelyard.graders.syntax.comparing.new_skips import new_skips
from steelyard.graders.tampering.changed_tests import ChangedTests
from steelyard.graders.tampering.weakening import ChangedTestsGrader


@dataclass(frozen=True)
class NoNewSkips(ChangedTestsGrader):
    """No test is skipped, expected to fail or left out that was not before: markers, calls, options, `.only`.

    It counts the net effect over all changed test files, so a test may move together with its marker. Python, JavaScript, TypeScript, Go,
    Rust, Java and Ruby are read as syntax trees, other languages line by line. A conditional skip counts and
    is reported as such. Not applicable when no file that matches `test_globset` changed.

    Why: a failing test that is skipped looks like a passing run.
    Example: `{type: no_new_skips}`
    Fooled by: a condition in a plugin, a runner's configuration, or a marker that is built at run time.
    """

    TYPE = "no_new_skips"
    GOOD, BAD = "no new skips", "new skip"

    def find(self, tests: ChangedTests) -> list[SyntaxFinding]:
        return find_new_skips(tests)


def find_new_skips(tests: ChangedTests) -> list[SyntaxFinding]:
    """Every test that is skipped and was not before."""
    found = new_skips(tests.old, tests.new, tests.renamed)
    return found + [
        SyntaxFinding("new_skip", path, line, False, "looks like a skip")
        for path, line in new_skip_lines(tests.by_line)
    ]

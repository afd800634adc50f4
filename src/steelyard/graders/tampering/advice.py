"""What was done to the tests -> findings of every run, whether or not a grader of the contract asks.

They say where to look and change no grade: a contract that wants them to decide lists `no_new_skips` or
`assertions_not_weakened`.
"""

from __future__ import annotations

from collections.abc import Iterable

from steelyard.bench.transfer.oracle import files as oracle_files
from steelyard.contract.catalogue import GraderEntry
from steelyard.evidence.finding import Finding
from steelyard.filesystem.tree import printable
from steelyard.graders.base import Case
from steelyard.graders.tampering import assertions_not_weakened, changed_tests, no_new_skips, weakening

MOST_FILES = 50
# Each pattern of `TEST_GLOBSET` has one of these in it.
TEST_WORDS = ("test", "spec", ".rs")


def advice(case: Case, entries: Iterable[GraderEntry]) -> tuple[Finding, ...]:
    """Tests of the snapshot that were changed or deleted, new skips, weaker assertions; not what a grader says itself."""
    try:
        return _advice(case, entries) if case.change.complete and case.change.file_entries else ()
    except Exception as defect:  # noqa: BLE001  # a defect of an advisory grader must not fail the gate beside it
        return (Finding("no_advice", "info", "", f"internal error while comparing tests: {defect!r}"),)


def _advice(case: Case, entries: Iterable[GraderEntry]) -> tuple[Finding, ...]:
    findings = _edited(case)
    if not any(is_maybe_test(path) for entry in case.change.file_entries for path in entry.paths):
        return findings  # what reads tests takes 15 ms to load
    declared = {
        entry.type
        for entry in entries
        if isinstance(entry.grader, no_new_skips.NoNewSkips | assertions_not_weakened.AssertionsNotWeakened)
        and entry.grader.test_globset == changed_tests.TEST_GLOBSET
    }
    if {no_new_skips.NoNewSkips.TYPE, assertions_not_weakened.AssertionsNotWeakened.TYPE} <= declared:
        return findings
    tests = changed_tests.changed_tests(case, changed_tests.TEST_GLOBSET)
    if no_new_skips.NoNewSkips.TYPE not in declared:
        findings += weakening.found_findings(no_new_skips.find_new_skips(tests))
    if assertions_not_weakened.AssertionsNotWeakened.TYPE not in declared:
        findings += weakening.found_findings(assertions_not_weakened.weaker(tests))
    return findings


def is_maybe_test(path: str) -> bool:
    """Whether a path may match `TEST_GLOBSET`."""
    return any(word in path.lower() for word in TEST_WORDS)


def _edited(case: Case) -> tuple[Finding, ...]:
    were = [(one.renamed_from or one.path, one) for one in case.change.file_entries if one.old is not None]
    tests = oracle_files.OracleFiles(case.baseline if were else ())
    edited = [(path, entry) for path, entry in were if path in tests]
    findings = [
        Finding("test_deleted", "warning", printable(path), "a test of the snapshot is gone")
        if entry.new is None
        else Finding("test_changed", "info", printable(path), "a test of the snapshot was changed")
        for path, entry in edited[:MOST_FILES]
    ]
    more = len(edited) - MOST_FILES
    if more > 0:
        findings.append(Finding("test_changed", "info", "", f"and {more} more tests of the snapshot"))
    return tuple(findings)

"""What was done to the tests -> findings of every run, whether or not a grader of the contract asks.

They say where to look and change no grade: a contract that wants them to decide lists `no_new_skips` or
`assertions_not_weakened`.
"""

from __future__ import annotations

from collections.abc import Iterable

from steelyard.bench.transfer.oracle.files import OracleFiles
from steelyard.contract.catalogue import GraderEntry
from steelyard.evidence.finding import Finding
from steelyard.filesystem.tree import shown
from steelyard.graders.base import Case
from steelyard.graders.tampering.assertions_not_weakened import AssertionsNotWeakened, weaker
from steelyard.graders.tampering.changed_tests import TEST_GLOBSET, changed_tests
from steelyard.graders.tampering.no_new_skips import NoNewSkips, skipped
from steelyard.graders.tampering.weakening import found_findings

MOST_FILES = 50


def advice(case: Case, entries: Iterable[GraderEntry]) -> tuple[Finding, ...]:
    """Tests of the snapshot that were changed or deleted, new skips, weaker assertions; not what a grader says itself."""
    try:
        return _advice(case, entries) if case.change.complete else ()
    except Exception as defect:  # noqa: BLE001  # a defect of an advisory grader must not fail the gate beside it
        return (Finding("no_advice", "info", "", f"internal error while comparing tests: {defect!r}"),)


def _advice(case: Case, entries: Iterable[GraderEntry]) -> tuple[Finding, ...]:
    declared = {
        entry.type
        for entry in entries
        if isinstance(entry.grader, NoNewSkips | AssertionsNotWeakened)
        and entry.grader.test_globset == TEST_GLOBSET
    }
    findings = _edited(case)
    if {NoNewSkips.TYPE, AssertionsNotWeakened.TYPE} <= declared:
        return findings
    tests = changed_tests(case, TEST_GLOBSET)
    if NoNewSkips.TYPE not in declared:
        findings += found_findings(skipped(tests))
    if AssertionsNotWeakened.TYPE not in declared:
        findings += found_findings(weaker(tests))
    return findings


def _edited(case: Case) -> tuple[Finding, ...]:
    were = [(one.renamed_from or one.path, one) for one in case.change.file_entries if one.old is not None]
    tests = OracleFiles(case.baseline if were else ())
    edited = [(path, entry) for path, entry in were if path in tests]
    findings = [
        Finding("test_deleted", "warning", shown(path), "a test of the snapshot is gone")
        if entry.new is None
        else Finding("test_changed", "info", shown(path), "a test of the snapshot was changed")
        for path, entry in edited[:MOST_FILES]
    ]
    more = len(edited) - MOST_FILES
    if more > 0:
        findings.append(Finding("test_changed", "info", "", f"and {more} more tests of the snapshot"))
    return tuple(findings)

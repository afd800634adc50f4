"""CTRF, a JSON that reporters for many runners write -> results.

{"results": {"summary": {"tests": 2, "passed": 1, "failed": 1, ...},
             "tests": [{"name": "adds", "status": "passed", "suite": "cart", "filePath": "...", "flaky": false}]}}
"""

from __future__ import annotations

from typing import Any

from steelyard.bench.reports.base import RERUN, as_declared, join_id, one_result, some
from steelyard.bench.reports.loading import json_object, number, rows, table, texts, word
from steelyard.bench.suite.reported import Result, ResultOutcome

_STATUS: dict[str, ResultOutcome] = {
    "passed": "passed",
    "failed": "failed",
    "skipped": "skipped",
    "pending": "skipped",
}  # "other" is what the reporter could not name: an error


def parse_ctrf(data: bytes) -> list[Result]:
    report = table(json_object(data).get("results"), "results")
    summary = table(report.get("summary"), "summary")
    tests = rows(report.get("tests"), "tests")
    results = [_result(one) for one in tests]
    as_declared("tests", summary.get("tests"), len(tests), results)
    for status in ("passed", "failed"):
        found = sum(word(one, "status") == status for one in tests)
        as_declared(f"{status} tests", summary.get(status), found, results)
    return some(results)


def _result(row: dict[str, Any]) -> Result:
    suite = row.get("suite")
    if isinstance(suite, list):
        suite = " > ".join(texts(suite))
    outcome, detail = _STATUS.get(word(row, "status"), "error"), word(row, "message")
    if outcome == "passed" and (row.get("flaky") is True or number(row, "retries") > 0):
        outcome, detail = "failed", f"{RERUN}: {detail}".rstrip(": ")
    return one_result(join_id(suite, word(row, "name")), outcome, detail, word(row, "filePath"))

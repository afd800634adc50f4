"""The JSON of jest (`--json --outputFile`) and of vitest's json reporter -> results.

    {"success": false, "numTotalTests": 2, "testResults": [
      {"name": "/workspace/cart.test.js", "status": "failed", "message": "...", "assertionResults": [
        {"ancestorTitles": ["cart"], "title": "adds", "status": "passed", "invocations": 1, "failureMessages": []}]}]}

A test is `file::describe > title`. A file that failed without a failing test is an error of its own: it did not load,
or something threw outside of its tests.
"""

from __future__ import annotations

from typing import Any

from steelyard.bench.reports.base import (
    RERUN,
    BadReport,
    as_declared,
    in_workspace,
    join_id,
    one_result,
    some,
)
from steelyard.bench.reports.loading import first_text, json_object, number, rows, texts, word
from steelyard.bench.suite.reported import Result, ResultOutcome

_STATUS: dict[str, ResultOutcome] = {
    "passed": "passed",
    "failed": "failed",
    **dict.fromkeys(("pending", "skipped", "todo", "disabled", "focused"), "skipped"),
}


def parse_jest(data: bytes) -> list[Result]:
    report = json_object(data)
    results: list[Result] = []
    tests: list[Result] = []
    for file in rows(report.get("testResults"), "testResults"):
        own = [_result(one, word(file, "name")) for one in rows(file.get("assertionResults"), "tests")]
        tests += own
        results += own
        if word(file, "status") == "failed" and not any(one.outcome == "failed" for one in own):
            name = in_workspace(file.get("name"))
            results.append(
                one_result(name, "error", file.get("message") or "failed outside of its tests", name)
            )
    as_declared("tests", report.get("numTotalTests"), len(tests), results)
    _agrees(report, results)
    return some(results)


def _result(row: dict[str, Any], file: str) -> Result:
    name = " > ".join([*texts(row.get("ancestorTitles")), word(row, "title") or word(row, "fullName")])
    outcome: ResultOutcome = _STATUS.get(word(row, "status"), "error")
    detail = first_text(row.get("failureMessages"))
    if outcome == "passed" and row.get("failing") is True:
        outcome, detail = "skipped", "expected to fail"
    elif outcome == "passed" and (number(row, "invocations") > 1 or detail):
        # vitest keeps the failures of the earlier tries and no count of them.
        outcome, detail = "failed", f"{RERUN}: {detail}".rstrip(": ")
    return one_result(join_id(in_workspace(file), name), outcome, detail, file, row.get("title"))


def _agrees(report: dict[str, Any], results: list[Result]) -> None:
    if report.get("wasInterrupted") is True:
        raise BadReport("the run was interrupted", results)
    bad = any(one.outcome in {"failed", "error"} and not one.detail.startswith(RERUN) for one in results)
    if report.get("success") is not (not bad):
        summary = "success" if report.get("success") is True else "no success"
        raise BadReport(f"the report says {summary}; its tests say otherwise", results)

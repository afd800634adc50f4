"""RSpec's json formatter -> results.

{"examples": [{"full_description": "cart adds", "status": "passed", "file_path": "./spec/cart_spec.rb",
               "exception": {"message": "..."}, "pending_message": null}],
 "summary": {"example_count": 1, "failure_count": 0, "errors_outside_of_examples_count": 0}}
"""

from __future__ import annotations

from typing import Any

from steelyard.bench.reports.base import (
    BadReport,
    as_declared,
    in_workspace,
    join_id,
    one_line,
    one_result,
    some,
)
from steelyard.bench.reports.loading import first_text, json_object, number, rows, table, word
from steelyard.bench.suite.reported import Result, ResultOutcome

_STATUS: dict[str, ResultOutcome] = {"passed": "passed", "failed": "failed", "pending": "skipped"}


def parse_rspec(data: bytes) -> list[Result]:
    report = json_object(data)
    summary = table(report.get("summary"), "summary")
    results = [_result(one) for one in rows(report.get("examples"), "examples")]
    outside = number(summary, "errors_outside_of_examples_count")
    if outside:
        message = one_line(first_text(report.get("messages")))
        raise BadReport(f"{outside} errors outside of examples: {message}", results)
    as_declared("examples", summary.get("example_count"), len(results), results)
    failed = sum(one.outcome == "failed" for one in results)
    as_declared("failures", summary.get("failure_count"), failed, results)
    return some(results)


def _result(row: dict[str, Any]) -> Result:
    error = row.get("exception")
    detail = word(error, "message") if isinstance(error, dict) else word(row, "pending_message")
    file = word(row, "file_path")
    name = word(row, "full_description") or word(row, "description")
    outcome = _STATUS.get(word(row, "status"), "error")
    return one_result(join_id(in_workspace(file), name), outcome, detail, file)

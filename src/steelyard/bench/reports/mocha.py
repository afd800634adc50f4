"""Mocha's json reporter -> results.

    {"stats": {"passes": 1, "failures": 1, "pending": 0}, "tests": [...],
     "passes": [{"fullTitle": "cart adds", "file": "/workspace/test/cart.js", "currentRetry": 0, "err": {}}],
     "failures": [...], "pending": [...]}

A hook that fails is among the failures under its own title; the tests that it kept from running are nowhere.
"""

from __future__ import annotations

from typing import Any

from steelyard.bench.reports.base import RERUN, as_declared, in_workspace, join_id, one_result, some
from steelyard.bench.reports.loading import json_object, number, rows, table, word
from steelyard.bench.suite.reported import Result, ResultOutcome

_LISTS: tuple[tuple[str, ResultOutcome], ...] = (
    ("passes", "passed"),
    ("failures", "failed"),
    ("pending", "skipped"),
)


def parse_mocha(data: bytes) -> list[Result]:
    report = json_object(data)
    stats = table(report.get("stats"), "stats")
    results: list[Result] = []
    for name, outcome in _LISTS:
        results += [_result(one, outcome) for one in rows(report.get(name, []), name)]
    for name, _ in _LISTS:
        as_declared(name, stats.get(name), len(report.get(name, [])), results)
    return some(results)


def _result(row: dict[str, Any], outcome: ResultOutcome) -> Result:
    error = row.get("err")
    detail = word(error, "message") if isinstance(error, dict) else ""
    if outcome == "passed" and number(row, "currentRetry") > 0:
        outcome, detail = "failed", RERUN
    file = word(row, "file")
    title = word(row, "title")
    return one_result(
        join_id(in_workspace(file), word(row, "fullTitle") or title), outcome, detail, file, title
    )

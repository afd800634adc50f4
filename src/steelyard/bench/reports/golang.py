"""`go test -json` -> results.

    {"Action": "run",  "Package": "example.com/shop/cart", "Test": "TestAdd/by_2"}
    {"Action": "pass", "Package": "example.com/shop/cart", "Test": "TestAdd/by_2"}
    {"Action": "pass", "Package": "example.com/shop/cart"}

A test is `package::test`. A test that never ended was stopped by a panic, if its package failed; in a package that
passed did not end normally. A test that ended without having begun was printed, not run.
"""

from __future__ import annotations

import re
from dataclasses import field
from typing import Any

from steelyard.bench.reports.base import RERUN, BadReport, join_id, one_result, some
from steelyard.bench.reports.loading import json_lines, word
from steelyard.bench.suite.reported import MAX_RESULTS, MAX_TEXT, WORST_FIRST, Result, ResultOutcome
from steelyard.deferred.data_class import dataclass

_ENDS: dict[str, ResultOutcome] = {"pass": "passed", "bench": "passed", "fail": "failed", "skip": "skipped"}
_UNBUILT = re.compile(rb"^FAIL\t([^\s]{1,500}) \[(?:build|setup) failed\]$", re.MULTILINE)
_FRAMES = ("=== ", "--- ", "FAIL", "PASS", "ok ", "exit status")


@dataclass
class _TestRecord:
    """What is known of one test, or of a package: its ends so far."""

    running: bool = False
    ends: list[ResultOutcome] = field(default_factory=list)
    output: str = ""
    unbegun: bool = False


def parse_go(data: bytes) -> list[Result]:
    packages: dict[str, _TestRecord] = {}
    tests: dict[tuple[str, str], _TestRecord] = {}
    for event in json_lines(data):
        if not isinstance(event.get("Action"), str):
            continue
        package, name = word(event, "Package"), word(event, "Test")
        if not package and event["Action"].startswith("build-"):
            package = word(event, "ImportPath").partition(" ")[0]
        _add_event(
            packages.setdefault(package, _TestRecord())
            if not name
            else tests.setdefault((package, name), _TestRecord()),
            event,
        )
        if name:
            packages.setdefault(package, _TestRecord())
        if len(tests) + len(packages) > MAX_RESULTS:
            raise BadReport(f"the report has more than {MAX_RESULTS} tests")
    for unbuilt in _UNBUILT.findall(data):  # before Go 1.24 the only report of it, and not in JSON
        packages.setdefault(unbuilt.decode(errors="replace"), _TestRecord()).ends.append("failed")
    return _results(packages, tests)


def _add_event(record: _TestRecord, event: dict[str, Any]) -> None:
    action, name = event["Action"], word(event, "Test")
    if action == "run":
        record.running = True
    elif action in {"output", "build-output"} and len(record.output) < MAX_TEXT:
        line = word(event, "Output").strip()
        record.output += "" if line.startswith(_FRAMES) else f"{line[:MAX_TEXT]} "
    elif action == "build-fail":
        record.ends.append("failed")
    elif action in _ENDS:
        record.unbegun |= bool(name) and not record.running and action == "pass"
        record.running = False
        record.ends.append(_ENDS[action])


def _results(packages: dict[str, _TestRecord], tests: dict[tuple[str, str], _TestRecord]) -> list[Result]:
    results: list[Result] = []
    problems: list[str] = []
    bad: set[str] = set()
    for (package, name), record in tests.items():
        result = _result(join_id(package, name), record)
        results.append(result)
        if result.outcome in {"failed", "error"}:
            bad.add(package)
        if record.running and "failed" not in packages[package].ends:
            problems.append(f"{result.id} began and never ended")
    for package, record in packages.items():
        if not record.ends:
            problems.append(f"{package or 'a package'} never ended")
        elif "failed" in record.ends and package not in bad:
            results.append(one_result(package, "error", record.output or "failed outside of its tests"))
    if problems:
        raise BadReport(problems[0], results)
    return some(results)


def _result(id_: str, record: _TestRecord) -> Result:
    if record.running:
        return one_result(id_, "error", f"never ended: {record.output}".rstrip(": "))
    if record.unbegun:
        return one_result(id_, "error", "ended without having begun")
    if not record.ends:
        return one_result(id_, "error", "no result")
    worst = min(record.ends, key=WORST_FIRST.index)
    if worst == "failed" and record.ends[-1] == "passed":
        return one_result(id_, "failed", f"{RERUN}: {record.output}".rstrip(": "))
    return one_result(id_, worst, "" if worst == "passed" else record.output)

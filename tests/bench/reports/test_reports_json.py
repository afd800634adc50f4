"""The JSON of jest, vitest, mocha, RSpec and CTRF."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from steelyard.bench.reports.base import RERUN, BadReport
from steelyard.bench.reports.ctrf import parse_ctrf
from steelyard.bench.reports.jest import parse_jest
from steelyard.bench.reports.mocha import parse_mocha
from steelyard.bench.reports.rspec import parse_rspec
from steelyard.bench.suite.reported import Result

REPORTS = Path(__file__).parent / "samples"
Parse = Callable[[bytes], list[Result]]


def load(name: str) -> Any:
    return json.loads((REPORTS / name).read_bytes())


def outcomes(parse: Parse, report: Any) -> dict[str, str]:
    return {one.id: one.outcome for one in parse(json.dumps(report).encode())}


def why_refused(parse: Parse, report: Any) -> str:
    with pytest.raises(BadReport) as caught:
        parse(json.dumps(report).encode())
    return str(caught.value)


def test_jest_is_read() -> None:
    assert outcomes(parse_jest, load("jest.json")) == {
        "cart.test.js::cart > adds": "passed",
        "cart.test.js::cart > removes": "failed",
        "cart.test.js::cart > later": "skipped",
        "cart.test.js::cart > some day": "skipped",
        "cart.test.js::cart > deep > times 1": "passed",
        "cart.test.js::cart > deep > times 2": "passed",
        "flaky.test.js::passes when run again": "failed",
        "broken.test.js": "error",
    }


def test_vitest_is_read() -> None:
    assert outcomes(parse_jest, load("vitest.json")) == {
        "broken.test.js": "error",
        "cart.test.js::cart > adds": "passed",
        "cart.test.js::cart > removes": "failed",
        "cart.test.js::cart > later": "skipped",
        "cart.test.js::cart > some day": "skipped",
        "cart.test.js::cart > is known to fail": "passed",  # nothing in its report says so
        "cart.test.js::cart > deep > times 1": "passed",
        "cart.test.js::cart > deep > times 2": "passed",
        "flaky.test.js::passes when run again": "failed",
    }


def test_mocha_is_read() -> None:
    assert outcomes(parse_mocha, load("mocha.json")) == {
        "test/cart.js::cart adds": "passed",
        "test/cart.js::cart deep times 1": "passed",
        "test/cart.js::cart deep times 2": "passed",
        "test/cart.js::flaky passes when run again": "failed",
        "test/cart.js::cart removes": "failed",
        'test/cart.js::cart hooked "before all" hook for "never runs"': "failed",
        "test/cart.js::cart later": "skipped",
        "test/cart.js::cart some day": "skipped",
    }


@pytest.mark.parametrize("parse", [parse_jest, parse_mocha])
def test_a_test_is_also_known_by_its_title_alone(parse: Parse) -> None:
    name = "jest.json" if parse is parse_jest else "mocha.json"
    assert {one.title for one in parse(json.dumps(load(name)).encode())} > {"adds", "removes"}


def test_rspec_is_read() -> None:
    assert outcomes(parse_rspec, load("rspec.json")) == {
        "spec/cart_spec.rb::cart adds": "passed",
        "spec/cart_spec.rb::cart removes": "failed",
        "spec/cart_spec.rb::cart later": "skipped",
        "spec/cart_spec.rb::cart some day": "skipped",
        "spec/cart_spec.rb::cart is known to fail": "skipped",
        "spec/cart_spec.rb::cart is expected to eq 1": "passed",
    }


@pytest.mark.parametrize(
    ("parse", "name"), [(parse_jest, "jest"), (parse_jest, "vitest"), (parse_mocha, "mocha")]
)
def test_a_test_that_passed_when_run_again_says_so(parse: Parse, name: str) -> None:
    results = parse((REPORTS / f"{name}.json").read_bytes())
    (flaky,) = [one for one in results if one.id.endswith("passes when run again")]
    assert flaky.detail.startswith(RERUN)


def test_a_test_that_jest_expects_to_fail_is_no_pass() -> None:
    report = load("jest.json")
    report["testResults"][0]["assertionResults"][0]["failing"] = True
    assert outcomes(parse_jest, report)["cart.test.js::cart > adds"] == "skipped"


def test_a_jest_that_was_interrupted_is_refused() -> None:
    assert "interrupted" in why_refused(parse_jest, {**load("jest.json"), "wasInterrupted": True})


def test_a_jest_that_says_success_over_failing_tests_is_refused() -> None:
    assert "says success" in why_refused(parse_jest, {**load("jest.json"), "success": True})


def test_a_jest_that_says_no_success_over_passing_tests_is_refused() -> None:
    report = {"success": False, "numTotalTests": 1, "testResults": [file_of("passed")]}
    assert "no success" in why_refused(parse_jest, report)


def file_of(status: str) -> dict[str, Any]:
    return {
        "name": "/workspace/a.test.js",
        "status": status,
        "assertionResults": [{"title": "a", "status": status}],
    }


def test_a_jest_with_a_status_of_its_own_invention_is_no_pass() -> None:
    report = {"success": False, "numTotalTests": 1, "testResults": [file_of("splendid")]}
    assert outcomes(parse_jest, report) == {"a.test.js::a": "error"}


@pytest.mark.parametrize(
    ("parse", "name", "place"),
    [
        (parse_jest, "jest.json", ("numTotalTests",)),
        (parse_mocha, "mocha.json", ("stats", "passes")),
        (parse_mocha, "mocha.json", ("stats", "failures")),
        (parse_rspec, "rspec.json", ("summary", "example_count")),
        (parse_rspec, "rspec.json", ("summary", "failure_count")),
    ],
)
def test_a_count_that_is_not_that_of_the_tests_is_refused(
    parse: Parse, name: str, place: tuple[str, ...]
) -> None:
    report = load(name)
    inner = report if len(place) == 1 else report[place[0]]
    inner[place[-1]] += 1
    assert "declares" in why_refused(parse, report)


def test_an_rspec_file_that_does_not_load_is_refused() -> None:
    assert "outside of examples" in why_refused(parse_rspec, load("rspec_broken.json"))


def ctrf(*tests: dict[str, Any], **summary: int) -> dict[str, Any]:
    counted = {"tests": len(tests), "passed": sum(one["status"] == "passed" for one in tests), **summary}
    return {"results": {"tool": {"name": "x"}, "summary": counted, "tests": list(tests)}}


def test_ctrf_is_read() -> None:
    report = ctrf(
        {"name": "adds", "status": "passed", "suite": "cart"},
        {"name": "removes", "status": "failed", "suite": ["shop", "cart"], "message": "2 != 1"},
        {"name": "later", "status": "pending"},
        {"name": "odd", "status": "other"},
        {"name": "flaky", "status": "passed", "flaky": True},
        {"name": "retried", "status": "passed", "retries": 2},
    )
    assert outcomes(parse_ctrf, report) == {
        "cart::adds": "passed",
        "shop > cart::removes": "failed",
        "later": "skipped",
        "odd": "error",
        "flaky": "failed",
        "retried": "failed",
    }


def test_a_ctrf_that_declares_other_counts_is_refused() -> None:
    assert "declares" in why_refused(parse_ctrf, ctrf({"name": "a", "status": "passed"}, passed=2))


@pytest.mark.parametrize(
    ("parse", "empty"),
    [
        (parse_jest, {"success": True, "numTotalTests": 0, "testResults": []}),
        (parse_mocha, {"stats": {}, "passes": [], "failures": [], "pending": []}),
        (parse_rspec, {"summary": {"example_count": 0}, "examples": []}),
        (parse_ctrf, ctrf()),
    ],
)
def test_a_report_without_a_test_is_refused(parse: Parse, empty: dict[str, Any]) -> None:
    assert why_refused(parse, empty) == "the report has no test in it"


@pytest.mark.parametrize("parse", [parse_jest, parse_mocha, parse_rspec, parse_ctrf])
@pytest.mark.parametrize(
    "data", [b"", b"[]", b"null", b"{", b"{}", b"[" * 100_000, b'{"stats": 1}', b"\xff\xfe"]
)
def test_what_is_something_else_is_refused(parse: Parse, data: bytes) -> None:
    with pytest.raises(BadReport):
        parse(data)


def test_half_characters_in_a_name_can_be_written_down() -> None:
    report = {"success": True, "numTotalTests": 1, "testResults": [file_of("passed")]}
    data = json.dumps(report).replace('"title": "a"', r'"title": "\ud800 a"').encode()
    assert parse_jest(data)[0].id.encode()

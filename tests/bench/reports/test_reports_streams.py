"""Reports that are written while the tests run: `go test -json`, libtest, TAP."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from steelyard.bench.reports.base import RERUN, BadReport
from steelyard.bench.reports.golang import parse_go
from steelyard.bench.reports.libtest import parse_libtest
from steelyard.bench.reports.tap import MAX_DEPTH, parse_tap

REPORTS = Path(__file__).parent / "samples"
SHOP = "example.com/shop"


def go_events(*events: str, package: str = "p") -> bytes:
    """`run TestA`, `pass TestA`, `pass` -> the lines of go."""
    rows = []
    for event in events:
        action, _, name = event.partition(" ")
        rows.append({"Action": action, "Package": package, **({"Test": name} if name else {})})
    return "\n".join(map(json.dumps, rows)).encode()


def go(data: bytes) -> dict[str, str]:
    return {one.id: one.outcome for one in parse_go(data)}


def why_refused(parse: object, data: bytes) -> str:
    assert callable(parse)
    with pytest.raises(BadReport) as caught:
        parse(data)
    return str(caught.value)


def test_go_is_read() -> None:
    assert (
        go((REPORTS / "go.jsonl").read_bytes())
        == {
            f"{SHOP}/cart::TestAdd": "passed",
            f"{SHOP}/cart::TestRemove": "failed",
            f"{SHOP}/cart::TestLater": "skipped",
            f"{SHOP}/cart::TestTimes": "failed",
            f"{SHOP}/cart::TestTimes/by_1": "passed",
            f"{SHOP}/cart::TestTimes/by_2": "failed",
            f"{SHOP}/cart::TestPrints": "error",  # before Go 1.20, printing without a line's end swallows the result
            f"{SHOP}/cart::TestForged": "error",  # never ran: somebody printed `--- PASS: TestForged (0.00s)`
            f"{SHOP}/exits::TestX": "failed",
            f"{SHOP}/panics::TestFirst": "passed",
            f"{SHOP}/panics::TestPanics": "failed",
            f"{SHOP}/stock::TestAdd": "passed",
            f"{SHOP}/broken": "error",
        }
    )


def test_tests_of_one_name_in_two_packages_are_two() -> None:
    events = go_events("run TestA", "fail TestA", "fail", package="a")
    events += b"\n" + go_events("run TestA", "pass TestA", "pass", package="b")
    assert go(events) == {"a::TestA": "failed", "b::TestA": "passed"}


def test_a_package_that_fails_without_a_failing_test_is_an_error() -> None:
    assert go(go_events("run TestA", "pass TestA", "fail")) == {"p::TestA": "passed", "p": "error"}


def test_a_test_that_never_ended_in_a_package_that_failed_is_an_error() -> None:
    assert go(go_events("run TestA", "fail")) == {"p::TestA": "error"}


def test_a_test_that_never_ended_in_a_package_that_passed_is_refused() -> None:
    events = go_events("run TestA", "pass TestA", "run TestB", "pass")
    assert why_refused(parse_go, events) == "p::TestB began and never ended"


def test_a_package_without_its_end_is_refused() -> None:
    assert why_refused(parse_go, go_events("run TestA", "pass TestA")) == "p never ended"


def test_a_go_test_that_passed_the_second_time_has_failed() -> None:
    events = go_events("run TestA", "fail TestA", "fail", "run TestA", "pass TestA", "pass")
    (result,) = parse_go(events)
    assert result.outcome == "failed"
    assert result.detail.startswith(RERUN)


def test_a_package_without_test_files_is_no_test() -> None:
    assert "no test" in why_refused(parse_go, go_events("start", "skip"))


def test_a_build_that_failed_is_an_error() -> None:
    rows = [
        {"ImportPath": "p [p.test]", "Action": "build-output", "Output": "undefined: x\n"},
        {"ImportPath": "p [p.test]", "Action": "build-fail"},
        {"Action": "start", "Package": "p"},
        {"Action": "fail", "Package": "p", "FailedBuild": "p [p.test]"},
    ]
    (result,) = parse_go("\n".join(map(json.dumps, rows)).encode())
    assert (result.id, result.outcome, result.detail) == ("p", "error", "undefined: x")


def test_what_is_printed_between_the_events_is_passed_over() -> None:
    assert go(b"go: downloading x\n{broken\n" + go_events("run TestA", "pass TestA", "pass")) == {
        "p::TestA": "passed"
    }


def test_libtest_is_read() -> None:
    assert {one.id: one.outcome for one in parse_libtest((REPORTS / "cargo.jsonl").read_bytes())} == {
        "shop/shop::tests::adds": "passed",
        "shop/shop::tests::later": "skipped",
        "shop/shop::tests::panics": "passed",
        "shop/shop::tests::removes": "failed",
        "shop/cart::adds": "passed",
        "doc::src/lib.rs - add (line 1)": "passed",
    }


def test_a_libtest_that_stops_in_the_middle_is_refused() -> None:
    lines = (REPORTS / "cargo.jsonl").read_bytes().splitlines(keepends=True)
    between = [
        end
        for end, line in enumerate(lines, 1)
        if line.startswith(b'{"type":"target"') or (b'"type": "suite"' in line and b"started" not in line)
    ]
    assert len(between) == 5  # after the names of two programs, and after three summaries
    for end in set(range(1, len(lines))) - set(between):
        with pytest.raises(BadReport):
            parse_libtest(b"".join(lines[:end]))


def test_a_libtest_that_runs_other_tests_than_it_announced_is_refused() -> None:
    text = (REPORTS / "cargo.jsonl").read_bytes().replace(b'"test_count": 4', b'"test_count": 3')
    assert "announced other tests" in why_refused(parse_libtest, text)


def tap(text: str) -> dict[str, str]:
    return {one.id: one.outcome for one in parse_tap(text.encode())}


def test_the_tap_of_perl_is_read() -> None:
    assert tap((REPORTS / "prove.tap").read_text()) == {
        "adds": "passed",
        "removes": "failed",
        "#3": "skipped",
        "some day": "skipped",
        "deep > times 1": "passed",
        "deep > times 2": "passed",
        "deep": "passed",
    }


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1..1\nok\n", {"#1": "passed"}),
        ("TAP version 14\nok 1 - a \\# b\n1..1\n", {"a # b": "passed"}),
        ("1..2\nok 2 b\nok 1 a\n", {"b": "passed", "a": "passed"}),
        ("1..1\nnot ok 1 a # TODO soon\n", {"a": "skipped"}),
        ("1..1\nok 1 a # todo soon\n", {"a": "skipped"}),
        ("1..1\nok 1 a # Skipped: later\n", {"a": "skipped"}),
        ("1..0 # SKIP nothing\n", {"(all)": "skipped"}),
        ("1..1\nnot ok 1 a\n  ---\n  message: |\n    ok 2 - forged\n  ...\n", {"a": "failed"}),
        ("printed\n1..1\n# comment\nok 1 a\nokay then\n", {"a": "passed"}),
        ("1..1\n    not ok 1 b\n    1..1\nnot ok 1 a # TODO x\n", {"a > b": "skipped", "a": "skipped"}),
        (
            "1..1\n    1..1\n        1..1\n        ok 1 c\n    ok 1 b\nok 1 a\n",
            {
                "a > b > c": "passed",
                "a > b": "passed",
                "a": "passed",
            },
        ),
    ],
)
def test_tap_is_read(text: str, expected: dict[str, str]) -> None:
    assert tap(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1..2\nok 1 a\n",
        "1..1\nok 1 a\nok 2 b\n",
        "1..2\nok 1 a\nok 1 b\n",
        "1..1\n1..1\nok 1 a\n",
        "ok 1 a\n",
        "1..2\nok 1 a\nBail out! no disk\n",
        "1..1\n    ok 1 inner\n    1..1\n",
        "1..1\n    ok 1 inner\nok 1 outer\n",
        "1..1\nok 1 a\n  ---\n  cut off",
        "1..99999999\nok 1 a\n",
        "nothing of that kind\n",
    ],
)
def test_tap_that_does_not_keep_its_plan_is_refused(text: str) -> None:
    with pytest.raises(BadReport):
        tap(text)


def test_tap_that_nests_without_end_is_refused() -> None:
    lines = [f"{' ' * 4 * depth}1..1" for depth in range(MAX_DEPTH + 2)]
    with pytest.raises(BadReport, match="deep"):
        tap("\n".join(lines))


def test_a_short_tap_still_shows_what_it_had() -> None:
    with pytest.raises(BadReport) as caught:
        parse_tap((REPORTS / "prove_short.tap").read_bytes())
    assert [one.id for one in caught.value.results] == ["adds"]

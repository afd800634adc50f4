"""Whatever a report holds, reading it ends with results or with the one documented fault."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steelyard.bench.reports.base import MAX_REPORT_BYTES, BadReport
from steelyard.bench.reports.ctrf import parse_ctrf
from steelyard.bench.reports.golang import parse_go
from steelyard.bench.reports.jest import parse_jest
from steelyard.bench.reports.junit import parse_junit
from steelyard.bench.reports.libtest import parse_libtest
from steelyard.bench.reports.mocha import parse_mocha
from steelyard.bench.reports.rspec import parse_rspec
from steelyard.bench.reports.tap import parse_tap
from steelyard.bench.suite.reported import MAX_TEXT, WORST_FIRST, Result, SuiteReport, merge_results

REPORTS = Path(__file__).parent / "samples"
Parse = Callable[[bytes], list[Result]]
PARSERS: tuple[Parse, ...] = (
    parse_junit,
    parse_jest,
    parse_mocha,
    parse_rspec,
    parse_ctrf,
    parse_go,
    parse_libtest,
    parse_tap,
)
SAMPLES = sorted(path.read_bytes() for path in REPORTS.iterdir())
each_parser = pytest.mark.parametrize("parse", PARSERS, ids=lambda parse: parse.__name__)

json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
names = st.text(
    st.characters(min_codepoint=32, max_codepoint=0x2FFF, exclude_categories=["Cc", "Cs", "Zl", "Zp"]),
    min_size=1,
    max_size=30,
).map(lambda text: f"t{text}".strip())


def read(parse: Parse, data: bytes) -> None:
    """Results that can be kept, or a BadReport with such results."""
    try:
        results = parse(data)
    except BadReport as bad:
        results = list(bad.results)
    for one in results:
        assert one.outcome in WORST_FIRST
        assert one.id
        assert max(len(one.id), len(one.detail), len(one.file)) <= 3 * MAX_TEXT
    json.dumps(SuiteReport("x", "report_file", merge_results(results)).to_json(), ensure_ascii=False).encode()


@each_parser
@settings(max_examples=60)
@given(data=st.binary(max_size=300))
def test_any_bytes_are_read_or_refused(parse: Parse, data: bytes) -> None:
    read(parse, data)


@each_parser
@settings(max_examples=60)
@given(data=st.data())
def test_a_damaged_report_is_read_or_refused(parse: Parse, data: st.DataObject) -> None:
    sample = data.draw(st.sampled_from(SAMPLES))
    start = data.draw(st.integers(0, len(sample)))
    end = data.draw(st.integers(start, min(len(sample), start + 40)))
    read(parse, sample[:start] + data.draw(st.binary(max_size=10)) + sample[end:])


def replaced(value: Any, place: int, new: Any) -> tuple[Any, int]:
    """`value` with its `place`-th part exchanged; what is left of `place` comes back."""
    if place == 0:
        return new, -1
    place -= 1
    if isinstance(value, dict):
        changed = {}
        for name, part in value.items():
            changed[name], place = replaced(part, place, new) if place >= 0 else (part, place)
        return changed, place
    if isinstance(value, list):
        parts = []
        for part in value:
            one, place = replaced(part, place, new) if place >= 0 else (part, place)
            parts.append(one)
        return parts, place
    return value, place


@pytest.mark.parametrize(
    ("parse", "name"),
    [(parse_jest, "jest"), (parse_jest, "vitest"), (parse_mocha, "mocha"), (parse_rspec, "rspec")],
)
@settings(max_examples=60)
@given(place=st.integers(0, 200), new=json_values)
def test_any_value_in_the_place_of_another_is_read_or_refused(
    parse: Parse, name: str, place: int, new: Any
) -> None:
    report, _ = replaced(json.loads((REPORTS / f"{name}.json").read_bytes()), place, new)
    read(parse, json.dumps(report).encode())


@settings(max_examples=60)
@given(
    rows=st.lists(
        st.dictionaries(st.sampled_from(["Action", "Package", "Test", "Output"]), json_values), max_size=5
    )
)
def test_any_events_of_go_are_read_or_refused(rows: list[dict[str, Any]]) -> None:
    read(parse_go, "\n".join(map(json.dumps, rows)).encode())


@settings(max_examples=60)
@given(
    rows=st.lists(
        st.dictionaries(
            st.sampled_from(["type", "event", "name", "test_count"]),
            json_values | st.sampled_from(["suite", "test", "target", "started", "ok", "failed"]),
        ),
        max_size=8,
    )
)
def test_any_events_of_libtest_are_read_or_refused(rows: list[dict[str, Any]]) -> None:
    read(parse_libtest, "\n".join(map(json.dumps, rows)).encode())


CHILD = {"passed": "", "failed": "<failure/>", "error": "<error/>", "skipped": "<skipped/>"}


@settings(max_examples=60)
@given(tests=st.lists(st.tuples(names, names, st.sampled_from(sorted(CHILD))), min_size=1, max_size=8))
def test_what_is_written_as_junit_is_read_back(tests: list[tuple[str, str, str]]) -> None:
    cases = "".join(
        f"<testcase classname={quoteattr(group)} name={quoteattr(name)}>{CHILD[outcome]}</testcase>"
        for group, name, outcome in tests
    )
    bad = sum(outcome in {"failed", "error"} for _, _, outcome in tests)
    text = f"<testsuite name='s' tests='{len(tests)}' failures='{bad}'>{cases}</testsuite>"
    back = [(one.id, one.outcome) for one in parse_junit(text.encode())]
    assert [outcome for _, outcome in back] == [outcome for _, _, outcome in tests]
    for (id_, _), (_, name, _) in zip(back, tests, strict=True):
        assert " ".join(name.split())[-10:] in " ".join(id_.split())


@settings(max_examples=60)
@given(outcomes=st.lists(st.sampled_from(["passed", "failed", "skipped"]), min_size=1, max_size=20))
def test_what_is_written_as_tap_is_read_back(outcomes: list[str]) -> None:
    words = {"passed": "ok", "failed": "not ok", "skipped": "ok"}
    lines = [
        f"{words[outcome]} {number} - t{number}{' # SKIP x' if outcome == 'skipped' else ''}"
        for number, outcome in enumerate(outcomes, 1)
    ]
    text = "\n".join([*lines, f"1..{len(lines)}"])
    assert [one.outcome for one in parse_tap(text.encode())] == outcomes


@settings(max_examples=60)
@given(outcomes=st.lists(st.sampled_from(["pass", "fail", "skip"]), min_size=1, max_size=20))
def test_what_is_written_as_events_of_go_is_read_back(outcomes: list[str]) -> None:
    rows: list[dict[str, str]] = []
    for number, outcome in enumerate(outcomes):
        rows += [{"Action": action, "Package": "p", "Test": f"Test{number}"} for action in ("run", outcome)]
    rows.append({"Action": "fail" if "fail" in outcomes else "pass", "Package": "p"})
    named = {"pass": "passed", "fail": "failed", "skip": "skipped"}
    results = parse_go("\n".join(map(json.dumps, rows)).encode())
    assert [one.outcome for one in results] == [named[outcome] for outcome in outcomes]


@settings(max_examples=60)
@given(cut=st.integers(0, 2000))
def test_a_json_report_that_was_cut_off_is_never_a_pass(cut: int) -> None:
    whole = (REPORTS / "mocha.json").read_bytes().rstrip()
    with pytest.raises(BadReport):
        parse_mocha(whole[: min(cut, len(whole) - 1)])


@pytest.mark.parametrize(
    ("parse", "start", "piece"),
    [
        (parse_junit, b"<testsuite>", b"<a/>"),
        (parse_junit, b"<testsuite>", b"<testsuite>"),
        (parse_jest, b'{"testResults":[', b"{},"),
        (parse_mocha, b'{"stats":[', b"[],"),
        (parse_rspec, b"{", b'"ab":0,'),
        (parse_go, b"", b"{}\n"),
        (parse_libtest, b"", b"\n"),
        (parse_tap, b"", b"x\n"),
    ],
)
def test_a_report_of_millions_of_nothings_is_refused(parse: Parse, start: bytes, piece: bytes) -> None:
    """Each of them is cheap to write; all of them together would take gigabytes to read."""
    with pytest.raises(BadReport):
        parse(start + piece * (MAX_REPORT_BYTES // len(piece) - 20))

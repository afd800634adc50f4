"""The JSON lines of Rust's libtest (`cargo test -- -Z unstable-options --format json`) -> results.

    {"type": "target", "name": "shop/cart"}                         ours: which program speaks next
    { "type": "suite", "event": "started", "test_count": 1 }
    { "type": "test", "event": "started", "name": "adds" }
    { "type": "test", "name": "adds", "event": "ok" }
    { "type": "suite", "event": "ok", "passed": 1, "failed": 0, "ignored": 0, "measured": 0, ... }

A test is `target::name`. Tests of the documentation have no program of their own; theirs is `doc`.
"""

from __future__ import annotations

from dataclasses import field
from typing import Any

from steelyard.bench.reports.base import BadReport, join_id, one_result, some
from steelyard.bench.reports.loading import json_lines, number, word
from steelyard.bench.suite.reported import MAX_RESULTS, Result, ResultOutcome
from steelyard.deferred.data_class import dataclass

_EVENTS: dict[str, ResultOutcome] = {
    "ok": "passed",
    "failed": "failed",
    "ignored": "skipped",
}
_DOC = "doc"


@dataclass
class _Stream:
    results: list[Result] = field(default_factory=list)
    target: str = _DOC
    open: bool = False
    in_suite: int = 0
    begun: set[str] = field(default_factory=set)

    def hear(self, event: dict[str, Any]) -> None:
        kind, what = word(event, "type"), word(event, "event")
        if kind == "target":
            self.target = word(event, "name") or _DOC
        elif kind == "suite" and what == "started":
            self.no_open_suite()
            self.open, self.in_suite, self.begun = True, number(event, "test_count"), set()
        elif kind == "suite":
            self._suite_ends()
        elif kind in {"test", "bench"}:
            self._test(kind, what, event)

    def _test(self, kind: str, what: str, event: dict[str, Any]) -> None:
        name = word(event, "name")
        if what == "started":
            self.begun.add(name)
        elif kind == "bench" or what in {"ok", "failed", "ignored"}:
            self.begun.discard(name)
            self.in_suite -= 1
            text = word(event, "message") or word(event, "stdout")
            outcome = _EVENTS.get(what, "passed" if kind == "bench" else "error")
            self.results.append(
                one_result(join_id(self.target, name), outcome, "" if outcome == "passed" else text)
            )

    def _suite_ends(self) -> None:
        if not self.open:
            raise BadReport("a suite ended that had not begun", self.results)
        if self.in_suite or self.begun:
            raise BadReport(f"{self.target} announced other tests than it ran", self.results)
        self.open, self.target = False, _DOC

    def no_open_suite(self) -> None:
        if self.open:
            raise BadReport(f"{self.target} never ended", self.results)


def parse_libtest(data: bytes) -> list[Result]:
    stream = _Stream()
    for event in json_lines(data):
        stream.hear(event)
        if len(stream.results) > MAX_RESULTS:
            break
    else:
        stream.no_open_suite()
    return some(stream.results)

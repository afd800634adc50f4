"""TAP 12, 13 and 14 -> results.

    TAP version 14
    1..2
    # Subtest: deep
        ok 1 - adds
        1..1
    ok 1 - deep
    not ok 2 - removes # TODO some day

A test inside another is `deep > adds`. No plan, two plans, or a plan that the tests do not fulfil: not a report. What
belongs to a test with SKIP or TODO is skipped with it. Anything that is not TAP was printed in between.
"""

from __future__ import annotations

import re
from dataclasses import field, replace

from steelyard.bench.reports.base import BadReport, lines_of, one_line, one_result, some
from steelyard.bench.suite.reported import MAX_RESULTS, Result, ResultOutcome
from steelyard.deferred.data_class import dataclass

MAX_DEPTH = 20
MAX_LINE = 10_000
_INDENT = 4
_TEST = re.compile(r"(not )?ok\b *([0-9]{1,9})?(?: *-)? *(.*)")
_PLAN = re.compile(r"1\.\.([0-9]{1,9})(?: *#(.*))?\s*")
_DIRECTIVE = re.compile(r"(?<!\\)# *(skip|todo)\w*[: ]*(.*)", re.IGNORECASE)


@dataclass
class _Level:
    """One stream of tests: the whole, or those inside one test."""

    results: list[Result] = field(default_factory=list)
    plan: int | None = None
    numbers: list[int] = field(default_factory=list)
    skipped: str | None = None  # why all of it was, by `1..0 # SKIP`


@dataclass
class _Reader:
    levels: list[_Level] = field(default_factory=lambda: [_Level()])
    total: int = 0

    def line(self, line: str) -> None:
        text = line.lstrip(" ")
        depth, odd = divmod(len(line) - len(text), _INDENT)
        if odd or depth > len(self.levels):
            return
        if text.startswith("Bail out!"):
            raise BadReport(one_line(text), self.so_far())
        if (plan := _PLAN.fullmatch(text)) is not None:
            self._plan(self._at(depth), int(plan.group(1)), plan.group(2))
        elif (test := _TEST.fullmatch(text)) is not None:
            self._test(depth, test)

    def so_far(self) -> list[Result]:
        return [result for level in self.levels for result in level.results]

    def end(self) -> list[Result]:
        while len(self.levels) > 1:  # tests inside a test that never came
            raise BadReport("the report ends within a test", self.so_far())
        return self._closed(self.levels.pop())

    def _at(self, depth: int) -> _Level:
        if depth >= MAX_DEPTH:
            raise BadReport("tests nest too deep", self.so_far())
        if depth == len(self.levels):
            self.levels.append(_Level())
        if depth + 1 < len(self.levels):
            raise BadReport("a plan where the tests within a test should end", self.so_far())
        return self.levels[depth]

    def _plan(self, level: _Level, count: int, comment: str | None) -> None:
        if level.plan is not None:
            raise BadReport("two plans", self.so_far())
        level.plan = count
        level.skipped = one_line(comment or "nothing to run") if count == 0 else None

    def _test(self, depth: int, test: re.Match[str]) -> None:
        if depth >= MAX_DEPTH:
            raise BadReport("tests nest too deep", self.so_far())
        inner = self.levels.pop() if depth + 2 == len(self.levels) else None
        if depth + 1 < len(self.levels):
            raise BadReport("a test ends with tests within it still open", self.so_far())
        if depth == len(self.levels):
            self.levels.append(_Level())
        level = self.levels[depth]
        self.total += 1
        if self.total > MAX_RESULTS:
            raise BadReport(f"the report has more than {MAX_RESULTS} tests", self.so_far())
        number = int(test.group(2)) if test.group(2) else len(level.numbers) + 1
        level.numbers.append(number)
        result, excused = _result(test, number)
        for one in self._closed(inner) if inner else ():
            outcome: ResultOutcome = "skipped" if excused else one.outcome
            level.results.append(replace(one, id=one_line(f"{result.id} > {one.id}"), outcome=outcome))
        level.results.append(result)

    def _closed(self, level: _Level) -> list[Result]:
        if level.plan is None:
            raise BadReport("no plan: the report may be cut off", [*self.so_far(), *level.results])
        if sorted(level.numbers) != list(range(1, min(level.plan, MAX_RESULTS) + 1)):
            why = f"planned {level.plan} tests and has {len(level.numbers)}"
            if len(level.numbers) == level.plan:
                why = "test numbers are not those of the plan"
            raise BadReport(why, [*self.so_far(), *level.results])
        if level.skipped is not None:
            return [one_result("(all)", "skipped", level.skipped)]
        return level.results


def parse_tap(data: bytes) -> list[Result]:
    return some(tap_results(data))


def tap_results(data: bytes) -> list[Result]:
    reader = _Reader()
    diagnosis = ""  # the indent of an open YAML block: nothing in it is TAP
    for raw in lines_of(data):
        line = raw[:MAX_LINE].decode(errors="replace").rstrip("\r ")
        if diagnosis:
            diagnosis = "" if line == f"{diagnosis}..." else diagnosis
        elif line.endswith("---") and line[:-3].isspace() and len(line) % _INDENT == 1:
            diagnosis = line[:-3]
        else:
            reader.line(line)
    if diagnosis:
        raise BadReport("the report ends within a diagnosis", reader.so_far())
    return reader.end()


def _result(test: re.Match[str], number: int) -> tuple[Result, bool]:
    outcome: ResultOutcome = "failed" if test.group(1) else "passed"
    description = test.group(3)
    directive = _DIRECTIVE.search(description)
    detail = ""
    if directive is not None:
        outcome, detail = "skipped", f"{directive.group(1).lower()}: {directive.group(2)}".rstrip(": ")
        description = description[: directive.start()]
    name = description.replace("\\#", "#").replace("\\\\", "\\").strip()
    return one_result(name or f"#{number}", outcome, detail), directive is not None

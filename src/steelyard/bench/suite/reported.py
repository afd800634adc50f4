"""What a test runner reported, as far as it may be believed.

A `Result` is one test, once: ids reported twice were merged by the runner's adapter, and the worst of them stands.
A `SuiteReport` with a problem can never be a pass, whatever its results say: the process that should have reported the
end of the story did not, or said two things at once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Literal

from steelyard.deferred.data_class import dataclass

ResultOutcome = Literal["passed", "failed", "error", "skipped"]
FAILING = frozenset({"failed", "error"})
# How the results came to us, the best first: from our reporter beside the tests, from a report that the
# project's own runner wrote, or not at all: an exit code is one result for the whole command.
Channel = Literal["reporter", "report_file", "exit_code"]
WORST_FIRST: tuple[ResultOutcome, ...] = ("error", "failed", "skipped", "passed")
MAX_RESULTS = 100_000
NEVER_RAN = "it did not finish"  # the detail of a test that was announced and has no result
MAX_TEXT = 500  # characters of an id or a detail that are kept; both are the candidate's to choose


@dataclass(frozen=True, slots=True)
class Result:
    """How one test ended. An expected failure and an unexpected pass are `skipped`: neither is evidence."""

    id: str
    outcome: ResultOutcome
    detail: str = ""  # why it did not pass, one line
    file: str = ""  # in the workspace, when the runner knows: where the test is written
    title: str = ""  # what its runner prints: the first line of a docstring, a title without its suites


@dataclass(frozen=True, slots=True)
class SuiteReport:
    """One execution of a suite, as reported by its runner."""

    runner: str  # pytest, node, junit, ...
    channel: Channel
    results: tuple[Result, ...] = ()
    problems: tuple[str, ...] = ()  # why this is not a pass whatever the results say
    tampering: tuple[str, ...] = ()  # what the tripwire saw: the runner was changed while it ran
    own_runner: bool = False  # the repository is (part of) its own test runner

    @property
    def passed(self) -> tuple[Result, ...]:
        return tuple(result for result in self.results if result.outcome == "passed")

    @property
    def counts(self) -> Mapping[ResultOutcome, int]:
        return Counter(result.outcome for result in self.results)

    def to_json(self) -> dict[str, Any]:
        return {
            "runner": self.runner,
            "channel": self.channel,
            "counts": {name: self.counts[name] for name in WORST_FIRST if self.counts[name]},
            "results": [_row(one) for one in self.results],
            "problems": list(self.problems),
            "tampering": list(self.tampering),
            "own_runner": self.own_runner,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> SuiteReport:
        fields = {name: value for name, value in data.items() if name != "counts"}
        fields["results"] = tuple(Result(*row) for row in fields["results"])
        for name in ("problems", "tampering"):
            fields[name] = tuple(fields[name])
        return cls(**fields)


def _row(one: Result) -> list[str]:
    return [one.id, one.outcome, one.detail, one.file, *([one.title] if one.title else [])]


def merge_results(results: Iterable[Result]) -> tuple[Result, ...]:
    """Each id once, in the order of first appearance; of several reports of one id the worst stands."""
    seen: dict[str, Result] = {}
    for one in results:
        result = replace(one, id=one.id[:MAX_TEXT], detail=one.detail[:MAX_TEXT])
        before = seen.get(result.id)
        if before is None or WORST_FIRST.index(result.outcome) < WORST_FIRST.index(before.outcome):
            seen[result.id] = result
    return tuple(seen.values())

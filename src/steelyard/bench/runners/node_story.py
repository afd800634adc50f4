"""What one process of Node sent over its results channel -> results, problems, tampering.

    a1b2 0 ["B", "v20.20.2", ...]      nonce, number, record; the records are in inside/node/preload.mjs
    a1b2 1 ["P", 1, "adds", "", "sums > adds", 0]

There are two reports, the test runner's events and the test bodies that ended. A pass is believed when both
have it: an event without a body that ended well is forged.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import field
from typing import Any, NamedTuple

from steelyard.bench.suite.reported import MAX_RESULTS, NEVER_RAN, Result, ResultOutcome
from steelyard.deferred.data_class import dataclass

MAX_RECORDS = 8 * MAX_RESULTS
MAX_DEPTH = 100
_BROKEN = frozenset({"hookFailed", "cancelledByParent", "parentAlreadyFinished"})
_FIELDS: dict[str, tuple[type, ...]] = {
    "B": (str, int, int, int, int, int, str),
    "P": (int, str, str, str, int),
    "M": (),
    "W": (int, str),
    "H": (),
    "S": (int, str),
    "E": (str, int, str, str, str, str, str, str),
    "U": (str,),
    "T": (str,),
    "Z": (int, int),
}
_NESTING = {"S": 1, "E": 2}  # where a record says how deep it is


class Event(NamedTuple):
    how: str  # pass | fail
    path: tuple[str, ...]
    flag: (
        str  # skip | todo | expected; no more than a word when the test failed and was not registered as such
    )
    kind: str  # suite
    detail: str
    failure: str

    @property
    def clean(self) -> bool:
        return self.how == "pass" and not self.flag


class Source(NamedTuple):
    """What the text of the file says about itself, looked at before it ran."""

    registers: bool = False  # it calls node:test
    exits: bool = False  # it names process.exit
    checks: bool = False  # it asserts something
    catches: bool = False  # it names uncaughtException
    digest: str = ""


@dataclass
class Story:
    begun: Source | None = None
    names: dict[int, str] = field(default_factory=dict)  # of the tests that were registered
    paths: list[str] = field(default_factory=list)  # of those that are no suites, from the outermost title on
    # By path: every test of it was registered as skip or todo
    declared: dict[str, bool] = field(default_factory=dict)
    whole: bool = False  # the file ran to its end
    ended: dict[int, set[str]] = field(default_factory=dict)  # how their bodies ended
    hooks_threw: int = 0
    events: list[Event] = field(default_factory=list)
    uncaught: list[str] = field(default_factory=list)
    tampering: list[str] = field(default_factory=list)
    natural: bool | None = None  # None: no last word
    problem: str = ""
    _open: list[str] = field(default_factory=list)

    def hear(self, record: list[Any]) -> None:
        match record:
            case ["B", _, mentions, calls, exits, checks, catches, digest]:
                self.begun = Source(
                    bool(mentions and calls), bool(exits), bool(checks), bool(catches), digest
                )
            case ["P", n, name, kind, path, declared]:
                self.declared[path] = self.declared.get(path, True) and bool(declared)
                self.names[n] = name
                self.paths += [] if kind else [path]
            case ["W", n, how]:
                self.ended.setdefault(n, set()).add(how)
            case ["H" | "M" as kind]:
                self.hooks_threw += kind == "H"
                self.whole |= kind == "M"
            case ["S", nesting, name]:
                self._open = [*self._open[:nesting], name]
            case ["E", how, nesting, name, flag, kind, _, detail, failure]:
                path = (*self._open[:nesting], name)
                self.events.append(Event(how, path, self._believed(how, path, flag), kind, detail, failure))
            case ["U", message]:
                self.uncaught.append(message)
            case ["T", what]:
                self.tampering.append(what)
            case ["Z", natural, _]:
                self.natural = bool(natural)

    def _believed(self, how: str, path: tuple[str, ...], flag: str) -> str:
        """Any code can call `t.todo()` while a test runs: a test that failed then has failed."""
        return flag if how == "pass" or self.declared.get(" > ".join(path)) else ""


def parse_story(nonce: str, output: bytes) -> Story:
    """Everything that was sent with the nonce. A line without it makes the rest worthless."""
    story = Story()
    for number, line in enumerate(output.split(b"\n")[:-1]):
        record = _record(nonce, number, line)
        if record is None or story.natural is not None or number > MAX_RECORDS:
            story.problem = "something else wrote on the results channel"
            return story
        story.hear(record)
    if output and not output.endswith(b"\n"):
        story.problem = "the results end in the middle of a line"
    return story


def results(story: Story, file: str) -> list[Result]:
    """Each test of the file. A suite is one only when it failed by itself: a hook of its, or its body."""
    seen: Counter[str] = Counter()
    found = []
    for event in story.events:
        if event.kind == "suite" and (event.how == "pass" or event.failure == "subtestsFailed"):
            continue
        name = f"{file}::{' > '.join(event.path)}"
        seen[name] += 1
        again = f" #{seen[name]}" if seen[name] > 1 else ""
        found.append(Result(name + again, _outcome(event), _line(event.detail), file))
    return found


def unreported_tests(story: Story, file: str) -> list[Result]:
    """The tests that were registered and have no result."""
    reported = Counter(" > ".join(event.path) for event in story.events)
    return [Result(f"{file}::{path}", "error", NEVER_RAN, file) for path in Counter(story.paths) - reported]


def find_tampering(story: Story) -> Iterator[str]:
    """What was replaced, and every pass that no body stands for."""
    yield from story.tampering
    good = Counter(story.names[n] for n, how in story.ended.items() if how == {"ok"} and n in story.names)
    passed = Counter(event.path[-1] for event in story.events if event.clean)
    for name, count in passed.items():
        if count > good[name]:
            yield f"{name}: reported as passed, although its body did not finish"
    if story.hooks_threw and all(event.how == "pass" for event in story.events):
        yield "a hook failed, but no failure was reported"


def unfinished_test(story: Story) -> str:
    """The name of a test that was registered and never reported."""
    left = Counter(story.names.values()) - Counter(event.path[-1] for event in story.events)
    return next(iter(left), "")


def _record(nonce: str, number: int, line: bytes) -> list[Any] | None:
    prefix = f"{nonce} {number} ".encode()
    if not line.startswith(prefix):
        return None
    try:
        record = json.loads(line[len(prefix) :])
    except (ValueError, RecursionError):
        return None
    shape = _FIELDS.get(str(record[0])) if isinstance(record, list) and record else None
    if shape is None or len(record) != len(shape) + 1:
        return None
    if not all(isinstance(one, kind) for one, kind in zip(record[1:], shape, strict=True)):
        return None
    nesting = record[_NESTING[record[0]]] if record[0] in _NESTING else 0
    # A text of JavaScript may have half of a character, which no record of a run can hold.
    whole = [one.encode(errors="replace").decode() if isinstance(one, str) else one for one in record]
    return whole if 0 <= nesting <= MAX_DEPTH else None


def _outcome(event: Event) -> ResultOutcome:
    if event.flag:
        return "skipped"
    if event.how == "pass":
        return "passed"
    return "error" if event.failure in _BROKEN else "failed"


def _line(detail: str) -> str:
    return " ".join(detail.split())

"""Declared ids and a report -> which tests were asked for, and how each of them ended.

    tests/test_a.py::test_x[0-3]     the whole id; brackets are letters like any other
    test_x[0-3]                      what follows the file, where only one file has it
    tests/test_a.py::*               `*` is the only wildcard; each test that it finds is asked for
    test_x (pkg.test_a.Case)         as unittest and Django write it; also pkg.test_a.Case.test_x
    Adds one to a number.            the first line of its docstring, as unittest's verbose output has it; for jest and
                                     mocha the title without its suites: each test that has it is asked for
    tests/test_a.py::test_x[one      as SWE-bench writes `test_x[one two]`: each test that begins so is asked for
    tests/test_a.py::test_x[/last]   and `test_x[/path/to/last]`

An id that matches no test counts as not passed, and so does a skipped test. A result that the bench found to be of no
test of the suite matches no id.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from steelyard.bench.suite import expected
from steelyard.bench.suite.declared_ids import Names
from steelyard.bench.suite.reported import Result
from steelyard.contract.catalogue import LintWarning
from steelyard.contract.id_files import file_of, without_file
from steelyard.filesystem.tree import Entry, printable

_SHOWN = 3


@dataclass(frozen=True, slots=True)
class RequestedTests:
    """The tests that some declared ids ask for; each is in one of these, once."""

    passed: tuple[str, ...]
    failed: tuple[str, ...]  # reported, not as passed
    absent: tuple[str, ...]  # declared, and nowhere in the report
    unclear: tuple[str, ...]  # declared, and the name of several tests, which all passed

    @property
    def total(self) -> int:
        return len(self.passed) + len(self.failing)

    @property
    def failing(self) -> tuple[str, ...]:
        return (*self.failed, *self.absent, *self.unclear)

    @property
    def share(self) -> float:
        return len(self.passed) / self.total if self.total else 0.0

    @property
    def everything(self) -> bool:
        return not self.failing

    @property
    def why(self) -> str:
        text = f"{len(self.passed)} of {self.total} passed"
        for word, ids in (("not passed", self.failed), ("not reported", self.absent)):
            text += f"; {word}: {some(ids)}" if ids else ""
        return text


def ask(declared: Iterable[str], results: Sequence[Result], besides: Collection[str] = ()) -> RequestedTests:
    """`besides` are ids of results that no wildcard may take, since other patterns name them."""
    names = Names.of(filter(expected.is_of_the_suite, results))
    taken: dict[str, bool] = {}
    absent, unclear = [], []
    for wanted in dict.fromkeys(declared):
        exact = names.named(wanted)
        found = exact or names.short(wanted) or [one for one in names.like(wanted) if one.id not in besides]
        if not found:
            absent.append(wanted)
        elif len(exact) > 1 and all(one.outcome == "passed" for one in exact):
            # All the same to the candidate, but the contract does not say what it wants. Had one of them failed,
            # it would be a failure: a second test of that name does not undo one.
            unclear.append(wanted)
        elif len(exact) > 1:
            taken[wanted] = False
        else:
            taken |= {one.id: one.outcome == "passed" for one in found}
    return RequestedTests(
        tuple(one for one, passed in taken.items() if passed),
        tuple(one for one, passed in taken.items() if not passed),
        tuple(absent),
        tuple(unclear),
    )


def id_doubts(
    option: str, ids: Sequence[str], baseline: Mapping[str, Entry], places: Iterable[str]
) -> tuple[LintWarning, ...]:
    """Ids in files that will not be there."""
    return tuple(
        LintWarning(
            f"{option}[{number}]",
            f"{file_of(ids[number])} is neither in the snapshot nor injected",
            fatal=True,
        )
        for number in without_file(ids, baseline, tuple(places))
    )


def some(ids: Sequence[str]) -> str:
    """The first few, safe to print: the candidate may have had a hand in them."""
    more = len(ids) - _SHOWN
    return ", ".join(printable(one) for one in ids[:_SHOWN]) + (f" and {more} more" if more > 0 else "")

"""How the tests of a suite behave on a trusted tree, when halves of them are changed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from steelyard.bench.runners.base import RunnerResult
from steelyard.bench.suite.reported import Result, SuiteReport
from steelyard.bench.suite.suite import Suite
from steelyard.bench.twin.trusted import Facts, try_draws
from steelyard.sandboxes.base import CommandResult, ExitStats

FILE = "tests/test_x.py"
NAMES = [f"test_{letter}" for letter in "abcdefgh"]
SOURCE = "".join(f"def {name}():\n    assert f() == {number}\n\n" for number, name in enumerate(NAMES))
# (the tests that are changed in this run, its number) -> the tests that fail in it
Failing = Callable[[set[str], int], set[str]]


@dataclass
class Bench:
    failing: Failing
    suite: Suite = field(default_factory=lambda: Suite("pytest"))
    finished: CommandResult = field(default_factory=lambda: CommandResult(0))
    runs: int = 0

    def run(self, instead: Mapping[str, bytes] | None = None) -> tuple[RunnerResult, ExitStats]:
        self.runs += 1
        now = (instead or {}).get(FILE, SOURCE.encode()).decode().split("\n\n")
        changed = {
            name
            for name, before, text in zip(NAMES, SOURCE.split("\n\n"), now, strict=False)
            if before != text
        }
        bad = self.failing(changed, self.runs)
        results = [Result(f"{FILE}::{one}", "failed" if one in bad else "passed", "", FILE) for one in NAMES]
        return RunnerResult(self.finished, SuiteReport("pytest", "reporter", tuple(results))), ExitStats()

    def source(self, path: str) -> bytes | None:
        return SOURCE.encode() if path == FILE else None


def facts(failing: Failing, finished: CommandResult | None = None) -> tuple[Facts, bool]:
    plain = Bench(lambda changed, _: changed).run()[0].reported
    return try_draws(Bench(failing, finished=finished or CommandResult(0)), [FILE], plain)


def test_tests_that_do_not_depend_on_each_other_are_changed_one_by_one() -> None:
    found, is_normal = facts(lambda changed, _: changed)
    assert (found.grain, found.unsteady, is_normal) == ("test", frozenset(), True)
    assert found.reliable == {(FILE, name) for name in NAMES}


def test_tests_that_all_fail_after_another_failed_are_changed_together() -> None:
    """One file, no classes: one coin for a class or a file is one for the suite."""
    found, _ = facts(lambda changed, _: set(NAMES) if changed else set())
    assert found.grain != "test"
    assert found.unsteady == frozenset()


def test_a_test_that_fails_now_and_then_is_unsteady_and_coarsens_nothing() -> None:
    found, _ = facts(lambda changed, run: changed | ({"test_a"} if run in {2, 3} else set()))
    assert found.grain == "test"
    assert found.unsteady <= {f"{FILE}::test_a"}


def test_a_test_that_passes_although_it_is_changed_is_not_reliable() -> None:
    found, _ = facts(lambda changed, _: changed - {"test_b"})
    assert (FILE, "test_b") not in found.reliable
    assert (FILE, "test_c") in found.reliable


def test_a_run_that_does_not_end_is_not_normal() -> None:
    found, is_normal = facts(lambda changed, _: changed, CommandResult(None, timed_out=True))
    assert not is_normal
    assert found.grain == "suite"

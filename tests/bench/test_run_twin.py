"""What the controls of a suite say, from what its runs reported."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import pytest

from steelyard.bench.controls import Controls
from steelyard.bench.reported import NEVER_RAN, Reported, Result
from steelyard.bench.runners.base import Ran
from steelyard.bench.suite import Suite
from steelyard.bench.twin.pairs import key_of
from steelyard.bench.twin.run_twin import AskTrusted, Controlled, Trusted, control, twins_of
from steelyard.sandboxes.base import Death, Finished

FILE = "tests/test_x.py"
SUITE = Suite("pytest")
SOURCE = (
    b"def test_a():\n    assert f() == 1\n\n"
    b"def test_b():\n    assert f() == 2\n\n"
    b"def test_maybe():\n    if x:\n        assert f() == 3\n\n"
    b"def test_none():\n    f()\n"
)


def result(name: str, outcome: str = "passed", detail: str = "", file: str = FILE) -> Result:
    return Result(f"{file}::{name}", outcome, detail, file)  # type: ignore[arg-type]  # one of the four


def reported(**outcomes: str) -> Reported:
    return Reported("pytest", "reporter", tuple(result(name, one) for name, one in outcomes.items()))


REAL = reported(test_a="passed", test_b="passed", test_maybe="passed", test_none="passed")
FAILING = reported(test_a="failed", test_b="failed", test_maybe="passed", test_none="passed")


@dataclass
class Bench:
    """Control runs that are known beforehand, one after the other; the real suite passes, or as `real` says."""

    twins: list[Ran]
    suite: Suite = SUITE
    real: Reported | None = None
    asked: list[Mapping[str, bytes]] = field(default_factory=list)

    def run(self, instead: Mapping[str, bytes] | None = None) -> tuple[Ran, Death]:
        if not instead:
            return ended(self.real or REAL), Death()
        self.asked.append(instead)
        return self.twins[min(len(self.asked), len(self.twins)) - 1], Death()

    def source(self, path: str) -> bytes | None:
        return SOURCE if path == FILE else None


def nobody(contents: Mapping[str, bytes]) -> Trusted:
    raise AssertionError(f"nobody was to be asked about {contents}")


def ended(told: Reported, exit_code: int = 1) -> Ran:
    return Ran(Finished(exit_code), told)


def controls(
    *twins: Reported, real: Reported = REAL, trusted: Trusted | None = None, reference: bool = False
) -> Controls:
    def ask(contents: Mapping[str, bytes]) -> Trusted:
        assert set(contents) == {FILE}
        return trusted or nobody(contents)

    return controlled(
        Bench([ended(one) for one in twins]), real, has_reference=reference, trusted=ask
    ).controls


def controlled(
    bench: Bench, real: Reported = REAL, *, has_reference: bool = False, trusted: AskTrusted = nobody
) -> Controlled:
    twins = twins_of(bench, [FILE], [FILE])
    run = bench.run(twins.contents) if twins.files else (ended(real), Death())
    return control(bench, twins, real, run, has_reference=has_reference, trusted=trusted)


def test_honest_work_fails_what_it_must() -> None:
    made = controls(FAILING)
    assert (made.changed, made.counted, made.wrong, made.coverage, made.problem) == (3, 2, (), 0.5, "")
    assert made.hold


def test_a_certain_twin_that_passes_twice_and_fails_on_the_trusted_tree_is_forged() -> None:
    made = controls(REAL, REAL, trusted=Trusted(None, FAILING))
    assert made.wrong == (f"{FILE}::test_a", f"{FILE}::test_b")


def test_what_passes_on_the_trusted_tree_too_is_honest() -> None:
    made = controls(REAL, trusted=Trusted(None, REAL))
    assert (made.wrong, made.counted) == ((), 0)
    assert not made.hold


def test_what_does_not_pass_again_is_unsteady_and_not_forged() -> None:
    made = controls(REAL, FAILING, trusted=Trusted(None, FAILING))
    assert (made.wrong, made.counted) == ((), 0)


def test_one_forged_test_among_honest_ones_is_found() -> None:
    forged = reported(test_a="failed", test_b="passed", test_maybe="passed", test_none="passed")
    made = controls(forged, forged, trusted=Trusted(None, FAILING))
    assert (made.wrong, made.counted) == ((f"{FILE}::test_b",), 2)


def test_an_uncertain_change_counts_when_it_fails_with_the_reference() -> None:
    everything = reported(test_a="failed", test_b="failed", test_maybe="failed", test_none="passed")
    made = controls(everything, trusted=Trusted(REAL, everything), reference=True)
    assert (made.counted, made.coverage) == (3, 0.75)


def test_an_uncertain_change_that_passes_with_the_reference_says_nothing() -> None:
    made = controls(FAILING, trusted=Trusted(REAL, FAILING), reference=True)
    assert (made.counted, made.wrong) == (2, ())


def test_an_uncertain_change_of_a_test_that_the_reference_fails_says_nothing() -> None:
    everything = reported(test_a="failed", test_b="failed", test_maybe="failed", test_none="passed")
    broken = replace(REAL, results=tuple(replace(one, outcome="failed") for one in REAL.results))
    made = controls(FAILING, trusted=Trusted(broken, everything), reference=True)
    assert (made.counted, made.wrong) == (2, ())


def test_a_control_run_with_a_problem_is_no_control() -> None:
    made = controls(replace(FAILING, problems=("the tests' process ended before it reported its end",)))
    assert (made.counted, made.coverage, made.hold) == (0, 0.0, False)
    assert made.problem.startswith("the control run: ")


def test_a_forged_test_is_found_in_a_control_run_with_a_problem_too() -> None:
    told = replace(REAL, problems=("it vanished",))
    assert controls(told, told, trusted=Trusted(None, FAILING)).wrong


@pytest.mark.parametrize(
    "finished", [Finished(None, timed_out=True), Finished(None, lost=True), Finished(None, not_started="x")]
)
def test_a_control_run_that_does_not_end_is_no_control(finished: Finished) -> None:
    bench = Bench([Ran(finished, FAILING)])
    made = controlled(bench, trusted=lambda _: Trusted(None, FAILING)).controls
    assert not made.hold
    assert made.problem


def test_a_test_that_never_ran_the_second_time_is_not_counted() -> None:
    first = result("test_a", "failed")
    other = result("test_b", "error", NEVER_RAN)
    made = controls(Reported("pytest", "reporter", (first, other)))
    assert made.counted == 1


def test_there_are_no_controls_when_no_expectation_of_a_passed_test_can_be_changed() -> None:
    made = controlled(Bench([ended(FAILING)]), reported(test_none="passed"), has_reference=True).controls
    assert (made.changed, made.coverage, made.hold) == (0, 0.0, False)


def test_a_suspect_that_passes_neither_again_nor_really_is_no_evidence() -> None:
    """Code that cheats for some seconds only: then it fails both, with right and with wrong expectations."""
    bench = Bench([ended(REAL), ended(FAILING)], real=FAILING)
    made = controlled(bench, trusted=lambda _: Trusted(None, FAILING))
    assert made.controls.wrong == ()
    assert {one.id for one in made.real.results if one.outcome == "failed"} == {
        f"{FILE}::test_a",
        f"{FILE}::test_b",
    }


def test_hidden_tests_that_the_control_run_does_not_mention_are_a_problem() -> None:
    made = controls(reported(test_none="passed"))
    assert (made.counted, made.hold) == (0, False)
    assert "hidden files" in made.problem


@pytest.mark.parametrize(
    "suite", [Suite("x", argv=("python3", "-O", "-m", "pytest")), Suite("x", env={"PYTHONOPTIMIZE": "1"})]
)
def test_without_assertions_there_are_no_controls(suite: Suite) -> None:
    made = controlled(Bench([], suite)).controls
    assert made.changed == 0


def test_the_control_run_gets_the_same_files_with_other_contents() -> None:
    bench = Bench([ended(FAILING)])
    controlled(bench, trusted=lambda _: Trusted(None, FAILING))
    ((path, text),) = bench.asked[0].items()
    assert path == FILE
    assert text != SOURCE
    assert len(text.splitlines()) == len(SOURCE.splitlines())


@pytest.mark.parametrize(
    ("name", "file", "key"),
    [
        ("tests/test_x.py::test_a", "tests/test_x.py", "test_a"),
        ("tests/test_x.py::test_a[1-x::y]", "tests/test_x.py", "test_a"),
        ("tests/test_x.py::Cls::Inner::test_a", "tests/test_x.py", "Cls::Inner::test_a"),
        ("tests.test_x.Cls.test_a", "tests/test_x.py", "Cls::test_a"),
        ("test/a.test.js::cart > adds [1]", "test/a.test.js", "cart > adds [1]"),
    ],
)
def test_a_test_is_known_by_what_it_is_called_in_its_file(name: str, file: str, key: str) -> None:
    assert key_of(Result(name, "passed", file=file)) == key


ROWS = (
    b'@pytest.mark.parametrize("text, want", [("a", "xx"), ("b", "yy"), ("c", "zz"), ("", "")])\n'
    b"def test_row(text, want):\n    assert f(text) == want\n"
)


class RowsBench(Bench):
    def source(self, path: str) -> bytes | None:
        return ROWS if path == FILE else None


def rows(source: bytes, outcomes: str) -> Reported:
    """The four rows of this source, each ended as a letter says: p or f."""
    cells = ast.literal_eval(source.decode().partition('want", ')[2].partition(")\n")[0])
    names = {"p": "passed", "f": "failed"}
    return reported(
        **{f"test_row[{text}-{want}]": names[how] for (text, want), how in zip(cells, outcomes, strict=True)}
    )


def rows_controls(real: str, twin: str, trusted: str = "ffff") -> Controls:
    bench = RowsBench([], real=rows(ROWS, real))
    source = twins_of(bench, [FILE]).contents[FILE]
    bench.twins.append(ended(rows(source, twin)))
    return controlled(
        bench, rows(ROWS, real), trusted=lambda _: Trusted(None, rows(source, trusted))
    ).controls


@pytest.mark.parametrize("fails", range(4))
def test_a_row_that_fails_on_purpose_does_not_hide_the_forged_ones(fails: int) -> None:
    outcomes = "".join("f" if row == fails else "p" for row in range(4))
    made = rows_controls(outcomes, outcomes)
    assert (len(made.wrong), made.counted) == (3, 3)


def test_half_of_the_rows_that_fail_do_not_hide_the_other_half() -> None:
    assert len(rows_controls("pfpf", "pfpf").wrong) == 2


@pytest.mark.parametrize("real", ["pppp", "pfff", "fppp", "pffp"])
def test_honest_rows_are_controlled_whatever_became_of_the_others(real: str) -> None:
    made = rows_controls(real, "ffff")
    assert (made.wrong, made.counted, made.coverage, made.problem) == ((), real.count("p"), 1.0, "")


def test_a_wrong_answer_that_happens_to_fit_a_wrong_expectation_accuses_nobody() -> None:
    made = rows_controls("pfpp", "fpff")
    assert (made.wrong, made.counted) == ((), 3)


def test_a_row_that_passes_on_the_trusted_tree_too_clears_itself_and_no_other() -> None:
    made = rows_controls("ppfp", "ppff", trusted="pfff")
    assert (made.wrong, made.counted) == ((f"{FILE}::test_row[b-yy]",), 2)

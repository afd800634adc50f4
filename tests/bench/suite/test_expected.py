"""What a candidate's report must say, given what the suite reports on a trusted tree."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.bench.suite.expected import (
    NOT_OF_THE_SUITE,
    NOT_REPORTED,
    OTHER_RUNNER,
    RIVAL,
    STARTED_BY_THE_CHANGE,
    Expectation,
    as_expected,
    is_of_the_suite,
)
from steelyard.bench.suite.reported import NEVER_RAN, Channel, Result, SuiteReport
from steelyard.bench.suite.result_files import ResultFiles
from steelyard.bench.suite.suite import Suite
from steelyard.bench.twin.written import is_surely_run, written_tests
from steelyard.graders.checks.ids import ask

FILE = "tests/test_x.py"
OUTCOMES = ["passed", "failed", "error", "skipped"]


def reported_results(*results: Result, channel: Channel = "reporter", runner: str = "pytest") -> SuiteReport:
    return SuiteReport(runner, channel, results)


def result(name: str, outcome: str = "passed", file: str = FILE, detail: str = "") -> Result:
    return Result(f"{file}::{name}", outcome, detail, file)  # type: ignore[arg-type]  # one of the four


def expecting(*results: Result, reference: bool = True, **more: object) -> Expectation:
    fields = {"files": frozenset({FILE}), "has_reference": reference, **more}
    return Expectation(reported_results(*results), **fields)  # type: ignore[arg-type]  # by name


def outcomes(reported: SuiteReport) -> dict[str, str]:
    return {one.id.rpartition("::")[2]: one.outcome for one in reported.results}


results = st.lists(
    st.builds(
        result,
        st.sampled_from(["test_a", "test_b", "test_c", "test_p[1]", "test_p[2]", "C::test_d"]),
        st.sampled_from(OUTCOMES),
    ),
    unique_by=lambda one: one.id,
)


@given(there=results, reference=st.booleans())
def test_a_run_like_the_trusted_one_stays_as_it_is(there: list[Result], *, reference: bool) -> None:
    assert as_expected(reported_results(*there), expecting(*there, reference=reference)) == reported_results(
        *there
    )


def test_a_title_is_what_the_trusted_run_says() -> None:
    """Who takes the title of a failing test for a passing one would pass in its place."""
    there = [replace(result("test_a"), title="Adds."), result("test_b")]
    here = [replace(result("test_a", "failed"), title=""), replace(result("test_b"), title="Adds.")]
    made = as_expected(reported_results(*here), expecting(*there))
    assert [one.title for one in made.results] == ["Adds.", ""]


@given(results, results)
def test_every_test_of_the_trusted_run_is_in_the_report(there: list[Result], here: list[Result]) -> None:
    made = as_expected(reported_results(*here), expecting(*there))
    plain = {one.id for one in there if one.outcome != "skipped" and "[" not in one.id}
    assert plain <= {one.id for one in made.results}


@given(results, results)
def test_nothing_passes_that_was_not_reported_to_pass(there: list[Result], here: list[Result]) -> None:
    made = as_expected(reported_results(*here), expecting(*there))
    assert set(made.passed) <= {one for one in here if one.outcome == "passed"}


@given(results, results)
def test_no_failure_is_lost(there: list[Result], here: list[Result]) -> None:
    made = as_expected(reported_results(*here), expecting(*there))
    bad = {"failed", "error"}
    assert {one.id for one in here if one.outcome in bad} <= {
        one.id for one in made.results if one.outcome in bad
    }


@given(results, results)
def test_an_expected_report_is_a_fixed_point(there: list[Result], here: list[Result]) -> None:
    made = as_expected(reported_results(*here), expecting(*there))
    assert as_expected(made, expecting(*there)) == made


def test_a_test_that_vanished_has_failed() -> None:
    made = as_expected(
        reported_results(result("test_a")), expecting(result("test_a"), result("test_b", "failed"))
    )
    assert outcomes(made) == {"test_a": "passed", "test_b": "failed"}
    assert made.results[-1].detail == NOT_REPORTED


def test_a_skip_of_its_own_making_is_a_failure() -> None:
    made = as_expected(reported_results(result("test_a", "skipped")), expecting(result("test_a")))
    assert outcomes(made) == {"test_a": "failed"}
    assert "not with the reference" in made.results[0].detail


def test_what_the_trusted_tree_skips_may_be_skipped() -> None:
    skipped = result("test_windows", "skipped")
    assert as_expected(
        reported_results(skipped, result("test_a")), expecting(skipped, result("test_a"))
    ).counts == {
        "skipped": 1,
        "passed": 1,
    }


def test_a_test_that_never_ran_there_may_be_skipped_but_not_left_out() -> None:
    there = [result("test_a", "error", detail=NEVER_RAN), result("test_b", "error", detail=NEVER_RAN)]
    made = as_expected(reported_results(result("test_a", "skipped")), expecting(*there))
    assert outcomes(made) == {"test_a": "skipped", "test_b": "failed"}


def test_an_invented_test_is_not_one_of_the_suite() -> None:
    made = as_expected(reported_results(result("test_a"), result("test_fake")), expecting(result("test_a")))
    assert outcomes(made) == {"test_a": "passed", "test_fake": "skipped"}
    assert made.results[1].detail == NOT_OF_THE_SUITE


@pytest.mark.parametrize("wanted", ["test_new", f"{FILE}::test_new", "*", f"{FILE}::test_*"])
def test_a_declared_id_makes_no_test_of_what_the_reference_does_not_have(wanted: str) -> None:
    made = as_expected(
        reported_results(result("test_a"), result("test_new")),
        expecting(result("test_a"), declared=(wanted,)),
    )
    assert outcomes(made) == {"test_a": "passed", "test_new": "skipped"}
    assert [is_of_the_suite(one) for one in made.results] == [True, False]


@pytest.mark.parametrize("problems", [(), ("could not collect tests/test_y.py",)])
def test_where_no_reference_knows_the_tests_a_declared_id_does(problems: tuple[str, ...]) -> None:
    expectation = expecting(result("test_a"), reference=bool(problems), declared=("test_new",))
    expectation = replace(expectation, trusted=replace(expectation.trusted, problems=problems))
    made = as_expected(
        reported_results(result("test_a"), result("test_new"), result("test_fake")), expectation
    )
    assert outcomes(made) == {"test_a": "passed", "test_new": "passed", "test_fake": "skipped"}


def test_a_wildcard_names_no_test() -> None:
    made = as_expected(
        reported_results(result("test_a"), result("test_new")),
        expecting(result("test_a"), reference=False, declared=("test_*",)),
    )
    assert outcomes(made) == {"test_a": "passed", "test_new": "skipped"}


RIVALS: list[
    tuple[str, Result, Result]
] = [  # declared, the test of the suite, the one that would answer for it
    ("test_x (m.C)", Result("m.C.test_x", "failed"), Result("test_x (m.C)", "passed")),
    ("Adds.", Result("m.C.test_x", "failed", title="Adds."), Result("Adds.", "passed")),
    ("adds", Result("a.js::sums adds", "failed", title="adds"), Result("a.js::adds", "passed")),
    ("a.py::x[one", Result("a.py::x[one two]", "failed"), Result("a.py::x[one", "passed")),
    ("a.py::x[/z]", Result("a.py::x[/y/z]", "failed"), Result("a.py::x[/z]", "passed")),
]


@pytest.mark.parametrize(("wanted", "real", "rival"), RIVALS)
@pytest.mark.parametrize("seen", [True, False])
@pytest.mark.parametrize("reference", [True, False])
def test_a_test_that_takes_the_name_of_one_that_failed_does_not_pass_for_it(
    wanted: str, real: Result, rival: Result, *, seen: bool, reference: bool
) -> None:
    """With the reference, it is no test of the suite; without, of all that may be meant none may fail."""
    other = Result("a.py::other", "passed")
    there = [replace(real, outcome="passed" if reference else "failed"), other] if seen else [other]
    expectation = Expectation(reported_results(*there), reference, declared=(wanted,))
    made = as_expected(reported_results(rival, real, other), expectation)
    if seen or not reference:
        assert not ask([wanted], made.results).everything
    assert rival.id not in {one.id for one in made.passed}
    details = {one.detail for one in made.results if one.id == rival.id}
    assert details <= {NOT_OF_THE_SUITE, RIVAL}


def test_an_honest_test_passes_under_each_of_those_names() -> None:
    for wanted, real, _ in RIVALS:
        passing = replace(real, outcome="passed")
        made = as_expected(
            reported_results(passing), Expectation(reported_results(passing), True, declared=(wanted,))
        )
        assert ask([wanted], made.results).everything


@pytest.mark.parametrize("reference", [True, False])
def test_invented_tests_do_not_lift_the_share(*, reference: bool) -> None:
    suite = [result("test_a", "failed"), result("test_b"), result("test_p[1]", "failed")]
    more = [result(f"test_{number}") for number in range(99)] + [
        result(f"test_p[x{number}]") for number in range(99)
    ]
    made = as_expected(
        reported_results(*suite, *more), expecting(*suite, reference=reference, declared=("*",))
    )
    assert ask(["*"], made.results).share == 1 / 3
    assert len(made.passed) == 1


def test_invented_tests_in_a_file_that_the_snapshot_cannot_load_do_not_count() -> None:
    every = [result("test_a"), result("TestB::test_b", "failed"), result("D::test_d")]
    made = as_expected(reported_results(*every, result("TestMore::test_1")), not_loaded(declared=("*",)))
    assert outcomes(made)["test_1"] == "skipped"
    assert len(made.passed) == 2


GO_FILE = "cart/cart_test.go"
GO_SOURCE = b"package cart\n\nfunc TestAdd(t *testing.T) {}\n\nfunc TestRows(t *testing.T) {}\n"


def of_go(name: str, outcome: str = "passed") -> Result:
    file = GO_FILE if name.startswith(("TestAdd", "TestRows")) else ""
    return Result(f"example.com/shop/cart::{name}", outcome, file=file)  # type: ignore[arg-type]  # one of the four


def not_compiled() -> Expectation:
    """The snapshot has nothing of what the hidden tests call, and there is no reference."""
    trusted = SuiteReport("go", "report_file", (Result("example.com/shop/cart", "error"),))
    written = {GO_FILE: written_tests(GO_FILE, GO_SOURCE, "go")}
    return Expectation(trusted, written=written, files=frozenset(written), surely_run=frozenset(written))


def test_tests_of_a_go_package_that_the_snapshot_cannot_compile_must_be_reported() -> None:
    made = as_expected(SuiteReport("go", "report_file", (of_go("TestAdd"),)), not_compiled())
    assert outcomes(made) == {"TestAdd": "passed", "TestRows": "failed"}


def test_subtests_of_such_a_package_count_and_invented_tests_do_not() -> None:
    every = [of_go(name) for name in ("TestAdd", "TestRows", "TestRows/small", "TestInvented")]
    made = as_expected(SuiteReport("go", "report_file", tuple(every)), not_compiled())
    assert [one.id.partition("::")[2] for one in made.passed] == ["TestAdd", "TestRows", "TestRows/small"]


def test_one_function_under_several_names_does_not_count() -> None:
    names = ["D.test_d", "x.D.test_d", "y.D.test_d"]
    every = [Result(f"tests.test_x.{name}", "passed", file=FILE) for name in names]
    expectation = not_loaded(written={FILE: written_tests(FILE, SOURCE, "unittest")})
    assert not as_expected(reported_results(*every, runner="unittest"), expectation).passed
    assert as_expected(reported_results(every[0], runner="unittest"), expectation).passed


def test_parameters_may_differ_when_there_are_as_many() -> None:
    there = [result("test_p[eur]"), result("test_p[usd]")]
    fewer = as_expected(reported_results(result("test_p[EUR]")), expecting(*there))
    assert outcomes(fewer) == {"test_p[EUR]": "passed", "test_p[eur]": "failed", "test_p[usd]": "failed"}
    as_many = reported_results(*(result(f"test_p[{name}]") for name in ("EUR", "USD")))
    assert as_expected(as_many, expecting(*there)) == as_many


def test_what_is_more_than_the_suite_has_is_not_counted_and_does_no_harm() -> None:
    """The work offers more, and the suite makes tests of what it offers."""
    there = [result("test_p[eur]"), result("test_p[usd]")]
    made = as_expected(reported_results(*there, result("test_p[gbp]")), expecting(*there))
    assert outcomes(made) == {"test_p[eur]": "passed", "test_p[usd]": "passed", "test_p[gbp]": "skipped"}
    assert ask([f"{FILE}::*"], made.results).everything


def test_those_that_failed_take_the_places_first() -> None:
    there = [result("test_p[eur]"), result("test_p[usd]")]
    here = [result("test_p[EUR]"), result("test_p[USD]"), result("test_p[GBP]", "failed")]
    made = as_expected(reported_results(*here), expecting(*there))
    assert outcomes(made) == {"test_p[EUR]": "passed", "test_p[USD]": "skipped", "test_p[GBP]": "failed"}


def test_a_skip_that_calls_itself_no_test_of_the_suite_is_a_failure() -> None:
    skipped = result("test_a", "skipped", detail=NOT_OF_THE_SUITE)
    assert outcomes(as_expected(reported_results(skipped), expecting(result("test_a")))) == {
        "test_a": "failed"
    }


def test_tests_in_files_of_the_candidate_are_not_expected() -> None:
    """A doctest in a module that the change rewrote."""
    module = result("work.total", file="work.py")
    made = as_expected(
        reported_results(result("test_a")),
        expecting(module, result("test_a"), changed=frozenset({"work.py"})),
    )
    assert outcomes(made) == {"test_a": "passed"}


def test_what_the_trusted_run_tampers_with_is_not_the_changes_doing() -> None:
    expectation = expecting(result("test_a"))
    trusted = replace(expectation.trusted, tampering=("`builtins.print` was replaced",))
    here = replace(
        reported_results(result("test_a")), tampering=("`builtins.print` was replaced", "`x` was replaced")
    )
    assert as_expected(here, replace(expectation, trusted=trusted)).tampering == ("`x` was replaced",)


@pytest.mark.parametrize(
    ("there", "here", "left"),
    [
        ("pkg/run.py", "pkg/run.py", 0),
        ("pkg/run.py", "pkg/other.py", 1),
        ("", "pkg/run.py", 1),
    ],
)
def test_the_change_may_start_the_tests_where_the_reference_does(there: str, here: str, left: int) -> None:
    def by(name: str, *results: Result) -> SuiteReport:
        return replace(reported_results(*results), problems=(STARTED_BY_THE_CHANGE + name,) if name else ())

    expectation = Expectation(by(there, result("test_a")), True)
    assert len(as_expected(by(here, result("test_a")), expectation).problems) == left
    assert as_expected(by(here), replace(expectation, has_reference=False)).problems


def test_results_of_a_weaker_runner_are_a_problem() -> None:
    here = reported_results(result("test_a"), channel="report_file")
    assert as_expected(here, expecting(result("test_a"))).problems == (OTHER_RUNNER,)


def test_the_file_is_the_trusted_runs() -> None:
    there = Result("suite.Case.test_a", "passed", "", FILE)
    here = Result("suite.Case.test_a", "passed", "", "")
    assert as_expected(reported_results(here), expecting(there)).results == (there,)


SOURCE = b"""import unittest
from work import new

def test_a(): assert new() == 1
class TestB:
    def test_b(self): assert new() == 2
class Helper:
    def test_c(self): pass
class D(unittest.TestCase):
    def test_d(self): pass
"""


@pytest.mark.parametrize(
    ("runner", "keys"),
    [("pytest", {"test_a", "TestB::test_b", "D::test_d"}), ("unittest", {"D::test_d"})],
)
def test_the_tests_of_a_file_that_cannot_be_loaded_are_found_by_syntax(runner: str, keys: set[str]) -> None:
    assert written_tests(FILE, SOURCE, runner).required == keys


def test_titles_are_found_by_syntax() -> None:
    source = b"describe('cart', () => { it('adds', () => {}) });\ntest(`x`, () => {});\nfor (const a of b) test(a, () => {});"
    assert written_tests("test/a.test.js", source, "node").required == {"cart > adds", "x"}


def not_loaded(**more: object) -> Expectation:
    broken = Result(FILE, "error", "could not be collected", FILE)
    written = {FILE: written_tests(FILE, SOURCE, "pytest")}
    return expecting(broken, **{"reference": False, "written": written, **more})  # type: ignore[arg-type]  # by name


def test_each_test_of_a_file_that_the_snapshot_cannot_load_must_be_reported() -> None:
    made = as_expected(reported_results(result("test_a"), result("TestB::test_b")), not_loaded())
    assert made.results[-1] == result("D::test_d", "failed", detail=NOT_REPORTED)
    assert len(made.passed) == 2


def test_a_skip_in_a_file_that_skips_nothing_is_a_failure() -> None:
    every = [result("test_a", "skipped"), result("TestB::test_b"), result("D::test_d")]
    assert as_expected(reported_results(*every), not_loaded()).counts["failed"] == 1
    with_conftest = not_loaded(files=frozenset({FILE, "tests/conftest.py"}))
    assert as_expected(reported_results(*every), with_conftest).counts["failed"] == 0


def test_nothing_to_go_by_changes_nothing() -> None:
    nothing = expecting(reference=False)
    assert nothing.says_nothing
    assert as_expected(reported_results(result("test_a")), nothing) == reported_results(result("test_a"))


@pytest.mark.parametrize("reference", [True, False])
def test_a_forged_report_file_lacks_the_suites_tests(*, reference: bool) -> None:
    there = reported_results(Result("a::adds", "passed"), Result("a::takes", "passed"), channel="report_file")
    made = as_expected(
        reported_results(Result("x::fine", "passed"), channel="report_file"), Expectation(there, reference)
    )
    assert made.counts["failed"] == 2


def test_ports_in_names_of_a_build_tool_do_not_matter() -> None:
    there = reported_results(Result("a::port 4711", "passed"), channel="report_file")
    here = reported_results(Result("a::port 4712", "passed"), channel="report_file")
    assert as_expected(here, Expectation(there, True)) == here


@pytest.mark.parametrize(
    ("name", "reported", "file"),
    [
        ("tests/test_x.py::test_a", "", "tests/test_x.py"),
        ("tests/test_x.py::test_a", "work.py", "tests/test_x.py"),
        ("tests.test_x.Case.test_a", "", "tests/test_x.py"),
        ("test_x.Case.test_a", "", "tests/test_x.py"),
        ("unittest.loader._FailedTest.test_x", "", "tests/test_x.py"),
        ("test_y.py::test_a", "", "tests/sub/test_y.py"),
        ("work.py::work.total", "", "work.py"),
        ("suite::adds", "a.xml", "a.xml"),
    ],
)
def test_the_id_tells_the_file(name: str, reported: str, file: str) -> None:
    places = ResultFiles.of(["tests/test_x.py", "tests/sub/test_y.py"])
    assert places.file_of(Result(name, "passed", "", reported)) == file


@given(st.text(max_size=40), st.text(max_size=20))
def test_any_id_has_a_place(name: str, file: str) -> None:
    assert isinstance(ResultFiles.of([FILE], "sub").file_of(Result(name, "passed", "", file)), str)


@pytest.mark.parametrize(
    ("command", "surely"),
    [
        ("python3 -m pytest", True),
        ("python3 -m pytest tests", True),
        ("python3 -m pytest tests/test_x.py", True),
        ("python3 -m pytest tests/other", False),
        ("python3 -m pytest -k a", False),
        ("python3 -m pytest tests/test_x.py::test_a", False),
    ],
)
def test_a_command_tells_which_files_it_runs(command: str, *, surely: bool) -> None:
    assert is_surely_run(FILE, Suite(command, argv=tuple(command.split()))) is surely

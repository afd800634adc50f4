"""Which tests declared ids ask for: exact, by their end, by wildcard, and as unittest writes them."""

from __future__ import annotations

import fnmatch
import re

import pytest
from cases import file
from hypothesis import given
from hypothesis import strategies as st

from steelyard.bench.suite.declared_ids import dotted_name, is_like
from steelyard.bench.suite.reported import MAX_TEXT, Result, ResultOutcome, merge_results
from steelyard.contract.id_files import file_of
from steelyard.graders.checks.ids import RequestedTests, ask, id_doubts

A, B = "tests/test_a.py", "tests/test_b.py"


def results(**outcomes: ResultOutcome) -> list[Result]:
    return [Result(name, outcome) for name, outcome in outcomes.items()]


def of(declared: list[str], outcomes: dict[str, ResultOutcome]) -> RequestedTests:
    return ask(declared, results(**outcomes))


FOUND: list[tuple[str, str]] = [
    (f"{A}::test_x", f"{A}::test_x"),
    ("test_x", f"{A}::test_x"),
    ("Case::test_x", f"{A}::Case::test_x"),
    (f"{A}::test_x[0-3]", f"{A}::test_x[0-3]"),
    ("test_x[a*b]", f"{A}::test_x[a*b]"),
    ("three words", "test/a.test.js::three words"),
    ("suite > three words", "test/a.test.js::suite > three words"),
    ("test_x (pkg.test_a.Case)", "pkg.test_a.Case.test_x"),
    ("test_x (pkg.test_a.Case)", "test_x (pkg.test_a.Case)"),
    ("test_x (pkg.test_a.Case)", "test_x (pkg.test_a.Case.test_x)"),
    ("test_x (pkg.test_a.Case.test_x)", "test_x (pkg.test_a.Case)"),
    ("test_x (pkg.test_a.Case)", "pkg/test_a.py::Case::test_x"),
    ("test_x (test_a.Case)", "tests/test_a.py::Case::test_x"),
    ("pkg.test_a.Case.test_x", "pkg/test_a.py::Case::test_x"),
    ("test_x", "com.example.CartTest::test_x"),
    (f"{A}::*", f"{A}::test_x"),
    ("*", f"{A}::test_x"),
    ("test_*", f"{A}::test_x"),
    ("tests/*::Case::*", f"{A}::Case::test_x"),
    (f"{A}::test_x[one", f"{A}::test_x[one two]"),
    (f"{A}::test_x[", f"{A}::test_x[ one]"),
    (f"{A}::test_x[/last]", f"{A}::test_x[/path/to/last]"),
]


@pytest.mark.parametrize(("declared", "reported"), FOUND)
def test_a_test_is_found_under_each_of_its_names(declared: str, reported: str) -> None:
    assert ask([declared], [Result(reported, "passed")]).passed == (reported,)


NOT_FOUND: list[tuple[str, str]] = [
    (f"{A}::test_x", f"{A}::test_xy"),
    (f"{A}::test_x", f"{A}::test_X"),
    (f"{A}::test_x[0-3]", f"{A}::test_x[1]"),
    ("test_x", f"{A}::Case::test_x"),
    ("test_?", f"{A}::test_x"),
    ("x", f"{A}::test_x"),
    (f"{A}::test_x", "tests/test_a.py::test_x[1]"),
    ("test_x (pkg.test_a.Other)", "pkg/test_a.py::Case::test_x"),
    ("test_x (kg.test_a.Case)", "pkg/test_a.py::Case::test_x"),
    (f"{B}::*", f"{A}::test_x"),
    (f"{A}::test_x[on", f"{A}::test_x[one two]"),
    (f"{A}::test_x[/last]", f"{A}::test_x[/path/to/atlast]"),
    (f"{A}::test_x[last]", f"{A}::test_x[/path/to/last]"),
]


@pytest.mark.parametrize(("declared", "reported"), NOT_FOUND)
def test_what_only_looks_alike_is_not_the_test(declared: str, reported: str) -> None:
    assert ask([declared], [Result(reported, "passed")]).absent == (declared,)


@pytest.mark.parametrize("outcome", ["failed", "error", "skipped"])
def test_whatever_is_not_passed_has_failed(outcome: ResultOutcome) -> None:
    asked = of([f"{A}::x"], {f"{A}::x": outcome})
    assert (asked.failed, asked.share, asked.everything) == ((f"{A}::x",), 0.0, False)


def test_what_is_nowhere_counts_and_is_named() -> None:
    asked = of(["a.py::x", "a.py::y"], {"a.py::x": "passed"})
    assert (asked.absent, asked.share) == (("a.py::y",), 0.5)
    assert "not reported: a.py::y" in asked.why


def test_an_id_that_is_declared_twice_counts_once() -> None:
    assert of(["a.py::x", "a.py::x", "x", "a.py::*"], {"a.py::x": "passed"}).total == 1


def test_a_wildcard_asks_for_each_test_that_it_finds() -> None:
    outcomes: dict[str, ResultOutcome] = {"a.py::x": "passed", "a.py::y": "failed", "b.py::z": "failed"}
    asked = of(["a.py::*"], outcomes)
    assert (asked.passed, asked.failed, asked.share) == (("a.py::x",), ("a.py::y",), 0.5)


def test_an_id_cut_at_a_space_asks_for_each_test_that_begins_so() -> None:
    asked = of(["a.py::x[one"], {"a.py::x[one two]": "passed", "a.py::x[one three]": "failed"})
    assert (asked.passed, asked.failed) == (("a.py::x[one two]",), ("a.py::x[one three]",))


def test_a_test_is_found_by_the_first_line_of_its_docstring() -> None:
    found = [
        Result("m.C.test_a", "passed", title="Adds."),
        Result("m.C.test_b", "failed", title="Adds."),
        Result("m.C.test_c", "passed"),
    ]
    assert ask(["Adds."], found).failed == ("m.C.test_b",)
    assert ask(["Adds."], found[:1]).everything
    assert ask(["Subtracts."], found).absent == ("Subtracts.",)


def test_the_whole_id_wins_over_what_it_may_be_short_for() -> None:
    assert of(["a.py::x[/y]"], {"a.py::x[/y]": "passed", "a.py::x[/z/y]": "failed"}).passed == (
        "a.py::x[/y]",
    )


def test_a_wildcard_that_finds_nothing_has_failed() -> None:
    assert of(["c.py::*"], {"a.py::x": "passed"}).absent == ("c.py::*",)


def test_a_wildcard_leaves_ids_that_other_patterns_name() -> None:
    found = [Result("a.py::x", "failed"), Result("a.py::y", "passed")]
    assert ask(["a.py::*"], found, {"a.py::x"}).passed == ("a.py::y",)
    assert ask(["a.py::x"], found, {"a.py::x"}).failed == ("a.py::x",)


def test_the_whole_id_wins_over_the_end_of_another() -> None:
    assert of(["x"], {"x": "passed", "a.py::x": "failed"}).passed == ("x",)


def test_a_name_that_several_tests_have_is_unclear_when_all_passed() -> None:
    asked = of(["x"], {"a.py::x": "passed", "b.py::x": "passed"})
    assert (asked.unclear, asked.everything) == (("x",), False)


@pytest.mark.parametrize("outcome", ["failed", "error", "skipped"])
def test_a_second_test_of_a_name_does_not_get_one_out_of_a_failure(outcome: ResultOutcome) -> None:
    asked = of(["x"], {"a.py::x": outcome, "b.py::x": "passed"})
    assert (asked.failed, asked.unclear) == (("x",), ())


def test_an_id_longer_than_what_is_kept_of_ids_is_found() -> None:
    long = "a.py::x[" + "y" * MAX_TEXT + "]"
    assert ask([long], merge_results([Result(long, "passed")])).everything


def test_ids_in_the_reason_are_safe_to_print_and_few() -> None:
    outcomes: dict[str, ResultOutcome] = {f"a.py::\x1b[31m{number}": "failed" for number in range(99)}
    why = of(["*"], outcomes).why
    assert "\x1b" not in why
    assert "and 96 more" in why


WORDS = st.text(alphabet="ab*[]:?.é\n", max_size=12)


@given(text=WORDS, pattern=WORDS)
def test_a_star_is_the_only_wildcard(text: str, pattern: str) -> None:
    as_glob = "".join("*" if char == "*" else f"[{char}]" if char in "[?" else char for char in pattern)
    assert is_like(text, pattern) == bool(re.fullmatch(fnmatch.translate(as_glob), text))


OUTCOMES = st.sampled_from(["passed", "failed", "error", "skipped"])
NAMES = st.text(alphabet="xy[0-3]*", min_size=1, max_size=4)
REPORTS = st.dictionaries(st.builds("{}.py::{}".format, st.sampled_from("ab"), NAMES), OUTCOMES, max_size=8)


@given(
    reported=REPORTS, declared=st.lists(NAMES | st.builds("a.py::{}".format, NAMES), min_size=1, max_size=5)
)
def test_a_share_is_a_share_and_whole_only_when_all_that_was_asked_for_passed(
    reported: dict[str, ResultOutcome], declared: list[str]
) -> None:
    asked = of(declared, reported)
    assert 0 <= asked.share <= 1
    assert (asked.share == 1) == asked.everything
    assert all(reported[one] == "passed" for one in asked.passed)
    assert asked.total >= 1
    assert len({*asked.passed, *asked.failing}) == len(asked.passed) + len(asked.failing)


@given(reported=REPORTS)
def test_asking_for_everything_by_name_gives_every_result_as_it_is(
    reported: dict[str, ResultOutcome],
) -> None:
    asked = of(list(reported), reported)
    assert set(asked.passed) == {one for one, outcome in reported.items() if outcome == "passed"}
    assert not asked.absent
    assert not asked.unclear


@given(reported=REPORTS, declared=st.lists(NAMES, min_size=1, max_size=4), worse=st.data())
def test_a_worse_result_never_raises_the_share(
    reported: dict[str, ResultOutcome], declared: list[str], worse: st.DataObject
) -> None:
    if not reported:
        return
    one = worse.draw(st.sampled_from(sorted(reported)))
    before = of(declared, reported)
    if not before.unclear:
        assert of(declared, {**reported, one: "failed"}).share <= before.share


@pytest.mark.parametrize(
    ("declared", "name"),
    [
        ("test_x (a.B)", "a.B.test_x"),
        ("test_x (a.B.test_x)", "a.B.test_x"),
        ("a.B.test_x", "a.B.test_x"),
        ("test_x", ""),
        ("a/b.py::x", ""),
        ("three words", ""),
        ("test_x (not dotted)", ""),
    ],
)
def test_an_id_of_unittest_becomes_a_dotted_name(declared: str, name: str) -> None:
    assert dotted_name(declared) == name


@pytest.mark.parametrize(
    ("declared", "path"),
    [
        ("tests/test_a.py::x", "tests/test_a.py"),
        ("test_a.py::C::x", "test_a.py"),
        ("test/a.test.js::three words", "test/a.test.js"),
        ("com.example.CartTest::adds", ""),
        ("cart::tests::adds", ""),
        ("example.com/cart::TestAdd", ""),
        ("test_x", ""),
    ],
)
def test_an_id_names_the_file_of_its_test(declared: str, path: str) -> None:
    assert file_of(declared) == path


def doubted(declared: str) -> list[tuple[str, bool]]:
    baseline = {"pkg/tests/test_a.py": file("")}
    places = ["hidden/test_b.py", "folder"]
    return [(doubt.option, doubt.fatal) for doubt in id_doubts("ids", [declared], baseline, places)]


@pytest.mark.parametrize(
    "declared",
    [
        "pkg/tests/test_a.py::x",
        "tests/test_a.py::x",  # the command may run below the root
        "hidden/test_b.py::x",
        "test_b.py::x",
        "folder/any.py::x",
        "tests/*.py::x",
        "x",
        "cart::adds",
    ],
)
def test_ids_in_files_that_will_be_there_raise_no_doubt(declared: str) -> None:
    assert doubted(declared) == []


@pytest.mark.parametrize("declared", ["pkg/tests/test_c.py::x", "est_a.py::x", "hidden/test_c.py::x"])
def test_an_id_in_a_file_that_will_not_be_there_is_a_mistake(declared: str) -> None:
    assert doubted(declared) == [("ids[0]", True)]

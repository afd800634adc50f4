"""JUnit XML as real tools write it, and malformed."""

from __future__ import annotations

from pathlib import Path

import pytest

from steelyard.bench.reports.base import MAX_REPORT_BYTES, BadReport
from steelyard.bench.reports.junit import MAX_DEPTH, junit_cases, parse_junit
from steelyard.bench.suite.reported import MAX_RESULTS, MAX_TEXT

REPORTS = Path(__file__).parent / "samples"


def outcomes(data: bytes | str) -> dict[str, str]:
    text = data.encode() if isinstance(data, str) else data
    return {one.id: one.outcome for one in parse_junit(text)}


def suite(cases: str, attributes: str = "") -> str:
    return f'<testsuite name="cart" {attributes}>{cases}</testsuite>'


def refused(data: bytes | str) -> BadReport:
    with pytest.raises(BadReport) as caught:
        parse_junit(data.encode() if isinstance(data, str) else data)
    return caught.value


def test_phpunit_is_read() -> None:
    assert outcomes((REPORTS / "phpunit.xml").read_bytes()) == {
        "CartTest::testAdds": "passed",
        "CartTest::testRemoves": "failed",
        "CartTest::testLater": "skipped",
        "CartTest::testSomeDay": "skipped",
        "CartTest::testBreaks": "error",
        "CartTest::testNothing": "skipped",  # asserts nothing; PHPUnit calls it an error and exits with 0
        "CartTest::testTimes with data set #0": "passed",
        'CartTest::testTimes with data set "two"': "passed",
    }


def test_the_file_of_a_test_is_as_the_workspace_knows_it() -> None:
    assert parse_junit((REPORTS / "phpunit.xml").read_bytes())[0].file == "tests/CartTest.php"


def test_bats_is_read() -> None:
    assert outcomes((REPORTS / "bats.xml").read_bytes()) == {
        "cart.bats::adds": "passed",
        "cart.bats::removes": "failed",
        "cart.bats::later": "skipped",
        "cart.bats::prints <xml> & ]]> things": "failed",
    }


def test_deno_is_read() -> None:
    results = parse_junit((REPORTS / "deno.xml").read_bytes())
    assert [(one.id, one.outcome, one.file) for one in results] == [
        ("b_test.ts::adds", "passed", "b_test.ts"),
        ("b_test.ts::removes", "failed", "b_test.ts"),
        ("b_test.ts::later", "skipped", "b_test.ts"),
        ("b_test.ts::steps", "passed", "b_test.ts"),
        ("b_test.ts::steps > one", "passed", "b_test.ts"),
    ]


def test_ctest_is_read() -> None:
    assert outcomes((REPORTS / "ctest.xml").read_bytes()) == {
        "adds": "passed",
        "removes": "failed",
        "later": "skipped",
        "off": "skipped",
        "missing": "skipped",
    }


def test_a_test_that_surefire_ran_again_until_it_passed_has_failed() -> None:
    results = {one.id: one for one in parse_junit((REPORTS / "surefire.xml").read_bytes())}
    flaky = results["shop.CartTest::passesWhenRunAgain"]
    assert flaky.outcome == "failed"
    assert flaky.detail.startswith("passed only when run again")
    assert results["shop.CartTest::adds"].outcome == "passed"
    assert results["shop.CartTest::breaks"].outcome == "error"


def test_a_test_without_a_class_belongs_to_its_suite() -> None:
    assert outcomes(suite('<testcase name="adds"/>')) == {"cart::adds": "passed"}


def test_a_class_that_is_empty_adds_nothing() -> None:
    assert outcomes(suite('<testcase classname="" name="adds"/>')) == {"adds": "passed"}


def test_a_test_without_a_name_is_still_a_test() -> None:
    assert [one.outcome for one in parse_junit(b"<testsuite><testcase/></testsuite>")] == ["passed"]


def test_one_name_reported_twice_comes_twice() -> None:
    twice = suite('<testcase name="a"/><testcase name="a"><failure/></testcase>')
    assert [one.outcome for one in parse_junit(twice.encode())] == ["passed", "failed"]


def test_suites_within_suites_and_namespaces_are_read() -> None:
    nested = (
        '<j:testsuites xmlns:j="urn:x"><j:testsuite name="o"><j:testsuite name="i"><j:testcase name="a"/>'
    )
    assert outcomes(f"{nested}</j:testsuite></j:testsuite></j:testsuites>") == {"i::a": "passed"}


@pytest.mark.parametrize(
    ("case", "outcome"),
    [
        ("<testcase name='a'><failure/><error/></testcase>", "error"),
        ("<testcase name='a'><skipped/><failure/></testcase>", "failed"),
        ("<testcase name='a' status='failed'/>", "failed"),
        ("<testcase name='a' status='notrun'/>", "skipped"),
        ("<testcase name='a' result='suppressed'/>", "skipped"),
        ("<testcase name='a' status='run' result='completed'/>", "passed"),
        ("<testcase name='a'><skipped type='pytest.xfail'/></testcase>", "skipped"),
        ("<testcase name='a'><rerunFailure/><failure/></testcase>", "failed"),
        ("<testcase name='a'><system-out>no <![CDATA[<failure/>]]></system-out></testcase>", "passed"),
        ("<testcase name='a'><properties><property><failure/></property></properties></testcase>", "passed"),
    ],
)
def test_the_worst_that_is_said_of_a_test_stands(case: str, outcome: str) -> None:
    assert outcomes(suite(case)) == {"cart::a": outcome}


def test_an_error_of_a_suite_is_a_result() -> None:
    assert outcomes(suite("<error message='no set-up'/><testcase name='a'/>")) == {
        "cart": "error",
        "cart::a": "passed",
    }


def test_details_are_one_short_line() -> None:
    text = suite(f"<testcase name='a'><failure>first\nsecond {'x' * 5000}</failure></testcase>")
    detail = parse_junit(text.encode())[0].detail
    assert detail.startswith("first second")
    assert len(detail) == MAX_TEXT


def test_a_suite_that_declares_more_tests_than_it_has_is_refused() -> None:
    bad = refused(suite("<testcase name='a'/>", "tests='2'"))
    assert str(bad) == "a suite declares 2 tests and has 1"
    assert [one.id for one in bad.results] == ["cart::a"]


def test_a_suite_that_declares_failures_that_it_does_not_show_is_refused() -> None:
    assert "failures" in str(refused(suite("<testcase name='a'/>", "tests='1' failures='1'")))


def test_counts_that_are_not_numbers_are_no_counts() -> None:
    assert outcomes(suite("<testcase name='a'/>", "tests='many' failures='-1'")) == {"cart::a": "passed"}


def test_pytest_may_count_subtests_that_it_does_not_write() -> None:
    text = "<testsuite name='pytest' tests='5'><testcase classname='m' name='a'/></testsuite>"
    assert outcomes(text) == {"m::a": "passed"}


@pytest.mark.parametrize(
    "text",
    [
        "",
        " \n",
        "{}",
        "<testsuite>",
        "<testsuite><testcase name='a'/>",
        "<suites/>",
        "<html></html>",
        "\0" * 9,
    ],
)
def test_what_is_cut_off_or_something_else_is_refused(text: str) -> None:
    refused(text)


def test_a_report_without_a_test_is_refused() -> None:
    assert str(refused(suite(""))) == "the report has no test in it"


def test_one_file_of_many_may_have_no_test() -> None:
    assert junit_cases(suite("").encode()) == []


ONE = "<testcase name='a'/>"
BOMB = '<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">]>'


@pytest.mark.parametrize(
    "head",
    [
        BOMB,
        '<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]>',
        '<!DOCTYPE x [<!ATTLIST testcase status CDATA "passed">]>',
        '<!DOCTYPE x [<!ENTITY % p SYSTEM "http://localhost/x"> %p;]>',
    ],
)
def test_a_document_type_that_declares_anything_is_refused(head: str) -> None:
    assert "document type" in str(refused(head + suite(ONE)))


def test_an_undeclared_entity_is_refused() -> None:
    refused(suite("<testcase name='a'><failure>&xxe;</failure></testcase>"))


def test_a_document_type_of_somewhere_else_is_not_fetched() -> None:
    head = '<!DOCTYPE testsuite SYSTEM "http://localhost:1/x.dtd">'
    assert outcomes(head + suite(ONE)) == {"cart::a": "passed"}


def test_elements_that_nest_without_end_are_refused() -> None:
    assert "deep" in str(refused("<testsuite>" * (MAX_DEPTH + 1)))


def test_too_many_tests_are_refused() -> None:
    bad = refused(suite("<testcase name='a'/>" * (MAX_RESULTS + 1)))
    assert "more than" in str(bad)
    assert len(bad.results) == MAX_RESULTS


def test_too_many_bytes_are_refused() -> None:
    assert "larger" in str(refused(b"<testsuite>" + b" " * MAX_REPORT_BYTES))


@pytest.mark.parametrize(
    "encoding", ["utf-8", "iso-8859-1", "utf-16", "shift_jis", "windows-1252", "euc-jp", "gbk"]
)
def test_the_declared_encoding_is_read(encoding: str) -> None:
    name = "adds" if encoding in {"iso-8859-1", "windows-1252"} else "\u8cfc\u5165"
    text = f"<?xml version='1.0' encoding='{encoding}'?>" + suite(f"<testcase name='{name}'/>")
    assert outcomes(text.encode(encoding)) == {f"cart::{name}": "passed"}


def test_an_unknown_encoding_is_refused() -> None:
    refused("<?xml version='1.0' encoding='x-nobody'?>" + suite("<testcase name='a'/>"))


def test_control_characters_that_a_test_printed_do_not_break_the_report() -> None:
    text = suite("<testcase name='a'><system-out>\x1b[1mbold\x00</system-out></testcase>")
    assert outcomes(text) == {"cart::a": "passed"}

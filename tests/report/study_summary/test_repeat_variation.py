"""Why repeats differ: an agent that varies is distinguished from a check that varies."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from study_lines import context, line, summary

from steelyard.report.html.study_report import study_html
from steelyard.report.stored.certificate import make_part, save_certificate
from steelyard.report.study_summary.model import StudySummary
from steelyard.report.study_summary.render.variation import variation_lines, variation_rows
from steelyard.report.study_summary.repeat_variation import pairs_of
from steelyard.study.self_test import SelfTestResult, SelfTestStatus

Row = tuple[str, str, str, str]  # verdict, agent, contract, change


def made(*rows: Row, **more: Any) -> StudySummary:
    lines = [
        line(verdict, agent, contract, run=f"r{number}", **more)
        for number, (verdict, agent, contract, _) in enumerate(rows)
    ]
    return summary(*lines, contexts=[context(change=change, answer=f"a{change}") for *_, change in rows])


def varying_agent(contracts: int = 30) -> list[Row]:
    """An agent that solves each contract once of two times with different changes; and checks that never vary."""
    return [
        row
        for number in range(contracts)
        for row in (
            ("pass", "one", f"c{number}", f"good {number}"),
            ("fail", "one", f"c{number}", f"bad {number}"),
            *[("fail", "noop", f"c{number}", "none")] * 3,
        )
    ]


@given(st.lists(st.booleans(), max_size=9))
def test_pairs_are_those_that_can_be_counted(outcomes: list[bool]) -> None:
    pairs = list(combinations(outcomes, 2))
    assert pairs_of(outcomes)[:2] == (sum(one != two for one, two in pairs), len(pairs))


def test_checks_that_never_vary_leave_the_variation_to_the_agent() -> None:
    found = made(*varying_agent()).repeat_variation
    assert [one.cause for one in found.agents] == ["agent"]
    assert found.checks.value == 0.0
    assert (found.checks.clusters, found.checks.n) == (30, 90)
    assert variation_lines(found) == (
        (
            "one: two repeats on one contract have different verdicts in 100% [89%, 100%] of pairs (30 contracts, 60 trials); "
            "the checks vary less than that, so it is the agent that varies"
        ),
        "checks: two runs with the same work have different results in 0% [0%, 11%] of pairs (30 contracts, 90 runs)",
    )


def test_the_same_change_with_two_results_is_a_flaky_check() -> None:
    found = made(
        ("pass", "one", "a", "same"),
        ("fail", "one", "a", "same"),
        ("pass", "one", "b", "x"),
        ("fail", "one", "b", "y"),
    ).repeat_variation
    assert [(one.contract, one.has_flaky_checks) for one in found.contracts] == [("a", True), ("b", False)]
    assert variation_rows(found.contracts)[0][:3] == ("a", "one 1 of 2", "1 of 1 pair differ")
    assert found.agents[0].cause == "open"


def test_without_the_same_work_twice_the_checks_are_not_measured() -> None:
    found = made(("pass", "one", "a", "x"), ("fail", "one", "a", "y")).repeat_variation
    assert (found.agents[0].cause, found.checks.value) == ("not measured", None)
    assert "not measured" in variation_lines(found)[1]


def test_one_trial_of_each_contract_says_nothing_about_repeats() -> None:
    assert variation_lines(made(("pass", "one", "a", "x"), ("fail", "one", "b", "y")).repeat_variation) == ()


def test_a_gate_that_no_check_decides_is_not_a_flaky_check() -> None:
    found = made(
        ("pass", "one", "a", "same"),
        ("fail", "one", "a", "same"),
        gates={"acceptance": "pass", "safety": "fail"},
    ).repeat_variation
    assert found.checks.value == 0.0


def test_an_answer_without_a_workspace_is_compared_by_its_text() -> None:
    rows: list[Row] = [("pass", "one", "a", "1"), ("fail", "one", "a", "2")]
    assert made(*rows, workspace="none").repeat_variation.checks.value is None


@pytest.mark.parametrize(
    ("came", "named"), [("as_expected", "of 1 contract gave the same"), ("otherwise", "those of a did not")]
)
def test_what_certify_found_is_said(
    came: SelfTestStatus, named: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STEELYARD_CACHE", str(tmp_path))
    row = SelfTestResult("check tests", "the same in all 10", "the same in 9 of 10", came)
    save_certificate("a" * 8, "a", "repeats", make_part([row], [], None))
    found = made(("pass", "one", "a", "x"), ("fail", "one", "a", "y")).repeat_variation
    assert named in variation_lines(found)[-1]
    assert found.contracts[0].has_flaky_checks == (came == "otherwise")


def test_the_page_has_the_sentences_and_the_contracts() -> None:
    page = study_html(made(*varying_agent()))
    assert "it is the agent that varies" in page
    assert "30 contracts with different results" in page


def test_the_same_work_judged_both_ways_is_indeterminate() -> None:
    """Whether it is correct is not settled by what the checks cover."""
    found = made(
        ("pass", "one", "a", "same"),
        ("fail", "one", "a", "same"),
        ("pass", "one", "a", "other"),
        ("pass", "one", "b", "same"),
    ).disclosures
    assert [(one.name, one.count, one.of) for one in found.indeterminate_by_reason] == [
        ("the same work judged both ways", 2, 4)
    ]
    (bounds,) = found.indeterminate_bounds
    assert (bounds.bounds.worst.value, bounds.bounds.best.value) == (0.5, 1.0)

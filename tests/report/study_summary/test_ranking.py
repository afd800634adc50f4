# mypy: disable-error-code="arg-type"
"""A ranking says what it does with acceptance errors; without a rule there is none."""

from __future__ import annotations

from dataclasses import replace

import pytest
from study_lines import context, line, results

from steelyard.report.study_summary.model import StudySummary
from steelyard.report.study_summary.render.markdown import study_markdown
from steelyard.report.study_summary.summarise import summarise_study

LINES = [
    *(line("pass", "sure", f"c{at}") for at in range(6)),
    *(line("fail", "sure", f"c{at}") for at in range(6, 8)),
    *(line("pass", "shy", f"c{at}") for at in range(4)),
    *(line("error", "shy", f"c{at}") for at in range(4, 8)),
    line("pass", "reference", "c0"),
]


def ranked(rule: str | None, planned: str | None = None) -> StudySummary:
    return summarise_study(replace(results(*LINES), ranking=rule, planned_ranking=planned))


@pytest.mark.parametrize(
    ("rule", "order"), [("failure", [("sure", 8), ("shy", 8)]), ("excluded", [("shy", 4), ("sure", 8)])]
)
def test_acceptance_errors_count_as_failures_or_are_left_out(rule: str, order: list[tuple[str, int]]) -> None:
    """Four of eight trials of `shy` could not be decided: as failures they cost the first place."""
    assert [(one.agent, one.trials) for one in ranked(rule).ranking.rows] == order


def test_without_a_rule_there_is_no_ranking_and_the_report_says_so() -> None:
    made = ranked(None)
    assert made.ranking.rows == ()
    assert "acceptance-error rates are shown apart" in study_markdown(made)


def test_the_rule_of_the_plan_holds_where_the_reader_asks_for_none() -> None:
    assert ranked(None, "failure").ranking.acceptance_errors == "failure"


def test_another_rule_than_the_planned_one_is_named() -> None:
    assert "(the plan says: none)" in study_markdown(ranked("excluded", "none"))


def test_agents_with_the_same_rate_share_their_place() -> None:
    lines = [line(verdict, name, f"c{at}") for name in "ab" for at, verdict in enumerate(("pass", "fail"))]
    lines += [line("fail", "c", f"c{at}") for at in range(2)]
    made = summarise_study(replace(results(*lines), ranking="failure"))
    assert [(one.place, one.agent) for one in made.ranking.rows] == [(1, "a"), (1, "b"), (3, "c")]


def test_agents_that_may_not_be_compared_have_no_places_and_no_front() -> None:
    """Neither in a study that goes on without a rule for looks, nor where conditions differ."""
    going_on = summarise_study(replace(results(*LINES), ranking="failure", planned_trials=100))
    unlike = [context(), replace(context(), conditions={"budget": "b2", "graders": "g1"})]
    lines = [line("pass", "one"), line("fail", "two")]
    other = summarise_study(replace(results(*lines, contexts=unlike), ranking="failure"))
    for made, why in ((going_on, "agents are not compared yet"), (other, "conditions differ (budget)")):
        assert (made.ranking.rows, made.pareto.points) == ((), ())
        assert made.ranking.words == f"acceptance errors count as failures; no agent is ranked: {why}"
        assert made.pareto.why == why

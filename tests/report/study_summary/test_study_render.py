"""A summary on a terminal of any width, piped, and in Markdown."""

from __future__ import annotations

import io
import random
from collections.abc import Callable
from typing import Any

import pytest
from rich.cells import cell_len
from rich.console import Console
from study_lines import line as one_line
from study_lines import results

from steelyard.report.html.study_report import study_html
from steelyard.report.percent import percent
from steelyard.report.study_summary.model import StudySummary
from steelyard.report.study_summary.read_results import ResultSet
from steelyard.report.study_summary.render.bars import MARKS, PLAIN_MARKS, draw_interval
from steelyard.report.study_summary.render.markdown import study_markdown
from steelyard.report.study_summary.render.tables import envelope_line
from steelyard.report.study_summary.render.terminal import print_brief, print_sections, print_study
from steelyard.report.study_summary.render.words import dollars, rate
from steelyard.report.study_summary.run_context import RunContext
from steelyard.report.study_summary.summarise import summarise_study
from steelyard.stats.estimate import Estimate, unknown

Show = Callable[[Console, StudySummary], None]
NAMES = ("short", "an-agent-with-a-name-that-is-longer-than-any-column", "noop")


def lines(agents: tuple[str, ...] = NAMES) -> list[dict[str, Any]]:
    generator = random.Random(2)
    return [
        {
            "schema": "steelyard.result/1",
            "run": f"run-{number}-{repeat}",
            "contract": {"id": f"c{number}", "digest": f"{number}" * 4},
            "agent": agent,
            "verdict": generator.choice(["pass", "pass", "fail", "error"]),
            "status": "scorable",
            "termination": "completed",
            "gates": {"patch": "pass", "acceptance": "fail"},
            "tags": ["acceptance_failure"],
            "cost": {"usd": 0.25},
            "durations": {"wall_s": 3.0, "working_s": 2.0, "acceptance_s": 0.5},
            "study": {"digest": "d" * 16, "name": "pilot", "stage": "1", "stratum": f"s{number % 2}"},
            "folder": None,
        }
        for number in range(8)
        for agent in agents
        for repeat in range(2)
    ]


def summary(*agents: str) -> StudySummary:
    found = tuple(lines(agents or NAMES))
    return summarise_study(ResultSet("here", found, (None,) * len(found)))


def printed(width: int, encoding: str = "utf-8", *agents: str, show: Show = print_study) -> str:
    file = io.TextIOWrapper(io.BytesIO(), encoding=encoding, newline="")
    show(Console(width=width, file=file, color_system=None, highlight=False), summary(*agents))
    file.flush()
    file.seek(0)
    return file.read()


@pytest.mark.parametrize("show", [print_study, print_brief])
@pytest.mark.parametrize("width", [60, 100, 200])
def test_no_line_is_wider_than_the_terminal(width: int, show: Show) -> None:
    assert max(cell_len(text) for text in printed(width, show=show).splitlines()) <= width


@pytest.mark.parametrize("width", [60, 100, 200])
def test_the_leaderboard_has_rate_interval_and_denominator(width: int) -> None:
    text = printed(width)
    assert "of 12, 8 contracts" in text or "8 contracts" in text
    assert "50%" in text
    assert "●" in text


def test_without_colours_there_are_no_escape_sequences() -> None:
    assert "\x1b" not in printed(100)


def test_an_output_without_unicode_gets_plain_marks() -> None:
    text = printed(100, "ascii")
    assert "|-" in text
    assert "●" not in text


def test_each_section_of_a_report_is_there() -> None:
    text = printed(200)
    for title in ("Comparisons", "Outcomes", "Undecided", "Repeats", "Strata", "Gates", "Failure modes", "Cost", "Time",
                  "Disclosure 1", "Disclosure 2", "Disclosure 3", "Disclosure 4", "Notes"):  # fmt: skip
        assert f"\n{title}" in text
    assert "study pilot" in text


@pytest.mark.parametrize("show", [print_study, print_brief])
def test_a_name_with_control_characters_cannot_steer_the_terminal(show: Show) -> None:
    text = printed(100, "utf-8", "evil\x1b[2J\nagent", "other", show=show)
    assert "\x1b" not in text


def one_trial_each(number: int) -> StudySummary:
    """Agents of one trial, of which every third passes."""
    found = tuple(
        one_line("fail" if at % 3 else "pass", f"agent-{at}", "c0", trial=str(at)) for at in range(number)
    )
    return summarise_study(ResultSet("here", found, (None,) * number))


def shown(made: StudySummary, show: Show = print_brief) -> str:
    file = io.StringIO()
    show(Console(width=100, file=file, color_system=None, highlight=False), made)
    return file.getvalue()


def test_agents_of_one_trial_each_have_outcomes_and_no_intervals() -> None:
    text = shown(one_trial_each(20))
    assert "20 agents with one trial each" in text
    assert "success (7): agent-0, agent-12" in text
    assert "failure (13): agent-1" in text
    assert "[" not in text.split("Cost")[0]


def test_an_agent_with_more_trials_of_which_one_is_decided_is_not_called_one_of_one_trial() -> None:
    """Its outcome alone would hide the four trials without a decision."""
    lines = [
        one_line("pass" if at == 0 else "error", name, f"c{at}", trial=f"{name}{at}")
        for name in ("first", "second")
        for at in range(5)
    ]
    text = shown(summarise_study(ResultSet("here", tuple(lines), (None,) * len(lines))))
    assert "one trial each" not in text
    assert "8 trials without a decision" in text


def test_the_answer_of_the_html_report_is_no_rate_of_one_trial() -> None:
    text = study_html(one_trial_each(20))
    assert "20 agents with one trial each: each has an outcome" in text
    assert "over 1 decided trial" not in text


def test_the_first_page_of_many_agents_fits_on_a_screen_or_two() -> None:
    made = one_trial_each(60)
    assert len(shown(made).splitlines()) < 60 < len(shown(made, print_study).splitlines())


def test_the_first_page_has_decision_rates_modes_cost_and_how_to_see_more() -> None:
    text = shown(summary())
    for words in ("cannot tell", "8 contracts", "\nFailure modes", "\nCost", "\nTo be careful about"):
        assert words in text
    assert "without a decision" in text
    assert "Disclosure 1" not in text
    assert "--section NAME: ranking, comparisons, outcomes" in text


def test_every_section_that_the_first_page_names_can_be_printed() -> None:
    made = summary()
    named = shown(made).split("--section NAME: ")[1].split(";")[0].replace("\n", " ").split(", ")
    for name in named:
        assert "nothing to show" not in sections(made, name.strip())
    assert sections(made, "honeypots") == "honeypots: nothing to show for these runs\n"


def sections(made: StudySummary, *names: str) -> str:
    return shown(made, lambda console, summary: print_sections(console, summary, names))


def test_markdown_escapes_what_agents_wrote() -> None:
    text = study_markdown(summary("a|b", "<script>"))
    assert "a\\|b" in text
    assert "<script>" not in text
    assert "| agent | success |" in text


def test_a_bar_shows_interval_and_value() -> None:
    assert draw_interval(Estimate(0.5, 0.2, 0.8, "", 10), 11, MARKS) == "··├──●──┤··"
    assert draw_interval(unknown("none"), 5, PLAIN_MARKS) == "....."


def test_what_is_not_known_has_no_digits() -> None:
    assert (rate(unknown("none")), percent(None), dollars(None)) == ("unknown", "unknown", "unknown")
    assert percent(0.004) == "0.4%"
    assert percent(0.0) == "0%"


def test_every_page_says_that_agents_are_not_compared() -> None:
    found = tuple(lines(("one", "two")))
    contexts = tuple(
        RunContext(conditions={"budget": "b1" if row["agent"] == "one" else "b2"}, agent_version="v")
        for row in found
    )
    made = summarise_study(ResultSet("here", found, contexts))
    file = io.StringIO()
    print_study(Console(width=160, file=file, color_system=None, highlight=False), made)
    for text in (file.getvalue(), study_markdown(made), study_html(made)):
        assert "not compared: conditions differ" in text


def test_every_number_of_a_small_study_has_an_interval_or_says_that_it_has_none() -> None:
    """Costs and times that are all alike have no interval; pass@k names the contracts that it is over."""
    found = [
        one_line("pass" if number % 2 else "fail", agent, f"c{number}", trial=f"{agent}{number}{repeat}")
        for agent in ("one", "two")
        for number in range(6)
        for repeat in range(2 if number else 1)
    ]
    console = Console(width=200, file=io.StringIO(), color_system=None, highlight=False)
    print_study(console, summarise_study(ResultSet("lines", tuple(found), (None,) * len(found))))
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert "$0.50 [no interval]" in text
    assert "$0.50 [$0.50, $0.50]" not in text
    assert "6.0s [6.0s, no limit]" in text  # the median: no trial is left after it
    assert "5 of 6" in text
    assert "contracts with k decided trials" in text


def test_every_percentage_of_a_markdown_report_has_an_interval() -> None:
    """The share of resamples on the front, a half-width and the name of the level are no estimates of a rate."""
    shown = study_markdown(summarise_study(ResultSet("lines", tuple(lines()), tuple([None] * len(lines())))))
    rows = [row for row in shown.splitlines() if row.startswith("|") and "+-" not in row]
    cells = [cell.strip() for row in rows for cell in row.strip("|").split(" | ")]
    alone = [cell for cell in cells if "%" in cell and "[" not in cell]
    assert all(cell.endswith("%") and cell.removesuffix("%").isdigit() for cell in alone)
    assert len(alone) <= len(NAMES)


def grid(verdict: str, agents: int, contracts: int = 10, **more: Any) -> StudySummary:
    found = [
        one_line(verdict, f"agent-{at}", f"c{number}", trial=f"{at}-{number}", **more)
        for at in range(agents)
        for number in range(contracts)
    ]
    return summarise_study(results(*found))


def test_agents_of_several_trials_without_a_decision_are_no_agents_of_one_trial() -> None:
    text = shown(grid("error", 2))
    assert "one trial each" not in text
    assert text.count("unknown  ") == 2
    assert "0 of 0, 0 contracts, 10 undecided" in text


@pytest.mark.parametrize(
    ("usd", "words"), [(0.0, "no trial paid for a model"), (None, "unknown (no value is known)")]
)
def test_a_cost_that_is_not_known_is_not_called_none(usd: float | None, words: str) -> None:
    assert words in shown(grid("pass", 2, cost={"usd": usd}))
    found = [one_line("pass", "x", f"c{at}", cost={"usd": None if at else 0.0}) for at in range(5)]
    assert "no trial paid" not in shown(summarise_study(results(*found)))


def test_agents_of_one_trial_whose_cost_is_not_known_cost_no_zero_dollars() -> None:
    found = [one_line("pass", f"agent-{at}", "c0", cost={"usd": None}) for at in range(3)]
    text = shown(summarise_study(results(*found)))
    assert "3 agents with one trial each: the cost of 3 trials is not known" in text


def test_agents_that_are_too_many_to_compare_are_said_to_be() -> None:
    made = grid("pass", 13, contracts=3)
    for text in (shown(made), study_html(made)):
        assert "13 agents are too many to compare each with each" in text.replace("\n", " ")


def test_the_answer_of_the_html_report_names_no_best_agent_where_none_are_compared() -> None:
    found = [one_line("pass" if at else "fail", f"agent-{at}", f"c{at}") for at in (0, 0, 1, 1)]
    made = summarise_study(results(*found, planned_trials=100))
    assert "No two agents are compared here. The table has each rate." in study_html(made)


def test_a_mean_without_an_interval_says_why() -> None:
    text = shown(grid("pass", 1))
    assert "$0.50 [no interval], n=10" in text
    assert "no interval: all contracts have the same mean" in text


def test_shares_near_none_and_all_are_not_called_none_and_all() -> None:
    shares = (0.00002, 0.0004, 0.0006, 0.9994, 0.9998, 1 - 1e-12)
    assert [percent(one) for one in shares] == ["<0.1%", "<0.1%", "0.1%", "99.9%", ">99.9%", "100%"]


def test_a_small_cost_is_not_zero_dollars_on_any_page() -> None:
    lines = [one_line("pass", contract=name, cost={"usd": 0.003}) for name in "abc"]
    made = summarise_study(results(*lines))
    page = study_html(made)
    assert "$0.0030" in page
    assert "$0.00<" not in page
    assert "$0.00 " not in page
    assert dollars(0.00001) == "<$0.0001"
    assert "models 0.0030" in envelope_line(
        {"total_usd": 0.05, "left_usd": 0.047, "spent": {"models": 0.003}, "spent_usd": 0.003}
    )


def test_one_of_something_is_not_called_several() -> None:
    trap = one_line("fail", "x", "trap", study={"stratum": "honeypot"})
    again = [one_line("pass", "x", "c0", trial="t", run=run) for run in ("first", "second")]
    whole = " ".join(shown(summarise_study(results(*again, trap)), print_study).split())
    assert "1 trial was run more than once" in whole
    assert "1 trial of a honeypot is in no rate" in whole
    alone = " ".join(shown(summarise_study(results(again[0])), print_study).split())
    for words in ("0 of 1 trial, ", "(1 run unknown)", "1 of 1 run has no folder"):
        assert words in alone
    flipped = study_html(
        summarise_study(
            results(*(one_line("pass" if at else "fail", f"agent-{at}", "c0") for at in (0, 0, 1, 1)))
        )
    )
    assert "1 contract with different results" in flipped
    assert "Cost and success on 1 contract that all" in flipped


def test_failure_modes_that_a_section_leaves_out_are_counted() -> None:
    lines = [one_line("fail", "x", f"c{at}", tags=[f"mode-{at:02}"]) for at in range(15)]
    text = sections(summarise_study(results(*lines)), "modes")
    assert "x: 3 less frequent ones are not shown; --json has them" in text


def test_the_first_page_of_a_study_without_a_budget_and_without_cost_has_no_line_about_it() -> None:
    nothing = {"total_usd": None, "spent_usd": 0.0, "spent": {"models": 0.0}, "left_usd": None}
    lines = [one_line("pass", "x", f"c{at}") for at in range(3)]
    assert "\nBudget\n" not in shown(summarise_study(results(*lines, envelope=nothing)))
    paid = {"total_usd": 9.0, "spent_usd": 2.0, "spent": {"models": 2.0}, "left_usd": 7.0}
    words = "when it ended, the study had cost 2.00 USD of B_total 9.00: models 2.00; 7.00 not spent"
    assert words in shown(summarise_study(results(*lines, envelope=paid)))

"""A study becomes one HTML file: the answer first, every number with its interval, what is not known said in words."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from made_records import made_lines

from authoring import Steelyard
from steelyard.report.html.study.cells import number_cell
from steelyard.report.html.study_report import study_html
from steelyard.report.html.svg import Scale, ticks
from steelyard.report.study_summary.model import StudySummary
from steelyard.report.study_summary.read_results import of_lines
from steelyard.report.study_summary.render.words import dollars
from steelyard.report.study_summary.summarise import summarise_study
from steelyard.stats.estimate import Estimate


@pytest.fixture(scope="module")
def summary() -> StudySummary:
    return summarise_study(of_lines("made", list(made_lines(12, 3))))


def test_the_sections_follow_the_answer_and_the_disclosures(summary: StudySummary) -> None:
    titles = re.findall(r"<h2>([^<]+)</h2>", study_html(summary))
    assert titles[:2] == ["The answer", "Agents"]
    assert [title[:12] for title in titles if title.startswith("Disclosure")] == [
        f"Disclosure {number}" for number in (1, 2, 3, 4)
    ]
    assert titles[-2:] == ["Protocol", "Records"]


def test_there_are_nine_plots_each_with_a_name_for_readers_who_do_not_see_it(summary: StudySummary) -> None:
    plots = re.findall(r'<svg [^>]*role="img" aria-label="([^"]+)"', study_html(summary))
    assert len(plots) == len(set(plots)) == 9


def test_every_agent_has_its_rate_with_interval_and_denominators(summary: StudySummary) -> None:
    markup = study_html(summary)
    assert len(summary.agents) > 1
    for agent in summary.agents:
        value, low, high = agent.success.value, agent.success.low, agent.success.high
        assert value is not None
        assert low is not None
        assert high is not None
        assert f"{100 * value:.0f}% [{100 * low:.0f}, {100 * high:.0f}]" in markup
        assert f"n={agent.success.n}, {agent.success.clusters} contract" in markup


def test_every_percentage_of_a_table_has_an_interval(summary: StudySummary) -> None:
    tables = " ".join(re.findall(r"<tbody>.*?</tbody>", study_html(summary), re.DOTALL))
    words = re.sub(r"<[^>]+>", " ", tables)
    assert re.findall(r"\d%(?! \[)", words) == []


def test_every_difference_of_a_plot_has_an_interval(summary: StudySummary) -> None:
    (plot,) = re.findall(
        r'aria-label="Paired differences in success.*?</svg>', study_html(summary), re.DOTALL
    )
    assert re.search(r"[+-]\d+ \[-?\d+, -?\d+\]", plot)


def test_the_file_loads_nothing(summary: StudySummary) -> None:
    markup = study_html(summary)
    assert not re.search(r"(?:src|href|url\()\s*=?\s*[\"'(]?(?:https?:)?//", markup)
    assert "<script" not in markup
    assert "default-src 'none'" in markup.replace("&#x27;", "'")


def test_one_run_makes_a_report() -> None:
    (line, *_) = made_lines(1, 1, {"careful": 0.5})
    assert "careful" in study_html(summarise_study(of_lines("made", [line])))


def test_an_interval_without_a_limit_is_said_in_words() -> None:
    shown = number_cell(Estimate(1.5, 0.5, math.inf, "Fieller", 3), dollars)
    assert "$1.50" in shown
    assert "[$0.50, no limit]" in shown
    assert "inf" not in shown


def test_report_writes_the_file(steelyard: Steelyard, tmp_path: Path) -> None:
    lines = tmp_path / "lines.jsonl"
    lines.write_text("".join(f"{json.dumps(line)}\n" for line in made_lines(3, 2)))
    result = steelyard("report", lines, "--html", tmp_path / "out.html")
    assert (result.code, result.out) == (0, f"{tmp_path / 'out.html'}\n")
    assert "The answer" in (tmp_path / "out.html").read_text()
    refused = steelyard("report", lines, "--html", tmp_path / "nowhere" / "out.html")
    assert refused.code == 2
    assert "No such file" in refused.err


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0, 1, [0, 0.2, 0.4, 0.6, 0.8, 1.0]),
        (0, 100, [0, 20, 40, 60, 80, 100]),
        (5, 5, [5]),
        (-0.5, 0.5, [-0.4, -0.2, 0, 0.2, 0.4]),
    ],
)
def test_ticks_are_round_numbers(low: float, high: float, expected: list[float]) -> None:
    assert ticks(low, high) == pytest.approx(expected)


def test_a_scale_keeps_values_inside_the_plot() -> None:
    scale = Scale(0, 1, 100, 300)
    assert [scale(value) for value in (-1, 0, 0.5, 1, 9)] == [100, 100, 200, 300, 300]
    assert Scale(2, 2, 10, 20)(2) == 10


def test_repeats_and_times_to_success_have_tables_with_intervals(summary: StudySummary) -> None:
    markup = study_html(summary)
    for caption in (
        "The chance that at least one of k trials succeeds, and that all do",
        "Time to success (Kaplan-Meier)",
    ):
        body = markup.split(f"<caption>{caption}")[1].split("</table>")[0]
        assert body.count("n=") >= len(summary.agents)


def test_the_curve_of_repeats_ends_where_contracts_begin_to_miss() -> None:
    """pass^k falls with k; over the contracts that happen to have k trials it may rise."""
    verdicts = {"a": "ppp", "b": "pf", "c": "ff"}
    lines: list[Mapping[str, Any]] = [
        {
            "schema": "steelyard.result/1",
            "run": f"{contract}{repeat}",
            "contract": {"id": contract, "digest": contract * 8},
            "agent": "x",
            "verdict": {"p": "pass", "f": "fail"}[verdict],
        }
        for contract, each in verdicts.items()
        for repeat, verdict in enumerate(each)
    ]
    made = summarise_study(of_lines("here", lines))
    assert [one.all_of_them.value for one in made.agents[0].pass_k] == pytest.approx([0.5, 1 / 3, 1.0])
    plot = study_html(made).split('aria-label="pass@k and pass^k"')[1].split("</svg>")[0]
    assert ">2<" in plot
    assert ">3<" not in plot

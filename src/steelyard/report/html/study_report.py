"""A study summary -> one HTML file: the answer first, then plots, comparisons, the four disclosures, and the protocol.

    study_html(summary)               a whole file with its style inside; it loads nothing, and prints well
    study_sections(summary, link)     the same parts for a page of the viewer; `link` leads from a run to its page

Every number is computed in the summary. Names and reasons may come from agents: they are escaped and bounded.
"""

from __future__ import annotations

import errno
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from typing import Any

from steelyard import __version__
from steelyard.errors import InfraFault, OperatorFault
from steelyard.evidence.folder.folder import write_atomic
from steelyard.report.html.element import Child, Markup, join, prose, tag
from steelyard.report.html.line_plots import (
    burn_plot,
    pass_k_plot,
    power_plot,
    precision_plot,
    survival_plot,
)
from steelyard.report.html.plots import interval_words, mode_map, pareto_plot, ranks, success_plot
from steelyard.report.html.study.agents import (
    economics_table,
    errors_table,
    honeypots_card,
    leaderboard,
    modes_table,
    ranking_table,
    repeats_table,
    strata_card,
    terminations_table,
    time_table,
    variation_card,
)
from steelyard.report.html.study.cells import LinkRun, card, cut, table
from steelyard.report.html.study.comparisons import comparison_tables, comparison_words
from steelyard.report.html.study.disclosures import disclosure_cards, precision_table
from steelyard.report.percent import amount
from steelyard.report.study_summary.model import StudySummary
from steelyard.report.study_summary.render.brief import agents_with_rate, by_decision, not_compared

MOST_RUNS = 50_000
MOST_SENTENCES = 6


def study_html(summary: StudySummary) -> str:
    """The whole file. Its policy lets it load nothing, also where it is opened from a web server."""
    style = files("steelyard").joinpath("report", "html", "style.css").read_text()
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag(
            "meta",
            http_equiv="Content-Security-Policy",
            content="default-src 'none'; style-src 'unsafe-inline'",
        ),
        tag("title", f"{title_of(summary)} · Steelyard"),
        Markup(f"<style>\n{style}</style>"),
    )
    made = f"Made by Steelyard {__version__} on {datetime.now(UTC):%Y-%m-%d %H:%M} UTC from {summary.source}."
    body = tag(
        "body", tag("main", tag("h1", title_of(summary)), study_sections(summary)), tag("footer", made)
    )
    return f'<!doctype html>\n<html lang="en">{head}{body}</html>\n'


def write_study_html(summary: StudySummary, path: Path) -> None:
    """The file is there as a whole, or not at all; a pipe or a device is written to, not replaced."""
    page = study_html(summary).encode()
    try:
        if path.exists() and not path.is_file():
            path.write_bytes(page)
            return
        write_atomic(path.resolve(), page, durable=False)
        path.chmod(0o644)  # a report is for others to read
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise InfraFault(f"--html {path}: {error.strerror}") from error
        raise OperatorFault(f"--html {path}: {error.strerror}") from error


def title_of(summary: StudySummary) -> str:
    name = (summary.study or {}).get("name")
    return f"Study {name}" if name and name != "None" else "Report of runs"


def study_sections(summary: StudySummary, link: LinkRun | None = None) -> Markup:
    to_run = link or (lambda run: tag("code", run))
    of = ranks(summary.agents)
    return join(
        _answer(summary),
        card(
            "Agents",
            leaderboard(summary.agents),
            ranking_table(summary.ranking),
            success_plot(summary.agents),
            id_="agents",
        ),
        card("Comparisons", comparison_tables(summary, to_run), id_="comparisons")
        if summary.comparisons
        else None,
        honeypots_card(summary),
        card(
            "Cost, time and repeats",
            pareto_plot(summary.pareto, of),
            survival_plot(summary.agents, of),
            time_table(summary.agents),
            pass_k_plot(summary.agents, of),
            repeats_table(summary.agents),
            burn_plot(summary.burn, of),
            economics_table(summary.agents),
            id_="economics",
        ),
        variation_card(summary),
        card(
            "Failure modes",
            mode_map(summary.agents) or tag("p", "No trial has a failure mode."),
            modes_table(summary.agents),
            errors_table(summary.agents),
            terminations_table(summary.agents),
            id_="modes",
        ),
        strata_card(summary.agents),
        disclosure_cards(summary, to_run),
        card(
            "How much more would tell more",
            power_plot(summary.power),
            precision_plot(summary.disclosures.precision, of),
            precision_table(summary),
            id_="precision",
        ),
        _protocol(summary, to_run),
        _runs(summary, to_run),
    )


def _answer(summary: StudySummary) -> Markup:
    """What a decision needs: one sentence for each comparison, then what makes the numbers provisional."""
    runs = f"{amount(summary.trials, 'trial')} ({amount(summary.runs, 'run')})"
    size = f"{runs} on {amount(summary.contracts, 'contract')} by {amount(len(summary.agents), 'agent')}."
    comparisons = by_decision(summary)
    sentences = [tag("li", comparison_words(one)) for one in comparisons[:MOST_SENTENCES]]
    return tag(
        "section",
        tag("h2", "The answer"),
        tag("ul", sentences, class_="plain story")
        if sentences
        else tag("p", _answer_without_comparison(summary), class_="story"),
        tag("p", f"Below: {amount(len(comparisons) - MOST_SENTENCES, 'more comparison')}.")
        if len(comparisons) > MOST_SENTENCES
        else None,
        tag("p", size, class_="dim"),
        [
            tag("p", prose(f"Provisional: {cut(reason, 500)}."), class_="notice warning")
            for reason in summary.provisional
        ],
        class_="card",
        id="answer",
    )


def _answer_without_comparison(summary: StudySummary) -> Child:
    """Without a comparison: the rate of the only agent, or why no agent is named."""
    agents = [one for one in summary.agents if not one.is_baseline]
    shown = [one for one in agents_with_rate(summary.agents) if not one.is_baseline]
    if not agents:
        return "Only baselines were run."
    if not shown:
        return f"{amount(len(agents), 'agent')} with one trial each: each has an outcome, and none has a rate to go by."
    if len(agents) > 1:
        return prose(
            f"{not_compared(summary) or 'No two agents are compared here'}. The table has each rate."
        )
    only = shown[0]
    return (
        f"{only.agent}: success {interval_words(only.success)} over {amount(only.success.n, 'decided trial')} "
        f"on {amount(only.contracts, 'contract')}."
    )


def _protocol(summary: StudySummary, link: LinkRun) -> Markup:
    rows = [
        (
            one.what,
            cut(one.planned),
            cut(one.observed),
            f"{one.runs:,}",
            link(one.example) if one.example else "",
        )
        for one in summary.deviations
    ]
    versions = [tag("li", f"{name}: {', '.join(digests)}") for name, digests in summary.versions.items()]
    return card(
        "Protocol",
        table(
            ("what", "planned", "observed", "runs", "example"),
            rows,
            "Deviations from the protocol",
            numeric=(3,),
        )
        if rows
        else tag("p", "No deviation from the protocol is recorded."),
        join(tag("p", "Contracts with several versions:"), tag("ul", versions)) if versions else None,
        tag("ul", [tag("li", prose(f"{note}.")) for note in summary.notes], class_="dim"),
        id_="protocol",
    )


def _runs(summary: StudySummary, link: LinkRun) -> Markup:
    """Which records the numbers stand on. Plain text, because there may be ten thousand."""
    shown: Any = summary.run_ids[:MOST_RUNS]
    more = f" The first {MOST_RUNS:,} are listed." if len(summary.run_ids) > MOST_RUNS else ""
    words = tag(
        "p",
        f"These numbers follow from {len(summary.run_ids):,} sealed run folders; ",
        tag("code", "steelyard verify RUN"),
        f" verifies one.{more}",
    )
    listed: Child = (
        tag("pre", "\n".join(shown))
        if len(shown) > 200
        else tag("ul", [tag("li", link(run)) for run in shown], class_="plain")
    )
    return card(
        "Records",
        words,
        tag("details", tag("summary", "Names of the runs"), listed, class_="long"),
        id_="records",
    )

"""Pairs of agents: the sentence of each comparison, the table of differences, and the contracts that differ."""

from __future__ import annotations

from steelyard.report.html.element import Child, Markup, join, prose, tag
from steelyard.report.html.plots import difference_plot, point_words
from steelyard.report.html.study.cells import LinkRun, cut, p_value, points_cell, table
from steelyard.report.percent import amount
from steelyard.report.study_summary.model import AgentComparison, StudySummary
from steelyard.report.study_summary.sentence import short_name

MOST_FLIPS = 50
_CONCLUSIONS = {"better": "second solves more", "worse": "second solves less", "undecided": "cannot tell yet"}


def comparison_tables(summary: StudySummary, link: LinkRun) -> Markup:
    rows = [
        (
            f"{cut(one.second, 60)} minus {cut(one.first, 60)}",
            points_cell(one.difference),
            _conclusion(one),
            p_value(one.p),
            p_value(one.p_holm),
            f"{point_words(one.worst)} to {point_words(one.best)}",
            "fragile" if one.is_fragile else "holds" if one.undecided else "none undecided",
            str(one.contracts),
        )
        for one in summary.comparisons
    ]
    columns = (
        "pair",
        "difference",
        "conclusion",
        "p",
        "p (Holm)",
        "if undecided went against or for it",
        "undecided trials",
        "contracts",
    )
    return join(
        difference_plot(summary.comparisons),
        table(columns, rows, "Paired differences in points of success", numeric=(3, 4, 7)),
        tag("p", summary.multiplicity, class_="dim") if summary.multiplicity else None,
        [comparison_details(one, link) for one in summary.comparisons[:50]],
    )


def _conclusion(one: AgentComparison) -> str:
    words = _CONCLUSIONS.get(one.conclusion, one.conclusion)
    return f"{words}, by itself only" if one.is_decided and not one.is_claimed else words


def comparison_words(one: AgentComparison) -> Child:
    """The sentence of a comparison; one that begins with the name of an agent keeps that name as it is."""
    text = f"{one.sentence}."
    return text if text.startswith((short_name(one.first), short_name(one.second))) else prose(text)


def comparison_details(one: AgentComparison, link: LinkRun) -> Markup | None:
    if not one.flips and not one.differences:
        return None
    flips = [
        (
            cut(flip.contract, 80),
            flip.first,
            flip.second,
            [join(link(run), " ") for run in (*flip.first_runs[:2], *flip.second_runs[:2])],
        )
        for flip in one.flips[:MOST_FLIPS]
    ]
    unlike = [
        tag("li", f"{difference.what}: {cut(difference.first)} against {cut(difference.second)}")
        for difference in one.differences
    ]
    return tag(
        "details",
        tag(
            "summary",
            f"{cut(one.second, 60)} against {cut(one.first, 60)}: {amount(len(one.flips), 'contract')} with different results",
        ),
        join(tag("p", "Conditions that were not the same:"), tag("ul", unlike)) if unlike else None,
        table(
            ("contract", cut(one.first, 40), cut(one.second, 40), "runs to look at"),
            flips,
            "Contracts with different results",
        )
        if flips
        else None,
    )

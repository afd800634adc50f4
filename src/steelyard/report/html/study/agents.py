"""Agents, one at a time: success, cost, failure modes, ends, strata, and how repeats vary."""

from __future__ import annotations

from collections.abc import Sequence

from steelyard.report.html.element import Child, Markup, join, mark_code, prose, tag
from steelyard.report.html.study.cells import (
    card,
    counted_cell,
    cut,
    estimate_cell,
    estimates_cell,
    number_cell,
    spread_cell,
    table,
)
from steelyard.report.percent import amount
from steelyard.report.study_summary.model import AgentNumbers, CountedRate, Ranking, StudySummary
from steelyard.report.study_summary.render.tables import HONEYPOTS
from steelyard.report.study_summary.render.variation import VARIATION_COLUMNS, variation_lines, variation_rows
from steelyard.report.study_summary.render.words import dollars


def ranking_table(ranking: Ranking) -> Markup:
    """One number for each agent, or why there is none."""
    is_none = ranking.acceptance_errors == "none"  # its words say that there is no ranking
    rule = tag("p", prose(f"{ranking.words}." if is_none else f"Ranking: {ranking.words}."), class_="dim")
    if not ranking.rows:
        return rule
    rows = [
        (str(one.place), cut(one.agent, 80), estimate_cell(one.rate), f"{one.trials:,}")
        for one in ranking.rows
    ]
    return join(rule, table(("", "agent", "success", "trials"), rows, "Ranking", numeric=(0, 3)))


def leaderboard(agents: Sequence[AgentNumbers]) -> Markup:
    rows = [
        (
            join(
                tag("b", cut(one.agent, 80)),
                tag("span", " baseline", class_="dim") if one.is_baseline else None,
            ),
            estimate_cell(one.success),
            _undecided(one),
            estimate_cell(one.within_budget),
            number_cell(one.quality),
            number_cell(one.economics.cost_per_success, dollars),
            _counted_named(one.categories, "acceptance_error"),
            counted_cell(one.invalid_attempts),
        )
        for one in agents
    ]
    columns = (
        "agent",
        "success",
        "success if undecided trials …",
        "success, errors count as failures",
        "quality",
        "cost of a success",
        "acceptance errors",
        "invalid runs",
    )
    return table(
        columns,
        rows,
        "Agents, by success of decided trials; the order alone shows no difference. Intervals are 95%",
    )


def _undecided(one: AgentNumbers) -> Child:
    """Bounds and imputation; nothing where every trial was decided."""
    if not one.bounds.undecided:
        return "none"
    return estimates_cell({"fail": one.bounds.worst, "pass": one.bounds.best, "imputed": one.imputed})


def _counted_named(counted: Sequence[CountedRate], name: str) -> Child:
    found = next((one for one in counted if one.name == name), None)
    return counted_cell(found) if found else "0"


def economics_table(agents: Sequence[AgentNumbers]) -> Markup:
    rows = [
        (
            cut(one.agent, 80),
            spread_cell(one.economics.cost_usd, dollars),
            spread_cell(one.economics.tokens, "{:,.0f}".format),
            spread_cell(one.economics.wall_s_success, "{:.1f} s".format),
            spread_cell(one.economics.wall_s_failure, "{:.1f} s".format),
            spread_cell(one.economics.overhead_s, "{:.2f} s".format),
        )
        for one in agents
    ]
    columns = (
        "agent",
        "cost of a trial",
        "tokens of a trial",
        "time, success",
        "time, failure",
        "sandbox and capture",
    )
    caption = "Medians with quartiles; the cost is that of models; values that are not known are left out and counted"
    return table(columns, rows, caption)


def repeats_table(agents: Sequence[AgentNumbers]) -> Markup | None:
    """pass@k and pass^k with their intervals."""
    rows = [
        (
            cut(one.agent, 80),
            str(each.k),
            estimate_cell(each.at_least_one),
            estimate_cell(each.all_of_them),
            f"{each.at_least_one.clusters:,} of {one.success.clusters:,}",
        )
        for one in agents
        for each in one.pass_k
        if each.k > 1
    ]
    if not rows:
        return None
    columns = ("agent", "k", "pass@k", "pass^k", "contracts with k decided trials")
    return table(
        columns, rows, "The chance that at least one of k trials succeeds, and that all do", numeric=(1,)
    )


def time_table(agents: Sequence[AgentNumbers]) -> Markup:
    rows = [
        (
            cut(one.agent, 80),
            number_cell(one.time_to_success.median, "{:.1f} s".format),
            number_cell(one.time_to_success.restricted_mean, "{:.1f} s".format),
            f"{one.time_to_success.censored:,}",
            f"{one.time_to_success.unknown:,}",
        )
        for one in agents
    ]
    columns = ("agent", "median", "restricted mean", "censored", "time not known")
    return table(columns, rows, "Time to success (Kaplan-Meier), with 95% intervals", numeric=(3, 4))


def variation_card(summary: StudySummary) -> Markup | None:
    """Why repeats differ: the agent varies, or a check gives the same work different results."""
    lines = variation_lines(summary.repeat_variation)
    if not lines:
        return None
    rows = [[cut(cell) for cell in row] for row in variation_rows(summary.repeat_variation.contracts)]
    return card(
        "Repeats that differ: the agent or the checks",
        tag("ul", [tag("li", mark_code(f"{line}.")) for line in lines], class_="plain story"),
        tag(
            "details",
            tag("summary", f"{amount(len(rows), 'contract')} with different results"),
            table(VARIATION_COLUMNS, rows, "Contracts on which repeats differ, flaky checks first"),
        )
        if rows
        else None,
        id_="variation",
    )


def modes_table(agents: Sequence[AgentNumbers]) -> Markup | None:
    rows = [(cut(one.agent, 80), cut(mode.name), counted_cell(mode)) for one in agents for mode in one.tags]
    if not rows:
        return None
    return tag(
        "details",
        tag("summary", "Failure modes with their intervals"),
        table(("agent", "failure mode", "trials"), rows, "Failure modes of all trials, by agent"),
    )


def errors_table(agents: Sequence[AgentNumbers]) -> Markup | None:
    """What verifiers, judges and people named, and outputs that were not fit for scoring."""
    rows = [
        (cut(one.agent, 80), cut(each.name), counted_cell(each))
        for one in agents
        for each in (*one.errors, *one.unfit)
    ]
    if not rows:
        return None
    caption = (
        "Errors named by verifiers (mechanical), judges and people, and outputs not fit for scoring, by agent"
    )
    return tag(
        "details",
        tag("summary", "Errors that were named, and outputs not fit for scoring"),
        table(("agent", "error", "trials"), rows, caption),
    )


def terminations_table(agents: Sequence[AgentNumbers]) -> Markup:
    rows = [
        (cut(one.agent, 80), ended.name.replace("_", " "), counted_cell(ended))
        for one in agents
        for ended in one.terminations
        if ended.count
    ]
    return tag(
        "details",
        tag("summary", "How trials ended"),
        table(("agent", "ended", "trials"), rows, "Terminations by agent"),
    )


def honeypots_card(summary: StudySummary) -> Markup | None:
    if not summary.honeypots:
        return None
    rows = [(cut(one.name, 80), counted_cell(one)) for one in summary.honeypots]
    return card("Honeypots", table(("agent", "passed"), rows, HONEYPOTS), id_="honeypots")


def strata_card(agents: Sequence[AgentNumbers]) -> Markup | None:
    rows = [
        (
            stratum.name,
            cut(one.agent, 80),
            str(stratum.contracts),
            estimate_cell(stratum.success),
            spread_cell(stratum.cost_usd, dollars),
        )
        for one in agents
        for stratum in one.strata
    ]
    if len({row[0] for row in rows}) < 2:  # one stratum says what the table of agents says
        return None
    rows.sort(key=lambda row: (str(row[0]), str(row[1])))
    return card(
        "Strata",
        table(
            ("stratum", "agent", "contracts", "success", "cost of a trial"),
            rows,
            "Success and cost by stratum",
            numeric=(2,),
        ),
        id_="strata",
    )

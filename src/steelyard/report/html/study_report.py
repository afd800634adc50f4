"""A study summary -> one HTML file: the answer first, then plots, comparisons, the four disclosures, and the protocol.

    study_html(summary)               a whole file with its style inside; it loads nothing, and prints well
    study_sections(summary, link)     the same parts for a page of the viewer; `link` leads from a run to its page

Every number is computed in the summary. Names and reasons may come from agents: they are escaped and bounded.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from typing import Any

from steelyard import __version__
from steelyard.errors import OperatorFault
from steelyard.evidence.folder.folder import write_atomic
from steelyard.report.html.element import Child, Markup, join, prose, tag
from steelyard.report.html.plots import (
    burn_plot,
    difference_plot,
    interval_words,
    mode_map,
    pareto_plot,
    pass_k_plot,
    point_words,
    power_plot,
    ranks,
    success_plot,
    survival_plot,
)
from steelyard.report.study_summary.model import (
    AgentComparison,
    AgentNumbers,
    Counted,
    Disclosures,
    Spread,
    StudySummary,
)
from steelyard.report.study_summary.render.variation import (
    VARIATION_COLUMNS,
    variation_lines,
    variation_rows,
)
from steelyard.stats.estimate import Estimate

MOST_ROWS, MOST_FLIPS, MOST_RUNS = 500, 50, 50_000
MOST_SENTENCES = 6
LinkRun = Callable[[str], Markup]
_CONCLUSIONS = {"better": "second solves more", "worse": "second solves less", "undecided": "cannot tell yet"}


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
    """The file is there as a whole, or not at all."""
    try:
        write_atomic(path, study_html(summary).encode(), durable=False)
        path.chmod(0o644)  # a report is for others to read
    except OSError as error:
        raise OperatorFault(f"--html {path}: {error.strerror}") from error


def title_of(summary: StudySummary) -> str:
    name = (summary.study or {}).get("name")
    return f"Study {name}" if name and name != "None" else "Report of runs"


def study_sections(summary: StudySummary, link: LinkRun | None = None) -> Markup:
    to_run = link or (lambda run: tag("code", run))
    of = ranks(summary.agents)
    return join(
        _answer(summary),
        _card("Agents", _leaderboard(summary.agents), success_plot(summary.agents), id_="agents"),
        _card("Comparisons", _comparisons(summary, to_run), id_="comparisons")
        if summary.comparisons
        else None,
        _card(
            "Cost, time and repeats",
            pareto_plot(summary.pareto, of),
            survival_plot(summary.agents, of),
            pass_k_plot(summary.agents, of),
            burn_plot(summary.burn, of),
            _economics(summary.agents),
            id_="economics",
        ),
        _variation(summary),
        _card(
            "Failure modes",
            mode_map(summary.agents) or tag("p", "No trial has a failure mode."),
            _modes(summary.agents),
            _errors(summary.agents),
            _terminations(summary.agents),
            id_="modes",
        ),
        _strata(summary.agents),
        _disclosures(summary, to_run),
        _card(
            "How much more would tell more", power_plot(summary.power), _precision(summary), id_="precision"
        ),
        _protocol(summary, to_run),
        _runs(summary, to_run),
    )


def _card(title: str, *content: Child, id_: str = "") -> Markup:
    return tag("section", tag("h2", title), content, class_="card", id=id_ or None)


def _table(
    columns: Sequence[str], rows: Sequence[Sequence[Child]], caption: str, numeric: Sequence[int] = ()
) -> Markup:
    head = [
        tag("th", name, scope="col", class_="num" if at in numeric else None)
        for at, name in enumerate(columns)
    ]
    body = [
        tag("tr", [tag("td", cell, class_="num" if at in numeric else None) for at, cell in enumerate(row)])
        for row in rows[:MOST_ROWS]
    ]
    more = f" ({MOST_ROWS} of {len(rows)} shown)" if len(rows) > MOST_ROWS else ""
    inner = tag(
        "table", tag("caption", f"{caption}{more}"), tag("thead", tag("tr", head)), tag("tbody", body)
    )
    return tag("div", inner, class_="scroll", tabindex="0", role="region", aria_label=caption)


def _cut(text: str, most: int = 200) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _estimate(estimate: Estimate) -> Markup:
    """A rate with its interval and its denominators; the method is said to who points at it."""
    if estimate.value is None:
        return tag("span", "not known", title=estimate.why or None, class_="dim")
    basis = f"n={estimate.n}" + (
        f", {estimate.clusters} contract{'' if estimate.clusters == 1 else 's'}" if estimate.clusters else ""
    )
    said = "; ".join([estimate.method, *estimate.assumptions])
    return tag(
        "span", interval_words(estimate), tag("span", basis, class_="basis"), title=said, class_="nowrap"
    )


def _number(estimate: Estimate, form: str = "{:.2f}") -> Markup:
    """A mean with its interval, in its own unit; an end without a limit is said."""
    if estimate.value is None:
        return tag("span", "not known", title=estimate.why or None, class_="dim")
    ends = [
        "no limit" if math.isinf(end) else form.format(end)
        for end in (estimate.low, estimate.high)
        if end is not None
    ]
    interval = f"[{', '.join(ends)}]" if len(ends) > 1 else "[no interval]"
    basis = tag("span", f"{interval} n={estimate.n}", class_="basis")
    said = "; ".join(filter(None, [estimate.method, estimate.why]))
    return tag("span", form.format(estimate.value), basis, title=said, class_="nowrap")


def _counted(counted: Counted) -> Markup:
    rate = tag("span", interval_words(counted.rate), class_="basis")
    return tag("span", f"{counted.count} of {counted.of}", rate, class_="nowrap")


def _answer(summary: StudySummary) -> Markup:
    """What a decision needs: one sentence for each comparison, then what makes the numbers provisional."""
    runs = f"{_amount(summary.trials, 'trial')} ({_amount(summary.runs, 'run')})"
    size = f"{runs} on {_amount(summary.contracts, 'contract')} by {_amount(len(summary.agents), 'agent')}."
    comparisons = sorted(summary.comparisons, key=lambda one: one.conclusion == "undecided")
    sentences = [tag("li", comparison_words(one)) for one in comparisons[:MOST_SENTENCES]]
    best = next((one for one in summary.agents if not one.is_baseline), None)
    alone = (
        f"{best.agent}: success {interval_words(best.success)} over {_amount(best.success.n, 'decided trial')} on {_amount(best.contracts, 'contract')}."
        if best
        else ""
    )
    return tag(
        "section",
        tag("h2", "The answer"),
        tag("ul", sentences, class_="plain story")
        if sentences
        else tag("p", alone or "Only baselines were run.", class_="story"),
        tag("p", f"{len(comparisons) - MOST_SENTENCES} more comparisons are below.")
        if len(comparisons) > MOST_SENTENCES
        else None,
        tag("p", size, class_="dim"),
        [
            tag("p", prose(f"Provisional: {_cut(reason, 500)}."), class_="notice warning")
            for reason in summary.provisional
        ],
        class_="card",
        id="answer",
    )


def _amount(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def comparison_words(one: AgentComparison) -> Child:
    """The sentence of a comparison; one that begins with the name of an agent keeps that name as it is."""
    text = f"{one.sentence}."
    return text if text.startswith((one.first, one.second)) else prose(text)


def _leaderboard(agents: Sequence[AgentNumbers]) -> Markup:
    rows = [
        (
            join(
                tag("b", _cut(one.agent, 80)),
                tag("span", " baseline", class_="dim") if one.is_baseline else None,
            ),
            _estimate(one.success),
            join(_estimate(one.bounds.worst), " to ", _estimate(one.bounds.best)),
            _estimate(one.within_budget),
            _number(one.quality),
            _number(one.economics.cost_per_success, "${:.2f}"),
            _counted_named(one.categories, "acceptance_error"),
            _counted(one.invalid_attempts),
        )
        for one in agents
    ]
    columns = (
        "agent",
        "success",
        "if undecided all fail or pass",
        "success, errors count as none",
        "quality",
        "cost of a success",
        "acceptance errors",
        "invalid runs",
    )
    return _table(columns, rows, "Agents, best first; intervals are 95%")


def _counted_named(counted: Sequence[Counted], name: str) -> Child:
    found = next((one for one in counted if one.name == name), None)
    return _counted(found) if found else "0"


def _comparisons(summary: StudySummary, link: LinkRun) -> Markup:
    rows = [
        (
            f"{_cut(one.second, 60)} minus {_cut(one.first, 60)}",
            _points(one.difference),
            _CONCLUSIONS.get(one.conclusion, one.conclusion),
            _p(one.p),
            _p(one.p_holm),
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
        _table(columns, rows, "Paired differences in points of success", numeric=(3, 4, 7)),
        tag("p", summary.multiplicity, class_="dim") if summary.multiplicity else None,
        [comparison_details(one, link) for one in summary.comparisons[:50]],
    )


def comparison_details(one: AgentComparison, link: LinkRun) -> Markup | None:
    if not one.flips and not one.differences:
        return None
    flips = [
        (
            _cut(flip.contract, 80),
            flip.first,
            flip.second,
            [join(link(run), " ") for run in (*flip.first_runs[:2], *flip.second_runs[:2])],
        )
        for flip in one.flips[:MOST_FLIPS]
    ]
    unlike = [
        tag("li", f"{difference.what}: {_cut(difference.first)} against {_cut(difference.second)}")
        for difference in one.differences
    ]
    return tag(
        "details",
        tag(
            "summary",
            f"{_cut(one.second, 60)} against {_cut(one.first, 60)}: {len(one.flips)} contracts differ",
        ),
        join(tag("p", "Conditions that were not the same:"), tag("ul", unlike)) if unlike else None,
        _table(
            ("contract", _cut(one.first, 40), _cut(one.second, 40), "runs to look at"),
            flips,
            "Contracts with different results",
        )
        if flips
        else None,
    )


def _points(estimate: Estimate) -> Markup:
    if estimate.value is None or estimate.low is None or estimate.high is None:
        return tag("span", "not known", title=estimate.why or None, class_="dim")
    return tag("span", point_words(estimate), title=f"{estimate.method}, n={estimate.n}")


def _p(value: float | None) -> str:
    return "not known" if value is None else "<0.001" if value < 0.001 else f"{value:.3f}"


def _economics(agents: Sequence[AgentNumbers]) -> Markup:
    rows = [
        (
            _cut(one.agent, 80),
            _spread(one.economics.cost_usd, "${:.2f}"),
            _spread(one.economics.tokens, "{:,.0f}"),
            _spread(one.economics.wall_s_success, "{:.1f} s"),
            _spread(one.economics.wall_s_failure, "{:.1f} s"),
            _spread(one.economics.overhead_s, "{:.2f} s"),
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
    return _table(columns, rows, "Medians with quartiles; values that are not known are left out and counted")


def _variation(summary: StudySummary) -> Markup | None:
    """Why repeats differ: the agent varies, or a check gives the same work different results."""
    lines = variation_lines(summary.repeat_variation)
    if not lines:
        return None
    rows = [[_cut(cell) for cell in row] for row in variation_rows(summary.repeat_variation.contracts)]
    return _card(
        "Repeats that differ: the agent or the checks",
        tag("ul", [tag("li", f"{line}.") for line in lines], class_="plain story"),
        tag(
            "details",
            tag("summary", f"{_amount(len(rows), 'contract')} with different results"),
            _table(VARIATION_COLUMNS, rows, "Contracts on which repeats differ, flaky checks first"),
        )
        if rows
        else None,
        id_="variation",
    )


def _spread(spread: Spread, form: str) -> Markup:
    if spread.median is None or spread.low_quartile is None or spread.high_quartile is None:
        return tag("span", "not known", class_="dim")
    ends = f" [{form.format(spread.low_quartile)}, {form.format(spread.high_quartile)}]"
    unknown = tag("span", f" {spread.unknown} not known", class_="dim") if spread.unknown else None
    return tag("span", form.format(spread.median), ends, f" n={spread.known}", unknown)


def _modes(agents: Sequence[AgentNumbers]) -> Markup | None:
    rows = [(_cut(one.agent, 80), _cut(mode.name), _counted(mode)) for one in agents for mode in one.tags]
    if not rows:
        return None
    return tag(
        "details",
        tag("summary", "Failure modes with their intervals"),
        _table(("agent", "failure mode", "trials"), rows, "Failure modes of all trials, by agent"),
    )


def _errors(agents: Sequence[AgentNumbers]) -> Markup | None:
    """What verifiers, judges and people named, and outputs that were not fit for scoring."""
    rows = [
        (_cut(one.agent, 80), _cut(each.name), _counted(each))
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
        _table(("agent", "error", "trials"), rows, caption),
    )


def _terminations(agents: Sequence[AgentNumbers]) -> Markup:
    rows = [
        (_cut(one.agent, 80), ended.name.replace("_", " "), _counted(ended))
        for one in agents
        for ended in one.terminations
        if ended.count
    ]
    return tag(
        "details",
        tag("summary", "How trials ended"),
        _table(("agent", "ended", "trials"), rows, "Terminations by agent"),
    )


def _strata(agents: Sequence[AgentNumbers]) -> Markup | None:
    rows = [
        (
            stratum.name,
            _cut(one.agent, 80),
            str(stratum.contracts),
            _estimate(stratum.success),
            _spread(stratum.cost_usd, "${:.2f}"),
        )
        for one in agents
        for stratum in one.strata
    ]
    if len({row[0] for row in rows}) < 2:  # one stratum says what the table of agents says
        return None
    rows.sort(key=lambda row: (str(row[0]), str(row[1])))
    return _card(
        "Strata",
        _table(
            ("stratum", "agent", "contracts", "success", "cost of a trial"),
            rows,
            "Success and cost by stratum",
            numeric=(2,),
        ),
        id_="strata",
    )


def _disclosures(summary: StudySummary, link: LinkRun) -> Markup:
    found = summary.disclosures
    return join(
        _card(
            "Disclosure 1: false positives and false negatives by failure mode",
            _label_errors(found),
            id_="labels",
        ),
        _card("Disclosure 2: indeterminate outcomes", _indeterminate(found), id_="indeterminate"),
        _card(
            "Disclosure 3: what it cost, by phase",
            _phases(found.cost_by_phase),
            _discoveries(found, link),
            id_="costs",
        ),
        _card(
            "Disclosure 4: what it takes to repeat this",
            _artefacts(found.reproducibility),
            id_="reproducibility",
        ),
    )


def _label_errors(found: Disclosures) -> Child:
    if not found.label_errors:
        return tag("p", prose(f"{found.label_errors_why}."))
    rows = [
        (one.mode, _estimate(one.false_positive), _estimate(one.false_negative)) for one in found.label_errors
    ]
    return _table(
        ("failure mode", "false positive: correct work rejected", "false negative: a defect accepted"),
        rows,
        "Automatic results against the decisions of people",
    )


def _indeterminate(found: Disclosures) -> Child:
    rows = [
        (one.name.replace("_", " "), _counted(one))
        for one in (found.indeterminate, *found.indeterminate_by_reason)
    ]
    return join(
        _table(
            ("outcome", "trials"),
            rows,
            "Trials of which the harness could not tell whether the work is correct",
        ),
        tag("p", prose(f"{found.indeterminate_model}."), class_="dim"),
    )


def _phases(phases: Mapping[str, Mapping[str, float | None]]) -> Markup:
    rows = []
    for phase, totals in phases.items():
        for unit, value in totals.items():
            if not unit.endswith("_unknown_trials"):
                rows.append(
                    (
                        phase,
                        unit,
                        "not known" if value is None else f"{value:,.2f}",
                        f"{totals.get(f'{unit}_unknown_trials') or 0:,.0f}",
                    )
                )
    return _table(
        ("phase", "unit", "total of what is known", "trials of which it is not known"),
        rows,
        "Totals by phase",
        numeric=(2, 3),
    )


def _discoveries(found: Disclosures, link: LinkRun) -> Markup | None:
    if not found.discoveries:
        return None
    rows = [
        (
            one.mode,
            f"{one.trials:,}",
            "not known" if one.cost_usd is None else f"${one.cost_usd:,.2f}",
            link(one.run) if one.run else "no run",
        )
        for one in found.discoveries
    ]
    return _table(
        ("failure mode", "first seen after trials", "spent by then", "run"),
        rows,
        "What it cost to find one more failure mode",
        numeric=(1, 2),
    )


def _artefacts(artefacts: Mapping[str, tuple[str, ...]]) -> Markup:
    items = [
        join(
            tag("dt", name),
            tag(
                "dd",
                tag(
                    "ul", [tag("li", tag("code", _cut(value, 300))) for value in values[:100]], class_="plain"
                )
                if values
                else "none recorded",
            ),
        )
        for name, values in artefacts.items()
    ]
    return tag("dl", items, class_="facts")


def _precision(summary: StudySummary) -> Child:
    rows = [
        (
            _cut(one.agent, 80),
            f"{one.contracts:,}",
            "not known" if one.half_width is None else f"±{100 * one.half_width:.1f} points",
            "not known" if one.cost_usd is None else f"${one.cost_usd:,.2f}",
        )
        for one in summary.disclosures.precision
    ]
    if not rows:
        return tag("p", "Too few contracts to say.")
    return _table(
        ("agent", "contracts", "half of the interval", "cost"),
        rows,
        "Interval and cost with other numbers of contracts, if nothing else changes",
        numeric=(1, 2, 3),
    )


def _protocol(summary: StudySummary, link: LinkRun) -> Markup:
    rows = [
        (
            one.what,
            _cut(one.planned),
            _cut(one.observed),
            f"{one.runs:,}",
            link(one.example) if one.example else "",
        )
        for one in summary.deviations
    ]
    versions = [tag("li", f"{name}: {', '.join(digests)}") for name, digests in summary.versions.items()]
    return _card(
        "Protocol",
        _table(
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
    return _card(
        "Records",
        words,
        tag("details", tag("summary", "Names of the runs"), listed, class_="long"),
        id_="records",
    )

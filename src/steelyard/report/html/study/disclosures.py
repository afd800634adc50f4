"""The four disclosures of a study, and what more contracts would tell."""

from __future__ import annotations

from collections.abc import Mapping

from steelyard.report.html.element import Child, Markup, join, prose, tag
from steelyard.report.html.study.cells import LinkRun, card, counted_cell, cut, estimate_cell, table
from steelyard.report.study_summary.model import Disclosures, StudySummary
from steelyard.report.study_summary.render.tables import envelope_line
from steelyard.report.study_summary.render.words import dollars


def disclosure_cards(summary: StudySummary, link: LinkRun) -> Markup:
    found = summary.disclosures
    return join(
        card(
            "Disclosure 1: false positives and false negatives by failure mode",
            _label_errors(found),
            id_="labels",
        ),
        card("Disclosure 2: indeterminate outcomes", _indeterminate(found), id_="indeterminate"),
        card(
            "Disclosure 3: what it cost, by phase",
            None if summary.envelope is None else tag("p", envelope_line(summary.envelope)),
            _phases(found.cost_by_phase),
            _discoveries(found, link),
            id_="costs",
        ),
        card(
            "Disclosure 4: what it takes to repeat this",
            _artefacts(found.reproducibility),
            id_="reproducibility",
        ),
    )


def _label_errors(found: Disclosures) -> Child:
    if not found.label_errors:
        return tag("p", prose(f"{found.label_errors_why}."))
    rows = [
        (one.mode, estimate_cell(one.false_positive), estimate_cell(one.false_negative))
        for one in found.label_errors
    ]
    return table(
        ("failure mode", "false positive: correct work rejected", "false negative: a defect accepted"),
        rows,
        "Automatic results against the decisions of people",
    )


def _indeterminate(found: Disclosures) -> Child:
    rows = [
        (one.name.replace("_", " "), counted_cell(one))
        for one in (found.indeterminate, *found.indeterminate_by_reason)
    ]
    return join(
        table(
            ("outcome", "trials"),
            rows,
            "Trials of which the harness could not tell whether the work is correct",
        ),
        _bounds(found),
        tag("p", prose(f"{found.indeterminate_model}."), class_="dim"),
    )


def _bounds(found: Disclosures) -> Child:
    rows = [
        (
            cut(one.agent, 80),
            f"{one.bounds.undecided} of {one.bounds.trials}",
            estimate_cell(one.bounds.worst),
            estimate_cell(one.bounds.best),
        )
        for one in found.indeterminate_bounds
    ]
    columns = ("agent", "indeterminate", "success if all had failed", "if all had succeeded")
    return table(columns, rows, "What indeterminate trials could change") if rows else ""


def _phases(phases: Mapping[str, Mapping[str, float | None]]) -> Markup:
    rows = []
    for phase, totals in phases.items():
        for unit, value in totals.items():
            if not unit.endswith("_unknown_runs"):
                rows.append(
                    (
                        phase,
                        unit,
                        _total(unit, value),
                        f"{totals.get(f'{unit}_unknown_runs') or 0:,.0f}",
                    )
                )
    return table(
        ("phase", "unit", "total of what is known", "runs of which it is not known"),
        rows,
        "Totals by phase",
        numeric=(2, 3),
    )


def _total(unit: str, value: float | None) -> str:
    if value is None:
        return "not known"
    if unit == "usd":
        return dollars(value)
    return f"{value:,.0f}" if unit == "tokens" else f"{value:,.2f}"


def _discoveries(found: Disclosures, link: LinkRun) -> Markup | None:
    if not found.discoveries:
        return None
    rows = [
        (
            one.mode,
            f"{one.trials:,}",
            "not known" if one.cost_usd is None else dollars(one.cost_usd),
            link(one.run) if one.run else "no run",
        )
        for one in found.discoveries
    ]
    return table(
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
                tag("ul", [tag("li", tag("code", cut(value, 300))) for value in values[:100]], class_="plain")
                if values
                else "none recorded",
            ),
        )
        for name, values in artefacts.items()
    ]
    return tag("dl", items, class_="facts")


def precision_table(summary: StudySummary) -> Child:
    rows = [
        (
            cut(one.agent, 80),
            f"{one.contracts:,}",
            "not known" if one.half_width is None else f"±{100 * one.half_width:.1f} points",
            "not known" if one.cost_usd is None else dollars(one.cost_usd),
        )
        for one in summary.disclosures.precision
    ]
    if not rows:
        return tag("p", "Too few contracts to say.")
    return table(
        ("agent", "contracts", "half of the interval", "cost"),
        rows,
        "Interval and cost with other numbers of contracts, if nothing else changes",
        numeric=(1, 2, 3),
    )

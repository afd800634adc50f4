"""The cells, tables and cards of a study's page: each number with its interval and what it is of."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from steelyard.report.html.element import Child, Markup, join, tag
from steelyard.report.html.plots import interval_words, point_words
from steelyard.report.percent import amount
from steelyard.report.study_summary.model import CountedRate, Spread
from steelyard.stats.estimate import Estimate

MOST_ROWS = 500
LinkRun = Callable[[str], Markup]
Form = Callable[[float], str]  # of a number, in its unit


def card(title: str, *content: Child, id_: str = "") -> Markup:
    return tag("section", tag("h2", title), content, class_="card", id=id_ or None)


def table(
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


def cut(text: str, most: int = 200) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def estimate_cell(estimate: Estimate) -> Markup:
    """A rate with its interval and its denominators; the method shows under the pointer."""
    if estimate.value is None:
        return tag("span", "not known", title=estimate.why or None, class_="dim")
    return tag("span", _interval(estimate), _basis(estimate), class_="nowrap")


def estimates_cell(named: Mapping[str, Estimate]) -> Child:
    """Rates of the same trials, a line each, and their denominators once."""
    lines = [tag("div", f"{name} ", _interval(one), class_="nowrap") for name, one in named.items()]
    return join(*lines, next((_basis(one) for one in named.values() if one.value is not None), None))


def _interval(estimate: Estimate) -> Markup:
    if estimate.value is None:
        return tag("span", "not known", title=estimate.why or None, class_="dim")
    return tag("span", interval_words(estimate), title="; ".join([estimate.method, *estimate.assumptions]))


def _basis(estimate: Estimate) -> Markup:
    contracts = amount(estimate.clusters, "contract") if estimate.clusters else ""
    return tag("span", ", ".join(filter(None, (f"n={estimate.n}", contracts))), class_="basis")


def number_cell(estimate: Estimate, form: Form = "{:.2f}".format) -> Markup:
    """A mean with its interval, in its own unit; an end without a limit is named."""
    if estimate.value is None:
        return tag("span", "not known", title=estimate.why or None, class_="dim")
    ends = [
        "no limit" if math.isinf(end) else form(end)
        for end in (estimate.low, estimate.high)
        if end is not None
    ]
    interval = f"[{', '.join(ends)}]" if len(ends) > 1 else "[no interval]"
    basis = tag("span", f"{interval} n={estimate.n}", class_="basis")
    said = "; ".join(filter(None, [estimate.method, estimate.why]))
    return tag("span", form(estimate.value), basis, title=said, class_="nowrap")


def points_cell(estimate: Estimate) -> Markup:
    if estimate.value is None or estimate.low is None or estimate.high is None:
        return tag("span", "not known", title=estimate.why or None, class_="dim")
    return tag("span", point_words(estimate), title=f"{estimate.method}, n={estimate.n}", class_="nowrap")


def p_value(value: float | None) -> str:
    return "not known" if value is None else "<0.001" if value < 0.001 else f"{value:.3f}"


def counted_cell(counted: CountedRate) -> Markup:
    rate = tag("span", interval_words(counted.rate), class_="basis")
    return tag("span", f"{counted.count} of {counted.of}", rate, class_="nowrap")


def spread_cell(spread: Spread, form: Form) -> Markup:
    if spread.median is None or spread.low_quartile is None or spread.high_quartile is None:
        return tag("span", "not known", class_="dim")
    ends = f" [{form(spread.low_quartile)}, {form(spread.high_quartile)}]"
    unknown = tag("span", f" {spread.unknown} not known", class_="dim") if spread.unknown else None
    return tag("span", form(spread.median), ends, f" n={spread.known}", unknown)

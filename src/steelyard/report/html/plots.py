"""A study summary -> its plots. Nothing is computed here but places on a page.

Each plot is a figure with a caption; the numbers that it draws stand in tables of the same report.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from steelyard.report.html.element import Markup, tag
from steelyard.report.html.svg import (
    Scale,
    figure,
    frame,
    legend,
    line,
    marker,
    plot,
    series,
    short,
    text,
    ticks,
)
from steelyard.report.percent import end_points, percent, signed_points
from steelyard.report.study_summary.model import AgentComparison, AgentNumbers, Pareto
from steelyard.stats.estimate import Estimate

WIDTH = 760
ROW = 34
MOST_AGENTS, MOST_MODES, MOST_PAIRS = 40, 24, 40
SHARES = [(one / 100, f"{one}%") for one in (0, 20, 40, 60, 80, 100)]


Ranks = Mapping[str, int]  # agent -> its colour, shape and dash, the same in every plot


def ranks(agents: Sequence[AgentNumbers]) -> Ranks:
    return {one.agent: at for at, one in enumerate(agents)}


def interval_words(estimate: Estimate) -> str:
    """`62% [48, 74]`, or why it is not known."""
    if estimate.value is None:
        return "not known"
    if estimate.low is None or estimate.high is None:
        return f"{percent(estimate.value)} [no interval]"
    low, high = (percent(end).removesuffix("%") for end in (estimate.low, estimate.high))
    return f"{percent(estimate.value)} [{low}, {high}]"


def point_words(difference: Estimate) -> str:
    """`+9 [2, 16]`."""
    if difference.value is None or difference.low is None or difference.high is None:
        return "not known"
    return f"{signed_points(difference.value)} [{end_points(difference.low)}, {end_points(difference.high)}]"


def success_plot(agents: Sequence[AgentNumbers]) -> Markup:
    """A row for each agent: point and 95% interval, and as a thin line what undecided trials could make of it."""
    shown = agents[:MOST_AGENTS]
    height = 30 + ROW * len(shown)
    x = Scale(0, 1, 180, WIDTH - 190)
    y = Scale(0, 1, 10, height - 20)
    rows = []
    for at, agent in enumerate(shown):
        place = 10 + ROW * (at + 0.5)
        rows.append(text(172, place + 4, short(agent.agent), anchor="end"))
        rows.append(text(WIDTH - 180, place + 4, f"{interval_words(agent.success)}, n={agent.success.n}"))
        rows += _whisker(agent.success, x, place, at)
        worst, best = agent.bounds.worst.value, agent.bounds.best.value
        if worst is not None and best is not None and worst < best:
            rows.append(line(x(worst), place + 9, x(best), place + 9, "axis thin"))
    drawn = plot(
        WIDTH,
        height + 16,
        frame(x, y, SHARES, ()),
        rows,
        label="Success rate of each agent with its 95% interval",
    )
    return figure(
        "Success",
        drawn,
        "Success over decided trials, with 95% intervals that treat contracts as clusters. A thin line below shows the bounds if every undecided trial had failed or had passed.",
    )


def _whisker(estimate: Estimate, x: Scale, place: float, number: int) -> list[Markup]:
    if estimate.value is None:
        return [text(x.start, place + 4, estimate.why or "not known", class_="quiet")]
    found = []
    if estimate.low is not None and estimate.high is not None:
        low, high = max(x.low, estimate.low), min(x.high, estimate.high)
        found.append(line(x(low), place, x(high), place, f"{series(number)} stroke wide"))
        found += [
            line(x(end), place - 5, x(end), place + 5, f"{series(number)} stroke") for end in (low, high)
        ]
    return [*found, marker(x(estimate.value), place, number)]


def difference_plot(comparisons: Sequence[AgentComparison]) -> Markup | None:
    """A row for each pair: how much more the second agent solves, in points, with its interval."""
    shown = [one for one in comparisons if one.difference.value is not None][:MOST_PAIRS]
    if not shown:
        return None
    ends = [
        abs(end)
        for one in shown
        for end in (one.difference.low, one.difference.high, one.difference.value)
        if end is not None
    ]
    reach = min(1.0, max([0.1, *ends]) * 1.05)
    height = 30 + ROW * len(shown)
    x, y = Scale(-reach, reach, 250, WIDTH - 130), Scale(0, 1, 10, height - 20)
    marks = [(value, f"{100 * value:+.0f}" if value else "0") for value in ticks(-reach, reach, 6)]
    rows = [line(x(0), 10, x(0), height - 20, "zero")]
    for at, one in enumerate(shown):
        place = 10 + ROW * (at + 0.5)
        rows.append(
            text(242, place + 4, f"{short(one.second, 17)} minus {short(one.first, 17)}", anchor="end")
        )
        rows += _whisker(one.difference, x, place, at)
        words = point_words(one.difference) + (" fragile" if one.is_fragile else "")
        rows.append(text(WIDTH - 120, place + 4, words))
    drawn = plot(
        WIDTH,
        height + 34,
        frame(x, y, marks, (), ("points of success", "")),
        rows,
        label="Paired differences in success between agents",
    )
    caption = (
        "Difference in success on shared contracts. An interval that does not touch 0 shows a difference."
    )
    if len(shown) > 1:
        caption += (
            " Of many pairs some do so by chance: the adjusted p-values below account for their number."
        )
    return figure("Paired differences", drawn, caption)


def pareto_plot(pareto: Pareto, of: Ranks) -> Markup | None:
    if not pareto.points:
        return None
    highest = max(one.cost_usd for one in pareto.points)
    if highest <= 0:
        return None
    drawn_legend, needed = legend(
        [(short(one.agent), of.get(one.agent, 0), False) for one in pareto.points], 20
    )
    top = 20 + needed + 20
    height = top + 260
    x, y = Scale(0, highest * 1.1, 60, WIDTH - 20), Scale(0, 1, height - 50, top)
    x_marks = [(value, f"${value:g}") for value in ticks(0, highest * 1.1)]
    points = []
    for one in pareto.points:
        if one.on_front:
            points.append(tag("circle", cx=x(one.cost_usd), cy=y(one.success), r="10", class_="ring"))
        points.append(marker(x(one.cost_usd), y(one.success), of.get(one.agent, 0)))
    drawn = plot(
        WIDTH,
        height,
        drawn_legend,
        frame(x, y, x_marks, SHARES, ("cost of a trial", "success")),
        points,
        label="Cost and success of each agent",
    )
    return figure(
        "Cost and success",
        drawn,
        f"Cost and success on {'1 contract' if pareto.contracts == 1 else f'{pareto.contracts:,} contracts'} that all were tried on. A ring marks agents that no other beats in both.",
    )


def mode_map(agents: Sequence[AgentNumbers]) -> Markup | None:
    """Failure modes by agent: how many trials of how many; the shade follows the rate, the number says it."""
    totals: dict[str, int] = {}
    for agent in agents:
        for tag_ in agent.tags:
            totals[tag_.name] = totals.get(tag_.name, 0) + tag_.count
    modes = [name for name, _ in sorted(totals.items(), key=lambda item: -item[1])][:MOST_MODES]
    if not modes:
        return None
    shown = agents[:MOST_AGENTS]
    cell, left = max(46, min(110, (WIDTH - 230) // max(1, len(shown)))), 220
    is_staggered = len(shown) > 6
    top = 46 if is_staggered else 30
    width, height = left + cell * len(shown) + 10, top + 44 + 26 * len(modes)
    drawn = [
        text(
            left + cell * (at + 0.5),
            36 if at % 2 and is_staggered else 20,
            short(agent.agent, cell // 4),
            anchor="middle",
            class_="quiet",
        )
        for at, agent in enumerate(shown)
    ]
    for row, mode in enumerate(modes):
        place = top + 26 * row
        drawn.append(text(left - 8, place + 17, short(mode, 30), anchor="end"))
        for at, agent in enumerate(shown):
            drawn += _mode_cell(agent, mode, left + cell * at, place, cell)
    return figure(
        "Failure modes by agent",
        plot(
            max(width, SHADES_END),
            height,
            drawn,
            _shades(height - 26),
            label="Failure modes by agent",
        ),
        "The number in a cell is how many trials of the agent have the failure mode; its shade is their share of all trials of the agent.",
    )


SHADES_END = 640


def _shades(y: float) -> list[Markup]:
    """What each shade of the map stands for."""
    found = [text(8, y + 13, "share of trials", class_="quiet")]
    for at, (shade, words) in enumerate(
        (
            ("none", "0"),
            ("0", "under 20%"),
            ("1", "20 to 40%"),
            ("2", "40 to 60%"),
            ("3", "60 to 80%"),
            ("4", "80% and more"),
        )
    ):
        x = 108 + 48 * min(at, 1) + 88 * max(0, at - 1)
        found.append(tag("rect", x=x, y=y, width=16, height=16, class_=f"heat h{shade}"))
        found.append(text(x + 20, y + 13, words, class_="quiet"))
    return found


def _mode_cell(agent: AgentNumbers, mode: str, x: float, y: float, size: float) -> list[Markup]:
    found = next((one for one in agent.tags if one.name == mode), None)
    share = 0.0 if found is None or found.rate.value is None else found.rate.value
    shade = min(4, int(share * 5)) if found and found.count else 0
    box = tag(
        "rect",
        x=x + 1,
        y=y + 1,
        width=size - 2,
        height=24,
        class_=f"heat h{shade if found and found.count else 'none'}",
    )
    words = f"{found.count}" if found and found.count else "0"
    return [
        box,
        text(
            x + size / 2,
            y + 17,
            words,
            anchor="middle",
            class_=f"heat-text t{shade if found and found.count else 'none'}",
        ),
    ]

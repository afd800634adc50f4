"""A study summary -> its plots of lines: time to success, repeats, power, spending, precision."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from steelyard.report.html.element import Markup
from steelyard.report.html.plots import MOST_AGENTS, SHARES, WIDTH, Ranks
from steelyard.report.html.svg import Scale, figure, frame, legend, marker, path, plot, short, ticks
from steelyard.report.study_summary.model import AgentNumbers, Burn, PassK, PowerCurve, Precision

SERIES_SHOWN = 8


class Line(NamedTuple):
    """`number` is its colour and shape."""

    name: str
    number: int
    points: Sequence[tuple[float, float]]
    is_dashed: bool = False


class Axis(NamedTuple):
    name: str
    most: float
    marks: Sequence[tuple[float, str]]
    least: float = 0.0


def survival_plot(agents: Sequence[AgentNumbers], of: Ranks) -> Markup | None:
    shown = [one for one in agents if one.time_to_success.curve][:MOST_AGENTS]
    longest = max((point[0] for one in shown for point in one.time_to_success.curve), default=0.0)
    if longest <= 0:
        return None
    lines = [
        Line(
            one.agent,
            of.get(one.agent, 0),
            [(0.0, 0.0), *((point[0], point[1]) for point in one.time_to_success.curve)],
        )
        for one in shown
    ]
    return figure(
        "Time to success",
        draw_lines(
            lines,
            Axis("time since the start of the trial", longest, _seconds_ticks(longest)),
            Axis("would have succeeded by then", 1.0, SHARES),
            label="Time to success",
            stepped=True,
        ),
        "Share of trials that would have succeeded by a time if those that ended without success had gone on like the others "
        "(Kaplan-Meier, these are censored). It shows how long a success takes, and may reach 100% for an agent that solves half: how "
        "many trials succeed is the success rate.",
    )


def _seconds_ticks(longest: float) -> list[tuple[float, str]]:
    unit, name = next(
        (size, name)
        for least, size, name in ((7200, 3600, "h"), (180, 60, "min"), (0.5, 1, "s"), (0, 0.001, "ms"))
        if longest > least or not least
    )
    return [(value * unit, f"{value:g} {name}") for value in ticks(0, longest / unit)]


def pass_k_plot(agents: Sequence[AgentNumbers], of: Ranks) -> Markup | None:
    shown = [one for one in agents if len(_of_all_contracts(one)) > 1 and not one.is_baseline][:MOST_AGENTS]
    if not shown:
        return None
    most = max(point.k for one in shown for point in _of_all_contracts(one))
    lines = []
    for one in shown:
        any_ = [
            (float(point.k), point.at_least_one.value)
            for point in _of_all_contracts(one)
            if point.at_least_one.value is not None
        ]
        all_ = [
            (float(point.k), point.all_of_them.value)
            for point in _of_all_contracts(one)
            if point.all_of_them.value is not None
        ]
        lines.append(Line(f"{short(one.agent, 16)} pass@k", of.get(one.agent, 0), any_))
        lines.append(Line(f"{short(one.agent, 16)} pass^k", of.get(one.agent, 0), all_, is_dashed=True))
    marks = (
        [(float(k), str(k)) for k in range(1, most + 1)]
        if most <= 12
        else [(value, f"{value:g}") for value in ticks(1, most)]
    )
    return figure(
        "Repeats",
        draw_lines(
            lines,
            Axis("k", float(most), marks, least=1.0),
            Axis("", 1.0, SHARES),
            label="pass@k and pass^k",
        ),
        "pass@k: at least one of k repeats succeeds. pass^k: all of k repeats succeed. Drawn as far as all contracts of an agent "
        "have k decided trials; the table has every k, and the intervals.",
    )


def _of_all_contracts(one: AgentNumbers) -> list[PassK]:
    """The k of which all contracts speak: a line through others would show a change of contracts as one of k."""
    return [each for each in one.pass_k if each.at_least_one.clusters == one.success.clusters]


def power_plot(curves: Sequence[PowerCurve]) -> Markup | None:
    shown = [one for one in curves if len(one.points) > 1][:SERIES_SHOWN]
    if not shown:
        return None
    most = max(float(point[0]) for one in shown for point in one.points)
    lines = [
        Line(
            f"{short(one.second, 18)} against {short(one.first, 18)}",
            at,
            [(float(count), share) for count, share in one.points],
        )
        for at, one in enumerate(shown)
    ]
    marks = [(value, f"{value:g}") for value in ticks(0, most)]
    assumed = dict.fromkeys("; ".join(one.assumptions) for one in shown)
    each = "" if len(assumed) == 1 else " (in the order of the legend)"
    return figure(
        "Power",
        draw_lines(
            lines,
            Axis("contracts", most, marks),
            Axis("power", 1.0, SHARES),
            label="Power by number of contracts",
        ),
        f"Chance that a study with so many contracts shows the difference (paired test, 5%). Assumed{each}: {' | '.join(assumed)}.",
    )


def burn_plot(burns: Sequence[Burn], of: Ranks) -> Markup | None:
    shown = [one for one in burns if one.points and one.points[-1][1] > 0][:SERIES_SHOWN]
    if not shown:
        return None
    runs = max(float(one.points[-1][0]) for one in shown)
    spent = max(one.points[-1][1] for one in shown)
    lines = [
        Line(one.agent, of.get(one.agent, 0), [(float(count), usd) for count, usd in one.points])
        for one in shown
    ]
    unknown = sum(one.unknown for one in burns)
    runs_unknown = "1 run" if unknown == 1 else f"{unknown:,} runs"
    more = f" Not in it: {runs_unknown} without a known cost." if unknown else ""
    return figure(
        "Spending",
        draw_lines(
            lines,
            Axis("runs", runs, [(value, f"{value:g}") for value in ticks(0, runs)]),
            Axis("spent", spent, [(value, f"${value:g}") for value in ticks(0, spent)]),
            label="Money spent over the runs",
        ),
        f"What each agent had cost after so many runs.{more}",
    )


def precision_plot(rows: Sequence[Precision], of: Ranks) -> Markup | None:
    """Where money is not known, or none was spent, nothing is drawn: the table has the contracts."""
    points: dict[str, list[tuple[float, float]]] = {}
    for one in rows:
        if one.cost_usd and one.half_width is not None:
            points.setdefault(one.agent, []).append((one.cost_usd, 100 * one.half_width))
    if not points:
        return None
    lines = [Line(agent, of.get(agent, 0), each) for agent, each in list(points.items())[:SERIES_SHOWN]]
    usd, half = (max(point[at] for one in lines for point in one.points) for at in (0, 1))
    return figure(
        "Cost of precision",
        draw_lines(
            lines,
            Axis("cost", usd, [(value, f"${value:g}") for value in ticks(0, usd)]),
            Axis("points", half, [(value, f"±{value:g}") for value in ticks(0, half)]),
            label="Half of the interval by cost",
        ),
        "Half of the success interval with half, the same, twice and four times the contracts, and what their trials cost, if nothing "
        "else changes.",
    )


def height_of(lines: Sequence[Line]) -> float:
    """Of the plot that `draw_lines` draws."""
    return _legend(lines)[1] + 312


def _legend(lines: Sequence[Line]) -> tuple[Markup, float]:
    return legend([(short(one.name, 34), one.number, one.is_dashed) for one in lines], 20, width=WIDTH)


def draw_lines(lines: Sequence[Line], across: Axis, up: Axis, *, label: str, stepped: bool = False) -> Markup:
    drawn_legend, needed = _legend(lines)
    top, height = 42 + needed, height_of(lines)
    x = Scale(across.least, across.most, 64, WIDTH - 20)
    y = Scale(up.least, up.most, height - 50, top)
    drawn = []
    for one in lines:
        places = [(x(value), y(height_)) for value, height_ in one.points]
        drawn.append(path(places, one.number, stepped=stepped, is_dashed=one.is_dashed))
        drawn += [marker(*places[-1], one.number, 4)] if places else []
    axes = frame(x, y, across.marks, up.marks, (across.name, up.name))
    return plot(WIDTH, height, drawn_legend, axes, drawn, label=label)

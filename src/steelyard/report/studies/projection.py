"""The projected cost of a plan -> curves as SVG: for planning and budgeting, not a result.

Above what is expected, with its interval; below what is reserved at most, and B_total. The two differ by orders of magnitude.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from steelyard.plan.projection import Point
from steelyard.report.html.element import Markup
from steelyard.report.html.line_plots import Axis, Line, draw_lines, height_of
from steelyard.report.html.plots import WIDTH
from steelyard.report.html.svg import stack_plots, standalone, ticks
from steelyard.report.plain import one_line


def projection_svg(points: Sequence[Point], name: str, total_usd: float | None) -> str:
    trials = float(points[-1].trials)
    panels = []
    if any(one.expected is not None for one in points):
        expected = [
            _line("expected", 0, points, lambda one: one.expected),
            _line("95 of 100 draws: high", 2, points, lambda one: one.high, is_dashed=True),
            _line("low", 3, points, lambda one: one.low, is_dashed=True),
        ]
        panels.append(_panel(expected, trials, "expected from earlier runs"))
    most = [_line("all runs at their bounds", 1, points, lambda one: one.most)]
    if total_usd is not None:
        most.append(Line("B_total", 7, [(0.0, total_usd), (trials, total_usd)], is_dashed=True))
    panels.append(_panel(most, trials, "bounds"))
    title = f"Projected cost of {one_line(name, 40)}: a plan, no result"
    return standalone(stack_plots(title, WIDTH, *panels))


def _line(
    name: str,
    number: int,
    points: Sequence[Point],
    height: Callable[[Point], float | None],
    *,
    is_dashed: bool = False,
) -> Line:
    known = [(float(one.trials), usd) for one in points if (usd := height(one)) is not None]
    return Line(name, number, [(0.0, 0.0), *known], is_dashed)


def _panel(lines: Sequence[Line], trials: float, label: str) -> tuple[Markup, float]:
    most = max(height for one in lines for _, height in one.points) or 1.0
    across = Axis("trials, in the order of the plan", trials, [(at, f"{at:g}") for at in ticks(0, trials)])
    up = Axis("USD", most, [(at, f"${at:g}") for at in ticks(0, most)])
    return draw_lines(lines, across, up, label=label), height_of(lines)

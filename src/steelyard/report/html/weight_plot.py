"""Weighted scores -> a plot: the length of a bar is the weight, the filled part is what the score earns of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from steelyard.report.html.element import Markup, tag
from steelyard.report.html.svg import Scale, figure, frame, plot, short, text, ticks

WIDTH, ROW, HEIGHT = 760, 28, 16
MOST_BARS = 40


class WeightedScore(NamedTuple):
    name: str
    weight: float
    score: float | None  # None: not decided, or not applicable


def weight_plot(parts: Sequence[WeightedScore]) -> Markup | None:
    """Nothing where nothing has a weight."""
    shown = [one for one in parts if one.weight > 0][:MOST_BARS]
    if not shown:
        return None
    bottom = 10 + ROW * len(shown)
    most = max(one.weight for one in shown)
    x, y = Scale(0, most, 190, WIDTH - 190), Scale(0, 1, 10, bottom)
    drawn = []
    for at, one in enumerate(shown):
        top = 10 + ROW * at + (ROW - HEIGHT) / 2
        earned = min(1.0, max(0.0, one.score or 0.0)) * one.weight
        said = "not decided" if one.score is None else f"score {one.score:.2f}"
        drawn += [
            text(182, top + 13, short(one.name), anchor="end"),
            tag("rect", x=x.start, y=top, width=round(x(one.weight) - x.start, 1), height=HEIGHT, class_="weight"),
            tag("rect", x=x.start, y=top, width=round(x(earned) - x.start, 1), height=HEIGHT, class_="s1 fill"),
            text(WIDTH - 180, top + 13, f"weight {one.weight:g}, {said}"),
        ]  # fmt: skip
    return figure(
        "Weights",
        plot(
            WIDTH,
            bottom + 44,
            frame(x, y, [(value, f"{value:g}") for value in ticks(0, most)], (), ("weight", "")),
            drawn,
            label="Weight of each scorer and what its score earns of it",
        ),
        "The length of a bar is the weight in the score; the filled part is what the score earns. Required scorers decide the verdict whatever they weigh.",
    )

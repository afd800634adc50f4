"""Numbers -> SVG: a frame with two axes, and marks in it. Colours come from the style sheet, by class.

Every series has a colour and a shape, so that a plot reads without colours too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from steelyard.report.html.element import Child, Markup, join, tag

SERIES = 8
LABEL = 24  # characters of a name beside a plot
_SHAPES = ("circle", "square", "diamond", "triangle")
_COLOURS = (
    "#0072b2",
    "#d55e00",
    "#009e73",
    "#cc79a7",
    "#8a6d00",
    "#56b4e9",
    "#7a4fb5",
    "#57606a",
)  # of `standalone`


@dataclass(frozen=True, slots=True)
class Scale:
    """Values from `low` to `high` -> places from `start` to `end`."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        if self.high == self.low:
            return self.start
        at = self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)
        return round(min(max(at, min(self.start, self.end)), max(self.start, self.end)), 1)


def ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Round numbers between two values."""
    if high <= low:
        return [low]
    rough = (high - low) / most
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= rough)
    first = math.ceil(low / step) * step
    return [round(first + step * at, 10) for at in range(int((high - first) / step + 1e-9) + 1)]


def series(number: int) -> str:
    return f"s{number % SERIES + 1}"


def text(x: float, y: float, *words: Child, anchor: str = "start", class_: str | None = None) -> Markup:
    return tag("text", *words, x=x, y=y, text_anchor=anchor, class_=class_)


def line(  # noqa: PLR0913, PLR0917  # two points
    x1: float, y1: float, x2: float, y2: float, class_: str, dash: str | None = None
) -> Markup:
    return tag("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=class_, stroke_dasharray=dash)


def marker(x: float, y: float, number: int, radius: float = 5) -> Markup:
    """A point of a series: circle, square, diamond or triangle."""
    class_ = f"{series(number)} fill"
    shape = _SHAPES[number % len(_SHAPES)]
    if shape == "circle":
        return tag("circle", cx=x, cy=y, r=radius, class_=class_)
    if shape == "square":
        return tag("rect", x=x - radius, y=y - radius, width=2 * radius, height=2 * radius, class_=class_)
    if shape == "diamond":
        corners: tuple[tuple[float, float], ...] = (
            (x, y - radius - 1),
            (x + radius + 1, y),
            (x, y + radius + 1),
            (x - radius - 1, y),
        )
    else:
        corners = ((x, y - radius - 1), (x + radius + 1, y + radius), (x - radius - 1, y + radius))
    return tag("polygon", points=_points(corners), class_=class_)


def path(
    points: Sequence[tuple[float, float]], number: int, *, stepped: bool = False, is_dashed: bool = False
) -> Markup:
    """A line through points; `stepped`, it stays at a value until the next one."""
    places: list[tuple[float, float]] = []
    for x, y in points:
        if stepped and places:
            places.append((x, places[-1][1]))
        places.append((x, y))
    return tag(
        "polyline",
        points=_points(places),
        class_=f"{series(number)} stroke",
        stroke_dasharray="6 4" if is_dashed else None,
    )


def _points(places: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{x:g},{y:g}" for x, y in places)


def frame(
    x: Scale,
    y: Scale,
    x_ticks: Sequence[tuple[float, str]],
    y_ticks: Sequence[tuple[float, str]],
    labels: tuple[str, str] = ("", ""),
) -> Markup:
    """Grid lines with their values, and the names of the axes."""
    bottom, left = max(y.start, y.end), min(x.start, x.end)
    drawn = [
        *(
            join(
                line(x(value), y.start, x(value), y.end, "grid"),
                text(x(value), bottom + 16, word, anchor="middle", class_="quiet"),
            )
            for value, word in x_ticks
        ),
        *(
            join(
                line(x.start, y(value), x.end, y(value), "grid"),
                text(left - 6, y(value) + 4, word, anchor="end", class_="quiet"),
            )
            for value, word in y_ticks
        ),
    ]
    named = [
        text((x.start + x.end) / 2, bottom + 34, labels[0], anchor="middle", class_="quiet")
        if labels[0]
        else None,
        text(left, min(y.start, y.end) - 8, labels[1], class_="quiet") if labels[1] else None,
    ]
    return join(drawn, named)


def plot(width: float, height: float, *content: Child, label: str) -> Markup:
    return tag(
        "svg",
        tag("title", label),
        content,
        viewBox=f"0 0 {width:g} {height:g}",
        class_="plot",
        role="img",
        aria_label=label,
    )


def legend(
    entries: Sequence[tuple[str, int, bool]], y: float, x: float = 10, width: float = 700
) -> tuple[Markup, float]:
    """Name, series and whether it is dashed -> one entry each, in lines that fit; returns the height that they need."""
    drawn, at, row = [], x, 0
    for name, number, is_dashed in entries:
        needed = 34 + 7 * len(name)
        if at > x and at + needed > width:
            at, row = x, row + 1
        place = y + 18 * row
        sample = line(
            at, place - 4, at + 20, place - 4, f"{series(number)} stroke", "4 3" if is_dashed else None
        )
        drawn.append(join(sample, marker(at + 10, place - 4, number, 4), text(at + 26, place, name)))
        at += needed
    return join(drawn), 18 * (row + 1)


def figure(title: str, drawn: Markup, caption: str) -> Markup:
    """On a narrow screen a drawing keeps the size of its words, and scrolls sideways in itself."""
    box = tag("div", drawn, class_="drawing", tabindex="0", role="group", aria_label=title)
    return tag("figure", tag("h3", title), box, tag("figcaption", caption))


def short(name: str, most: int = LABEL) -> str:
    return name if len(name) <= most else f"{name[: most - 1]}…"


def stack_plots(title: str, width: float, *plots: tuple[Markup, float]) -> Markup:
    """Plots with their heights, one below the other under a title."""
    drawn, top = [text(10, 22, title)], 34.0
    for one, height in plots:
        drawn.append(tag("svg", one, x=0, y=top, width=width, height=height))
        top += height
    return plot(width, top, drawn, label=title)


def standalone(drawn: Markup) -> str:
    """A plot as a file of its own: with colours, on white."""
    colours = "".join(f".s{at + 1}{{--series:{colour}}}" for at, colour in enumerate(_COLOURS))
    style = (
        f"<style>{colours}text{{fill:#1c2024;font:12px sans-serif}}.quiet{{fill:#60646c}}"
        ".axis,.grid{stroke:#d9d9e0;fill:none}.stroke{fill:none;stroke:var(--series);stroke-width:2}"
        ".fill{fill:var(--series);stroke:#fff}</style>"
    )
    head, rest = str(drawn).split(">", 1)
    return f'{head} xmlns="http://www.w3.org/2000/svg">{style}<rect width="100%" height="100%" fill="#fff"/>{rest}\n'

"""Success rates with their intervals, drawn as bars.

agent  success          0%           50%          100%
mine   62% [48%, 74%]   ·········├───●──┤·······   74 of 120, 40 contracts
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.cells import cell_len, set_cell_size
from rich.console import Console, ConsoleOptions
from rich.text import Text

from steelyard.report.plain import one_line
from steelyard.report.study_summary.model import AgentNumbers
from steelyard.report.study_summary.render.words import rate
from steelyard.stats.estimate import Estimate

LEAST_BAR, MOST_BAR = 12, 50
WIDEST_NAME = 32
MARKS = {"empty": "·", "line": "─", "left": "├", "right": "┤", "point": "●"}
PLAIN_MARKS = {"empty": ".", "line": "-", "left": "|", "right": "|", "point": "o"}


@dataclass(frozen=True, slots=True)
class Leaderboard:
    agents: Sequence[AgentNumbers]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        del console
        width = options.max_width
        marks = PLAIN_MARKS if options.ascii_only else MARKS
        rates = [rate(one.success) for one in self.agents]
        rate_width = max(len("success"), *map(len, rates))
        name_width = min(WIDEST_NAME, max(5, *(cell_len(one_line(one.agent, 40)) for one in self.agents)))
        name_width = min(name_width, max(8, width - rate_width - LEAST_BAR - 4))
        tails = [_tail(one) for one in self.agents]
        room = width - name_width - rate_width - 4
        has_tail = room >= LEAST_BAR + 2 + max(map(len, tails))
        bar = min(MOST_BAR, room - (2 + max(map(len, tails)) if has_tail else 0))
        head = f"{'agent':<{name_width}}  {'success':<{rate_width}}  {_scale(bar)}"
        yield Text(head.rstrip(), "bold", no_wrap=True)
        for one, shown, tail in zip(self.agents, rates, tails, strict=True):
            name = set_cell_size(_cut(one_line(one.agent, 40), name_width, options), name_width)
            line = Text(f"{name}  {shown:<{rate_width}}  ", no_wrap=True)
            line.append(draw_interval(one.success, bar, marks), "dim" if one.is_baseline else "cyan")
            if has_tail:
                line.append(f"  {tail}", "dim")
            line.rstrip()
            yield line
            if not has_tail:
                yield Text(f"  {tail}", "dim", no_wrap=True)


def _cut(name: str, width: int, options: ConsoleOptions) -> str:
    if cell_len(name) <= width:
        return name
    more = "..." if options.ascii_only else "…"
    return set_cell_size(name, width - len(more)).rstrip() + more


def _tail(one: AgentNumbers) -> str:
    passed = next(each for each in one.categories if each.name == "success").count
    noun = "contract" if one.success.clusters == 1 else "contracts"
    count = f"{passed} of {one.success.n}, {one.success.clusters} {noun}"
    undecided = one.bounds.undecided
    return f"{count}, {undecided} undecided" if undecided else count


def _scale(width: int) -> str:
    """`0%`, `50%` and `100%` over the cells that they stand for."""
    scale = [" "] * width
    for text, at in (("0%", 0), ("50%", width // 2 - 1), ("100%", width - 4)):
        scale[at : at + len(text)] = text
    return "".join(scale)


def draw_interval(estimate: Estimate, width: int, marks: dict[str, str]) -> str:
    """The interval from its lower to its upper end, with the value as a point; unknown is an empty bar."""
    cells = [marks["empty"]] * width
    if estimate.value is None or estimate.low is None or estimate.high is None:
        return "".join(cells)
    left, point, right = (_cell(value, width) for value in (estimate.low, estimate.value, estimate.high))
    cells[left : right + 1] = marks["line"] * (right - left + 1)
    cells[left], cells[right] = marks["left"], marks["right"]
    cells[point] = marks["point"]
    return "".join(cells)


def _cell(value: float, width: int) -> int:
    return min(width - 1, max(0, round(value * (width - 1))))

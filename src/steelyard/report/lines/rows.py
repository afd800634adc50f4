"""Cells -> lines that fit: a column is never squeezed away; what does not fit goes on a line of its own below.

run    agent  verdict  why          run    agent  verdict
1a2b3c noop   fail     adds: ex…    1a2b3c noop   fail
                                           adds: exit 1
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field

from rich.cells import cell_len, set_cell_size
from rich.console import Console, ConsoleOptions
from rich.text import Text

from steelyard.deferred.data_class import dataclass

LEAST = 24  # the last column is not worth less
INDENT = 7  # the width of a run's short name, and a space
GAP = 3  # between two values on one line below


@dataclass(frozen=True)
class Rows:
    """A table whose last column takes what is left; `giving` are the others that may move below, first to last.

    One that is `whole` cuts nothing that stands below, and each value there stands behind the name of its column. `least` widths keep rows that are printed one
    at a time in the same columns; those after the first are not `headed`.
    """

    columns: tuple[str, ...]
    giving: tuple[str, ...] = ()
    right: frozenset[str] = frozenset()
    whole: bool = False
    headed: bool = True
    least: Mapping[str, int] = field(default_factory=dict)
    rows: list[tuple[Text, ...]] = field(default_factory=list)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        width, more = options.max_width, "..." if options.ascii_only else "…"
        widths = [max([cell_len(name), self.least.get(name, 0), *(cell_len(row[at].plain) for row in self.rows)])
                  for at, name in enumerate(self.columns)]  # fmt: skip
        below = self._below(widths, width)
        if console.color_system is None and not below:
            yield self._plain(widths, width, more)
            return
        head = tuple(Text(name, "bold") for name in self.columns)
        for row in (head, *self.rows) if self.headed else self.rows:
            beside = {at: widths[at] for at in range(len(row)) if at not in below}
            yield _cut(self._line(row, beside), width, more)
            if row is not head:
                lines = (
                    self._named(row, below, console, width - INDENT)
                    if self.whole
                    else [_cut(row[at], width - INDENT, more) for at in below]
                )
                yield from (Text(" " * INDENT) + line for line in lines if line.plain)

    def _named(self, row: tuple[Text, ...], below: Sequence[int], console: Console, width: int) -> list[Text]:
        """The cells that stand below, each behind its name; as many on a line as fit."""
        lines: list[Text] = []
        for at in below:
            if not row[at].plain:
                continue
            cell = Text.assemble((f"{self.columns[at]}: ", "dim"), row[at]) if self.columns[at] else row[at]
            if lines and cell_len(lines[-1].plain) + GAP + cell_len(cell.plain) <= width:
                lines[-1] = lines[-1] + Text(" " * GAP) + cell
            else:
                lines.append(cell)
        return [part for line in lines for part in line.wrap(console, width)]

    def _plain(self, widths: Sequence[int], width: int, more: str) -> Text:
        """All lines in one text: without colours there is nothing to keep apart, and thousands are a matter of speed."""
        lines = []
        head = (self.columns,) if self.headed else ()
        for row in (*head, *(tuple(cell.plain for cell in row) for row in self.rows)):
            cells = []
            for name, cell, size in zip(self.columns, row, widths, strict=True):
                missing = " " * (size - cell_len(cell))
                cells.append(missing + cell if name in self.right else cell + missing)
            line = " ".join(cells).rstrip()
            lines.append(line if cell_len(line) <= width else _cut(Text(line), width, more).plain)
        return Text("\n".join(lines), no_wrap=True, overflow="ignore")

    def _below(self, widths: Sequence[int], width: int) -> list[int]:
        """The columns that have no room beside the others."""
        last = len(widths) - 1
        room = width - sum(widths[:last]) - last
        if room >= (widths[last] if self.whole else min(LEAST, widths[last])):
            return []
        below = [last]
        for name in self.giving:
            beside = [size for at, size in enumerate(widths) if at not in below]
            if sum(beside) + len(beside) - 1 <= width:
                break
            below.append(self.columns.index(name))
        return sorted(below)

    def _line(self, row: tuple[Text, ...], beside: dict[int, int]) -> Text:
        """Spaces are styled as the cell before them, so that a picture of the line begins no text with a space."""
        line, gap, style = Text(no_wrap=True, overflow="ignore"), 0, row[0].style  # it was cut to fit
        for at, width in beside.items():
            missing = width - cell_len(row[at].plain)
            before, after = (missing, 0) if self.columns[at] in self.right else (0, missing)
            line.append(" " * (gap + before), style)
            line.append_text(row[at])
            gap, style = after + 1, row[at].style
        line.rstrip()  # the last cell may be empty
        return line


def _cut(text: Text, width: int, more: str) -> Text:
    if cell_len(text.plain) <= width:
        return text
    fitting = len(set_cell_size(text.plain, width - len(more)).rstrip())
    return text[:fitting] + Text(more)

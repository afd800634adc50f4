"""Cells -> lines that fit: a column is never squeezed away; what does not fit goes on a line of its own below.

run    agent  verdict  why          run    agent  verdict
1a2b3c noop   fail     adds: ex…    1a2b3c noop   fail
                                           adds: exit 1
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field

from rich import console as rich_console
from rich import text as rich_text

from steelyard.deferred.data_class import dataclass
from steelyard.deferred.named_tuple import NamedTuple
from steelyard.report.lines import wrapping

LEAST = 24  # the last column is not worth less
INDENT = 7  # the width of a run's short name, and a space
GAP = 3  # between two values on one line below


_NARROW = str.maketrans(dict.fromkeys("✓✗…", "x"))


class StyledText(NamedTuple):
    """A text with one style, also a part that `rich.text.Text.assemble` takes. Rich takes long to load, and a plain line
    needs none of it.
    """

    plain: str
    style: str = ""

    def __rich__(self) -> rich_text.Text:
        return rich_text.Text(self.plain, self.style)


def cell_len(text: str) -> int:
    """How many columns of a terminal a text takes; `rich.cells` is asked about letters of other scripts."""
    if is_simple(text):
        return len(text)
    from rich.cells import cell_len as rich_cell_len  # noqa: PLC0415

    return rich_cell_len(text)


def is_simple(text: str) -> bool:
    """Whether each character of it is one column wide."""
    known = text.translate(_NARROW)
    return known.isascii() and (known.isprintable() or not known)


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
    rows: list[tuple[StyledText | rich_text.Text, ...]] = field(default_factory=list)

    def __rich_console__(
        self, console: rich_console.Console, options: rich_console.ConsoleOptions
    ) -> Iterator[rich_text.Text]:
        width, more = options.max_width, "..." if options.ascii_only else "…"
        if console.color_system is None and (plain := self.plain(width, more)) is not None:
            yield rich_text.Text(plain, no_wrap=True, overflow="ignore")
            return
        below = self._below(self._widths, width)
        widths = self._widths
        head = tuple(rich_text.Text(name, "bold") for name in self.columns)
        rows = [tuple(map(_as_text, row)) for row in self.rows]
        for row in (head, *rows) if self.headed else rows:
            beside = {at: widths[at] for at in range(len(row)) if at not in below}
            yield _cut(self._line(row, beside), width, more)
            if row is not head:
                lines = (
                    self._named(row, below, width - INDENT)
                    if self.whole
                    else [_cut(row[at], width - INDENT, more) for at in below]
                )
                yield from (rich_text.Text(" " * INDENT) + line for line in lines if line.plain)

    def _named(
        self, row: tuple[rich_text.Text, ...], below: Sequence[int], width: int
    ) -> list[rich_text.Text]:
        """The cells that stand below, each behind its name; as many on a line as fit."""
        lines: list[rich_text.Text] = []
        for at in below:
            if not row[at].plain:
                continue
            cell = (
                rich_text.Text.assemble((f"{self.columns[at]}: ", "dim"), row[at])
                if self.columns[at]
                else row[at]
            )
            if lines and cell_len(lines[-1].plain) + GAP + cell_len(cell.plain) <= width:
                lines[-1] = lines[-1] + rich_text.Text(" " * GAP) + cell
            else:
                lines.append(cell)
        return [part for line in lines for part in wrapping.hang(line, width, 0).split("\n")]

    @property
    def _widths(self) -> list[int]:
        return [
            max([cell_len(name), self.least.get(name, 0), *(cell_len(row[at].plain) for row in self.rows)])
            for at, name in enumerate(self.columns)
        ]

    def plain(self, width: int, more: str) -> str | None:
        """All lines in one text, without colours, where every column has room beside the others: thousands of rows are a
        matter of speed.
        """
        widths = self._widths
        if self._below(widths, width):
            return None
        lines = []
        head = (self.columns,) if self.headed else ()
        for row in (*head, *(tuple(cell.plain for cell in row) for row in self.rows)):
            cells = []
            for name, cell, size in zip(self.columns, row, widths, strict=True):
                missing = " " * (size - cell_len(cell))
                cells.append(missing + cell if name in self.right else cell + missing)
            line = " ".join(cells).rstrip()
            lines.append(line if cell_len(line) <= width else _cut(rich_text.Text(line), width, more).plain)
        return "\n".join(lines)

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

    def _line(self, row: tuple[rich_text.Text, ...], beside: dict[int, int]) -> rich_text.Text:
        """Spaces are styled as the cell before them, so that a picture of the line begins no text with a space."""
        line, gap, style = (
            rich_text.Text(no_wrap=True, overflow="ignore"),
            0,
            row[0].style,
        )  # it was cut to fit
        for at, width in beside.items():
            missing = width - cell_len(row[at].plain)
            before, after = (missing, 0) if self.columns[at] in self.right else (0, missing)
            line.append(" " * (gap + before), style)
            line.append_text(row[at])
            gap, style = after + 1, row[at].style
        line.rstrip()  # the last cell may be empty
        return line


def _as_text(cell: StyledText | rich_text.Text) -> rich_text.Text:
    return cell.__rich__() if isinstance(cell, StyledText) else cell


def _cut(text: rich_text.Text, width: int, more: str) -> rich_text.Text:
    if cell_len(text.plain) <= width:
        return text
    from rich.cells import set_cell_size  # noqa: PLC0415  # only for what does not fit

    fitting = len(set_cell_size(text.plain, width - len(more)).rstrip())
    return text[:fitting] + rich_text.Text(more)

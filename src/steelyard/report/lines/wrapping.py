"""A line and a width -> lines that fit: words stay whole; one that is longer than a line is broken behind a `.`, `_` or `/`."""

from __future__ import annotations

from rich.cells import get_character_cell_size
from rich.console import Console
from rich.text import Text

MARKS = "._/-:,"
LEAST = 20  # no line has less room
UNLIMITED = 1_000_000  # the width of what is piped: programs read whole lines


def print_wrapped(console: Console, line: Text, indent: int = 2) -> None:
    """Words whole on a terminal, and no foreign word in the first column; one line for a program."""
    console.print(hang(line, width_of(console), indent), soft_wrap=True)


def width_of(console: Console) -> int:
    return console.width if console.is_terminal else UNLIMITED


def wrap_words(text: str, width: int, first_width: int | None = None) -> list[str]:
    """The lines of a text, without spaces at their ends; the first may have another width."""
    starts = _starts(text, max(LEAST, first_width if first_width is not None else width), max(LEAST, width))
    ends = [*starts[1:], len(text)]
    return [text[start:end].strip() for start, end in zip(starts, ends, strict=True)]


def hang(line: Text, width: int, indent: int) -> Text:
    """A styled line as several: those after the first are indented. Its own spaces at the start stay."""
    room = max(LEAST, width - indent)
    starts = _starts(line.plain, max(LEAST, width), room)
    lines = list(line.divide(starts[1:]))
    for one in lines:
        one.rstrip()
    return Text("\n").join([lines[0], *(Text(" " * indent).append_text(one) for one in lines[1:])])


def _starts(text: str, first: int, room: int) -> list[int]:
    """Where each line begins."""
    starts = [0]
    while True:
        at = starts[-1]
        fitting = _fitting(text, at, room if at else first)
        if at + fitting >= len(text):
            return starts
        starts.append(_break(text, at, fitting, room))


def _break(text: str, at: int, fitting: int, room: int) -> int:
    """Before a word that fits on the next line; else within it, behind the last mark that fits."""
    end = at + fitting
    space = text.rfind(" ", at, end + 1)
    begins = space + 1 if space > at and text[at:space].strip() else at  # spaces alone are no line
    stop = text.find(" ", begins)
    word = text[begins : len(text) if stop < 0 else stop]
    if begins > at and _fitting(word, 0, room) >= len(word):
        return begins
    mark = max(text.rfind(mark, begins, end) for mark in MARKS)
    if mark >= begins:
        return mark + 1
    return begins if begins > at else end


def _fitting(text: str, at: int, room: int) -> int:
    """How many characters from `at` on fit: at least one, also where it is wider than the room."""
    if text.isascii():
        return min(room, len(text) - at)
    used = 0
    for count, char in enumerate(text[at : at + room + 1]):
        used += get_character_cell_size(char)
        if used > room:
            return max(1, count)
    return min(room, len(text) - at)

"""Messages on a terminal: words and commands are whole, and no row is written while the region of running trials is drawn."""

from __future__ import annotations

import io
import sys
import time
from collections.abc import Iterable

import pytest
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from steelyard.cli.console import reporter, wrap_message
from steelyard.cli.console.reporter import PlannedRows, Reporter

LONG = (
    "agent claude_code is not installed; `steelyard agents install claude_code` installs it, as the page says"
)


def test_a_message_is_cut_between_words_and_not_inside_a_command() -> None:
    lines = wrap_message(LONG, 60).split("\n")
    assert all(len(line) <= 60 for line in lines)
    assert any("`steelyard agents install claude_code`" in line for line in lines)
    assert " ".join(line.strip() for line in lines) == LONG


def test_a_message_for_a_program_is_one_line() -> None:
    assert wrap_message(LONG, 0) == LONG


class _SlowScreen(Console):
    """A terminal where a message takes longer to lay out than the region waits between two drawings."""

    meanwhile = 0  # drawings of the region while the message was laid out

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        if isinstance(renderable, Text) and "a reason" in renderable.plain:
            before = self._drawings()
            time.sleep(1)
            self.meanwhile = self._drawings() - before
        return super().render(renderable, options)

    def _drawings(self) -> int:
        assert isinstance(self.file, io.StringIO)
        return self.file.getvalue().count("0 of 1 done")


def test_the_region_of_running_trials_is_not_drawn_while_a_line_is_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A line erases the region as it was when the line was laid out; a drawing in between left a line of it behind."""
    screen = _SlowScreen(file=io.StringIO(), force_terminal=True, width=80)
    monkeypatch.setattr(sys, "stdout", _Terminal())
    monkeypatch.setattr(sys, "stderr", _Terminal())
    monkeypatch.setattr(reporter, "screen", lambda: screen)
    with Reporter(PlannedRows([("sum", "noop")], 1), as_json=False) as shown:
        shown.note("a reason")
    assert (screen.meanwhile, screen._drawings() > 0) == (0, True)


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True

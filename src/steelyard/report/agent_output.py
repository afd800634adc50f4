"""A run folder -> the last output of its agent, and the file with all of it.

    agent output (agent/stdout.txt):
    | All tests pass now.

Written by an agent: bounded, escaped, and every line behind a bar, those that a narrow terminal makes of it too.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console
from rich.text import Text

from steelyard.filesystem.plain_file import open_plain
from steelyard.filesystem.tree import printable
from steelyard.report.judge_card import behind

FILE = "agent/stdout.txt"  # of the first message, so of a run with one
FINAL, NATIVE = "final_response.txt", "agent/native"
MOST_LINES, MOST_CHARS = 10, 2000


def agent_output(folder: Path, console: Console) -> Iterator[Text]:
    """Nothing where the agent printed nothing or was no process."""
    name = FINAL if (folder / NATIVE).is_dir() else FILE  # a client with a trace prints its trace
    text, cut = _end_of(folder / name)
    if not text:
        return
    yield Text(f"\nagent output ({'the end of ' if cut else ''}{name}):", "bold")
    bar = Text("| ")
    for line in text.expandtabs(4).splitlines():
        yield from behind(bar, printable(line), console, again=bar)


def _end_of(path: Path) -> tuple[str, bool]:
    """The last lines of a file; whether there is more before them."""
    try:
        with open_plain(path) as file:
            start = max(0, file.seek(0, os.SEEK_END) - 4 * MOST_CHARS)
            file.seek(start)
            text = file.read(4 * MOST_CHARS).decode(errors="replace").strip("\r\n\t ")
    except (OSError, ValueError):
        return "", False
    lines = text[-MOST_CHARS:].splitlines()
    tail = "\n".join(lines[-MOST_LINES:])
    return tail, start > 0 or len(text) > MOST_CHARS or len(lines) > MOST_LINES

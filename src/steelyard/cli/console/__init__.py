"""What verbs share: how they print, how they end, how they show trials."""

from __future__ import annotations

import sys
from shutil import get_terminal_size

RECEIVED: list[str] = []  # names of the signals that ask this command to end


def terminal_width() -> int:
    """The columns of the terminal that stdout is; 0 where it is none."""
    return get_terminal_size().columns if sys.stdout.isatty() else 0


def say(line: str) -> None:
    print(f"steelyard: {harmless(line)}", file=sys.stderr)  # noqa: T201  # this is the command line


def harmless(message: str) -> str:
    """A message without control characters that a terminal would obey: it may quote a name that an agent chose."""
    if message.isprintable():
        return message
    return "".join(one if one.isprintable() or one in "\n\t" else ascii(one)[1:-1] for one in message)

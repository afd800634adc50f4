"""What verbs share: how they print, how they end, how they show trials."""

from __future__ import annotations

import os
import sys

_GLUE = "\N{WORD JOINER}"  # stands for a space that no line ends at
RECEIVED: list[str] = []  # names of the signals that ask this command to end


def terminal_width() -> int:
    """The columns of the terminal that stdout is; 0 where it is none."""
    from shutil import get_terminal_size  # noqa: PLC0415  # every command imports this module

    return get_terminal_size().columns if sys.stdout.isatty() else 0


def say(line: str) -> None:
    """One message on stderr; on a terminal its words are whole."""
    text = wrap_message(f"steelyard: {harmless(line)}", stderr_width())
    print(text, file=sys.stderr, flush=True)  # noqa: T201  # this is the command line


def stderr_width() -> int:
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns
    except (OSError, ValueError, AttributeError):  # redirected, closed, or replaced by a test
        return 0


def wrap_message(text: str, width: int) -> str:
    """Lines of at most `width` columns (0: as they are), without a cut in a word or in a command between backquotes, so that a
    reader can copy it. Lines after the first are indented.
    """
    if not width or all(len(line) <= width for line in text.split("\n")):
        return text
    import re  # noqa: PLC0415  # for messages that are too long alone
    import textwrap  # noqa: PLC0415  # as above

    lines = []
    for line in text.split("\n"):
        whole = re.sub(r"`[^`]*`", lambda command: command[0].replace(" ", _GLUE), line)
        indent = " " * (len(line) - len(line.lstrip()) + 2)
        lines += textwrap.wrap(
            whole, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
        ) or [""]
    return "\n".join(lines).replace(_GLUE, " ")


def harmless(message: str) -> str:
    """A message without control characters that a terminal would obey: it may quote a name that an agent chose."""
    if message.isprintable():
        return message
    return "".join(one if one.isprintable() or one in "\n\t" else ascii(one)[1:-1] for one in message)

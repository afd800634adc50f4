"""A command -> what it prints on a terminal, as SVG.   usage: picture.py OUT.svg COLUMNS COMMAND..."""

from __future__ import annotations

import fcntl
import io
import os
import pty
import re
import struct
import sys
import termios
from pathlib import Path

from rich.console import Console
from rich.text import Text


def on_a_terminal(argv: list[str], columns: int) -> str:
    """Run the command on a terminal of that width; what it printed, colours and all."""
    pid, terminal = pty.fork()
    if pid == 0:
        fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 60, columns, 0, 0))
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # progress is for those who wait
        os.environ["TERM"] = "xterm-256color"
        os.execvp(argv[0], argv)  # noqa: S606  # no shell, on purpose
    result = bytearray()
    try:
        while chunk := os.read(terminal, 65536):
            result += chunk
    except OSError:  # the terminal of a finished child
        pass
    os.waitpid(pid, 0)
    return result.decode().replace("\r\n", "\n")


def main(out: str, columns: str, *command: str) -> None:
    console = Console(record=True, width=int(columns), file=io.StringIO())
    console.print(Text.from_ansi(on_a_terminal(list(command), int(columns)).strip("\n")))
    # rich links a web font; a picture in a repository fetches nothing
    svg = re.sub(
        r"<!--.*?-->|@font-face \{.*?\}\s*", "", console.export_svg(title="$ make demo"), flags=re.DOTALL
    )
    Path(out).write_text(svg)


if __name__ == "__main__":
    main(*sys.argv[1:])

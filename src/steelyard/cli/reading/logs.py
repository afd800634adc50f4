"""Print what the agent of a run printed: its stdout to stdout, its stderr to stderr; -f follows a run that is going on."""

from __future__ import annotations

import argparse
import re
import sys
import time
from typing import TextIO

from steelyard.cli.options.runs_option import add_runs_option
from steelyard.errors import OperatorFault
from steelyard.evidence.folder.folder import AGENT, RunFolder, find_run
from steelyard.evidence.in_use import is_in_use
from steelyard.evidence.live_state import phase_of
from steelyard.filesystem.plain_file import open_plain
from steelyard.report.plain import one_line, shown_lines

HELP = "print what the agent of a run printed; -f follows it"
_EVERY_S = 0.2
_CHUNK = 1 << 20
_CI_COMMAND = re.compile(
    r"^([^\S\n]*):(?=:)|#(?=#(?:vso)?\[)", re.MULTILINE
)  # `::error::`, `##[error]`, `##vso[...]`


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "run",
        metavar="RUN",
        nargs="?",
        default="last",
        help="`last` (default), a run folder, or the start or the end of a run's name",
    )
    parser.add_argument("-f", "--follow", action="store_true", help="go on until the run has ended")
    add_runs_option(parser)


def run(args: argparse.Namespace) -> int:
    folder = find_run(args.runs, args.run)
    printed = _OutputPrinter(folder)
    if not args.follow:
        if not printed.more() and not is_in_use(folder.path):
            sys.stderr.write(f"steelyard: the agent of {folder.run_id} printed nothing\n")
        printed.end()
        return 0
    phase = ""
    while True:
        running = is_in_use(folder.path)  # looked at before reading, so that the last words are read too
        if running and (now := phase_of(folder)) != phase:
            phase = now
            sys.stderr.write(f"steelyard: {one_line(phase)}\n")
        printed.more()
        sys.stderr.flush()
        if not running:
            break
        time.sleep(_EVERY_S)
    printed.end()
    if folder.state != "sealed":
        raise OperatorFault(f"{folder.run_id} was interrupted: it has no result")
    sys.stderr.write(f"steelyard: the run has ended; `steelyard show {folder.typed}` explains it\n")
    return 0


class _OutputPrinter:
    """The output files of an agent, each printed once from its beginning to its end, control characters escaped."""

    def __init__(self, folder: RunFolder) -> None:
        self._folder = folder
        self._at: dict[str, int] = {}
        self._rest: dict[str, bytes] = {}  # a line that has no end yet

    def more(self) -> bool:
        """Print what has come since; whether there is anything at all."""
        try:
            found = [path.name for path in self._folder.file(AGENT).iterdir()]
        except OSError:
            found = []
        for name in sorted(found, key=lambda name: (_turn(name), name)):
            if name.startswith(("stdout", "stderr")) and name.endswith(".txt"):
                self._take(name)
        return any(self._at.values())

    def _take(self, name: str) -> None:
        path = self._folder.file(AGENT) / name
        try:
            with open_plain(path) as file:
                file.seek(self._at.get(name, 0))
                while data := file.read(_CHUNK):
                    self._at[name] = self._at.get(name, 0) + len(data)
                    self._write(name, data)
        except FileNotFoundError:
            return
        except OSError as error:
            raise OperatorFault(f"{path} cannot be read: {error.strerror}") from None

    def _write(self, name: str, data: bytes) -> None:
        lines, newline, rest = (self._rest.pop(name, b"") + data).rpartition(b"\n")
        if len(rest) > _CHUNK:
            lines, newline, rest = lines + newline + rest, b"", b""
        self._rest[name] = rest
        if lines or newline:
            _stream(name).write(_safe_lines(lines) + newline.decode())
            _stream(name).flush()

    def end(self) -> None:
        """A last line without an end gets one."""
        for name, rest in self._rest.items():
            if rest:
                _stream(name).write(_safe_lines(rest) + "\n")


def _safe_lines(lines: bytes) -> str:
    """Nothing that a terminal obeys, and no command to the CI system that may read this output."""
    text = shown_lines(lines.decode(errors="replace"))
    return _CI_COMMAND.sub(lambda found: f"{found[0][:-1]}\\x{ord(found[0][-1]):02x}", text)


def _stream(name: str) -> TextIO:
    return sys.stdout if name.startswith("stdout") else sys.stderr


def _turn(name: str) -> int:
    """`stdout-3.txt` is of the third message, `stdout.txt` of the first."""
    number = name.removesuffix(".txt").partition("-")[2]
    return int(number) if number.isdecimal() else 1

"""Results -> stdout as JSON lines or on a console; verdicts -> an exit code.

`show` and `diff` need this and nothing of `reporter`: reading a run costs no import of contracts or sandboxes.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, TextIO, cast

import orjson
from rich import console as rich_console

from steelyard.deferred.pattern import deferred_pattern
from steelyard.errors import OperatorFault
from steelyard.report.lines.rows import Rows, StyledText, is_simple

PIPED_WIDTH = 200
# JSON allows these as they are, but terminals obey some, hide others, and `splitlines` cuts a record at the rest.
_OBEYED = deferred_pattern("[\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]")


def console() -> rich_console.Console:
    """Colours and the real width on a terminal; plain, wide lines when piped."""
    if sys.stdout.isatty():
        return rich_console.Console()
    return rich_console.Console(width=PIPED_WIDTH, color_system=None, highlight=False)


class _PlainScreen:
    """A piped stdout: lines and rows that fit are written as they are, and rich draws the rest; the text is the same."""

    def print(self, *things: Any, **options: Any) -> None:
        text = _plain(things[0]) if len(things) == 1 and not options else None
        if text is None:
            self._console.print(*things, **options)
        else:
            sys.stdout.write(f"{text}\n")
            sys.stdout.flush()

    @cached_property
    def _console(self) -> rich_console.Console:
        return console()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._console, name)


def screen() -> rich_console.Console:
    """As `console`, for lines and rows one at a time."""
    return console() if sys.stdout.isatty() else cast("rich_console.Console", _PlainScreen())


def is_ascii_only() -> bool:
    """Whether stdout takes no letters but those of ASCII, as rich decides it."""
    return not (sys.stdout.encoding or "utf-8").lower().startswith("utf")


def _plain(thing: object) -> str | None:
    """The lines of a thing that rich would print as they are."""
    text = None
    if isinstance(thing, Rows):
        text = thing.plain(PIPED_WIDTH, "..." if is_ascii_only() else "…")
    elif isinstance(thing, StyledText):
        text = thing.plain
    if text is None:
        return None
    fits = all(is_simple(line) and len(line) <= PIPED_WIDTH for line in text.split("\n"))
    return text if fits else None


def check_out(out: Path, *, file: Path | None = None) -> None:
    """Refuse what cannot be a folder of runs, before anything is spent; or what cannot have `file`, which was typed then."""
    typed, other = (out, "folder with --out DIR") if file is None else (file, "file with --out FILE")
    place = next(path for path in (out, *out.absolute().parents) if path.exists() or path.is_symlink())
    if not place.is_dir():
        raise OperatorFault(f"--out {typed}: {place} is not a folder")
    # The machine's fault, found when a run starts
    is_read_only = bool(os.statvfs(place).f_flag & os.ST_RDONLY)
    if not is_read_only and not os.access(place, os.W_OK | os.X_OK):
        raise OperatorFault(f"--out {typed}: {place} is not writable for you; name another {other}")
    if place != out and not is_read_only and not _takes_folders(place):
        raise OperatorFault(f"--out {typed}: {place} takes no new folders; name another {other}")


def _takes_folders(place: Path) -> bool:
    """Not so below /proc and /sys, also for root. A full disk is the machine's fault, found when a run starts."""
    trial = place / f".steelyard-{os.getpid()}"
    try:
        trial.mkdir()
        trial.rmdir()
    except OSError as error:
        return error.errno not in {errno.ENOENT, errno.EPERM, errno.EACCES, errno.EINVAL, errno.EOPNOTSUPP}
    return True


def print_json(data: Any, out: TextIO | None = None) -> None:
    """One record, one line, whatever an agent put into its strings; to stdout, or where a caller has kept it."""
    stream = sys.stdout if out is None else out
    text = _OBEYED.sub(lambda match: f"\\u{ord(match[0]):04x}", orjson.dumps(data).decode())
    stream.write(f"{text}\n")
    stream.flush()


def exit_code(results: Sequence[Mapping[str, Any]]) -> int:
    """The worst of them: 3 invalid by infrastructure, 2 a fault of contract or command, 1 did not pass, 0 passed."""
    return max((_code(result) for result in results), default=0)


def _code(result: Mapping[str, Any]) -> int:
    if result["verdict"] == "pass":
        return 0
    if result.get("fault") in {"contract", "operator"}:
        return 2
    return 3 if result["status"] == "invalid" else 1

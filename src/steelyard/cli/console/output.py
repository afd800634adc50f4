"""Results -> stdout as JSON lines or on a console; verdicts -> an exit code.

`show` and `diff` need this and nothing of `reporter`: reading a run costs no import of contracts or sandboxes.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson
from rich.console import Console

from steelyard.deferred.pattern import deferred_pattern
from steelyard.errors import OperatorFault

PIPED_WIDTH = 200
# JSON allows these as they are, but terminals obey some, hide others, and `splitlines` cuts a record at the rest.
_OBEYED = deferred_pattern("[\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]")


def console() -> Console:
    """Colours and the real width on a terminal; plain, wide lines when piped."""
    return (
        Console() if sys.stdout.isatty() else Console(width=PIPED_WIDTH, color_system=None, highlight=False)
    )


def check_out(out: Path) -> None:
    """Refuse what cannot be a folder of runs, before anything is spent."""
    place = next(path for path in (out, *out.absolute().parents) if path.exists() or path.is_symlink())
    if not place.is_dir():
        raise OperatorFault(f"--out {out}: {place} is not a folder")
    is_read_only = bool(
        os.statvfs(place).f_flag & os.ST_RDONLY
    )  # the machine's fault, found when a run starts
    if not is_read_only and not os.access(place, os.W_OK | os.X_OK):
        raise OperatorFault(
            f"--out {out}: {place} is not writable for you; name another folder with --out DIR"
        )


def print_json(data: Any) -> None:
    """One record, one line, whatever an agent put into its strings."""
    text = _OBEYED.sub(lambda match: f"\\u{ord(match[0]):04x}", orjson.dumps(data).decode())
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def exit_code(results: Sequence[Mapping[str, Any]]) -> int:
    """The worst of them: 3 invalid by infrastructure, 2 a fault of contract or command, 1 did not pass, 0 passed."""
    return max((_code(result) for result in results), default=0)


def _code(result: Mapping[str, Any]) -> int:
    if result["verdict"] == "pass":
        return 0
    if result.get("fault") in {"contract", "operator"}:
        return 2
    return 3 if result["status"] == "invalid" else 1

"""`patch.diff` -> how many lines a change adds and removes.

A file that the patch cannot show (binary, over a limit) counts one line for each 80 bytes, so that it is not free.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

from steelyard.evidence.change.change import Change
from steelyard.filesystem.plain_file import open_plain

BYTES_OF_A_LINE = 80
_HUNK = re.compile(rb"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")
_BINARY = re.compile(rb"(?:literal|delta) (\d+)\n")
_OMITTED = re.compile(rb"# not in this patch: .*: (\d+) bytes\n")
_WITHOUT_SIZE = (b"# this patch is empty", b"# incomplete", b"# not in this patch")
_LONGEST = 1 << 20  # bytes of a line that are looked at


def changed_lines(patch: Path, change: Change) -> int:
    """Added and removed lines, counted in the hunks and not by their first letter alone."""
    with open_plain(patch) as stream:
        lines, is_partial = count_lines(_lines(stream))
    if is_partial:
        lines += (
            sum(
                max((side.size for side in (entry.old, entry.new) if side is not None), default=0)
                for entry in change.file_entries
            )
            // BYTES_OF_A_LINE
        )
    return lines


def count_lines(patch: Iterable[bytes]) -> tuple[int, bool]:
    """The lines, and whether the patch leaves out something whose size it does not name."""
    count = old = new = 0
    is_partial = False
    for line in patch:
        if old > 0 or new > 0:
            count += line[:1] in (b"+", b"-")
            old -= line[:1] in (b"-", b" ", b"\n")
            new -= line[:1] in (b"+", b" ", b"\n")
        elif found := _HUNK.match(line):
            old, new = (int(number) if number is not None else 1 for number in found.groups())
        elif found := _BINARY.fullmatch(line) or _OMITTED.fullmatch(line):
            count += -(-int(found[1]) // BYTES_OF_A_LINE)
        elif line.startswith(_WITHOUT_SIZE) and not line.endswith(
            (b"directory appeared\n", b"was removed\n")
        ):
            is_partial = True
    return count, is_partial


def _lines(stream: BinaryIO) -> Iterator[bytes]:
    """Lines, of a very long one only its beginning."""
    while line := stream.readline(_LONGEST):
        is_whole = line.endswith(b"\n")
        while not is_whole:
            more = stream.readline(_LONGEST)
            is_whole = not more or more.endswith(b"\n")
        yield line

"""Two versions of a file -> a unified diff, if both are text of moderate size.

Bounded in time for every input: common lines at both ends are cut off, and what lies between them is compared line by
line only where it is short; otherwise it is one block that goes and one that comes.
"""

from __future__ import annotations

import difflib

PATCH_BYTES = 64 << 10  # of each version
_COMPARED_LINES = 300
_CONTEXT = 3


def text_patch(path: str, before: bytes | None, after: bytes | None) -> str | None:
    """None when there is nothing to show as text: a version is binary, large or not known."""
    old, new = _lines(before), _lines(after)
    if old is None or new is None:
        return None
    head = 0
    while head < min(len(old), len(new)) and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < min(len(old), len(new)) - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    start, kept = max(0, head - _CONTEXT), max(0, tail - _CONTEXT)
    old_part, new_part = old[start : len(old) - kept], new[start : len(new) - kept]
    names = ("/dev/null" if before is None else f"a/{path}", "/dev/null" if after is None else f"b/{path}")
    body = (
        _compare(old_part, new_part, start)
        if max(len(old_part), len(new_part)) <= _COMPARED_LINES
        else _replace(old_part, new_part, start)
    )
    return f"--- {names[0]}\n+++ {names[1]}\n" + "".join(map(_ended, body))


def _lines(data: bytes | None) -> list[str] | None:
    if data is None:
        return []
    if len(data) > PATCH_BYTES or b"\0" in data:
        return None
    try:
        *whole, rest = data.decode().split("\n")  # not splitlines: other separators are part of a line
    except UnicodeDecodeError:
        return None
    return [f"{line}\n" for line in whole] + ([rest] if rest else [])


def _compare(old: list[str], new: list[str], start: int) -> list[str]:
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    rows = []
    for group in matcher.get_grouped_opcodes(_CONTEXT):
        first, last = group[0], group[-1]
        rows.append(_hunk((first[1] + start, last[2] + start), (first[3] + start, last[4] + start)))
        for tag, old_from, old_to, new_from, new_to in group:
            if tag == "equal":
                rows += [f" {line}" for line in old[old_from:old_to]]
                continue
            rows += [f"-{line}" for line in old[old_from:old_to]]
            rows += [f"+{line}" for line in new[new_from:new_to]]
    return rows


def _replace(old: list[str], new: list[str], start: int) -> list[str]:
    head = _hunk((start, start + len(old)), (start, start + len(new)))
    return [head, *(f"-{line}" for line in old), *(f"+{line}" for line in new)]


def _hunk(old: tuple[int, int], new: tuple[int, int]) -> str:
    return f"@@ -{_span(old)} +{_span(new)} @@\n"


def _span(lines: tuple[int, int]) -> str:
    first, count = lines[0] + 1, lines[1] - lines[0]
    return f"{first if count else first - 1},{count}"


def _ended(row: str) -> str:
    return row if row.endswith("\n") else f"{row}\n\\ No newline at end of file\n"

"""What a failed command printed -> its first error and its end: what came first is usually the cause.

$ pip install -e .                    first error:
...                                     error: command 'gcc' failed: No such file or directory
error: command 'gcc' failed ...       last lines:
... 300 lines ...                       ERROR: Failed to build 'x' when installing ...
"""

from __future__ import annotations

import re

# Each is anchored to the ways in which tools begin such a line; `0 errors` and `test_error` are none.
_ERROR = re.compile(
    r"""
      ^\s*(?:[\w./+-]+:\s?)?(?:\d+:\s?)*(?:\x1b\[[0-9;]*m)*\s*(?:fatal\s+)?(?:error|fatal|panic)\b\s?(?:\[\w+\])?:   # gcc, git, rustc, pip, go
    | ^\s*(?:npm|pnpm|yarn)\s+(?:ERR!|error)\s
    | ^\s*E:\s                                                       # apt
    | ^\s*(?:[A-Za-z_][\w.]*)?(?:Error|Exception)(?::|$)                # Python, JavaScript, Java
    | :\s(?:command\ )?not\ found$
    | :\sNo\ such\ file\ or\ directory$
    | :\sPermission\ denied$
    | ^\s*make(?:\[\d+\])?:\s\*\*\*
    """,
    re.VERBOSE | re.IGNORECASE | re.MULTILINE,
)
FIRST_LINES, FIRST_CHARS = 8, 1200
LAST_CHARS = 800


def explain_failure(stdout: str, stderr: str) -> str:
    """The first error with the lines after it, then the end of the output; only the end where no error is seen."""
    text = stdout + ("" if not stdout or stdout.endswith("\n") else "\n") + stderr
    at = _first(stderr)
    start = len(text) - len(stderr) + at if at is not None else _first(stdout)
    tail_at = _line_start(text, max(0, len(text.rstrip()) - LAST_CHARS))
    tail = text[tail_at:].strip("\n")
    if start is None or start >= tail_at:
        return tail.strip()
    first = "\n".join(text[start:tail_at].splitlines()[:FIRST_LINES])[:FIRST_CHARS].rstrip()
    return f"first error:\n{first}\nlast lines:\n{tail}".rstrip()


def _first(text: str) -> int | None:
    found = _ERROR.search(text)
    return None if found is None else _line_start(text, found.start())


def _line_start(text: str, at: int) -> int:
    """The start of the line at this place; of the next one where that would be far before it."""
    start = text.rfind("\n", 0, at) + 1
    return start if at - start <= FIRST_CHARS else at

"""Text that came from a run -> text that is safe on a terminal."""

from __future__ import annotations

from dataclasses import replace

from steelyard.deferred.pattern import deferred_pattern
from steelyard.errors import Problem
from steelyard.filesystem.tree import printable

# The first line of a patch that was made safe to read: it is not the patch any more.
ESCAPED_PATCH = (
    b"# control characters are escaped below, so this is not a patch: steelyard diff --raw writes it"
)
# Control characters but tab and line end, bytes that an 8-bit terminal takes for them, and turns of the reading direction.
_OBEYED = deferred_pattern(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\udc80-\udc9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]|\r(?!\n)"
)


def one_line(text: str, width: int = 200) -> str:
    """Foreign text on one line: control and bidi characters escaped, cut with a mark."""
    line = printable(" ".join(text.split()))
    return line if len(line) <= width else line[: width - 1] + "…"


def quote_lines(text: str) -> str:
    """Foreign lines, each behind a bar, so that none can pass for a line of the report."""
    return "\n".join(f"| {printable(line)}" if line else "|" for line in text.expandtabs(4).splitlines())


def problem_lines(problem: Problem) -> list[str]:
    """What is wrong and what mends it on one line; what a program said of it is quoted below."""
    head, *output = problem.message.strip("\n").split("\n")
    line = printable(str(replace(problem, message=head)))
    return [line, *quote_lines("\n".join(output)).split("\n")] if output else [line]


def shown_lines(text: str) -> str:
    """Foreign lines as they are, but with nothing in them that a terminal would obey."""
    return "\n".join(printable(line.replace("\t", "    ")) for line in text.split("\n"))


def escaped_patch(patch: bytes) -> bytes:
    """The same bytes, but for what a terminal would obey; a patch without such characters stays as it is."""
    text = patch.decode("utf-8", "surrogateescape")
    return _OBEYED.sub(lambda found: printable(found[0]), text).encode("utf-8", "surrogateescape")

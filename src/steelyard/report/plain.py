"""Text that came from a run -> text that is safe on a terminal."""

from __future__ import annotations

from dataclasses import replace

from steelyard.contract.tree import shown
from steelyard.errors import Problem


def one_line(text: str, width: int = 200) -> str:
    """Foreign text on one line: control and bidi characters escaped, cut with a mark."""
    line = shown(" ".join(text.split()))
    return line if len(line) <= width else line[: width - 1] + "…"


def quoted(text: str) -> str:
    """Foreign lines, each behind a bar, so that none can pass for one of ours."""
    return "\n".join(f"| {shown(line)}" if line else "|" for line in text.expandtabs(4).splitlines())


def problem_lines(problem: Problem) -> list[str]:
    """What is wrong and what mends it on one line; what a program said of it is quoted below."""
    head, *said = problem.message.strip("\n").split("\n")
    line = shown(str(replace(problem, message=head)))
    return [line, *quoted("\n".join(said)).split("\n")] if said else [line]


def shown_lines(text: str) -> str:
    """Foreign lines as they are, but with nothing in them that a terminal would obey."""
    return "\n".join(shown(line.replace("\t", "    ")) for line in text.split("\n"))

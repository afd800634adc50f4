"""An explanation -> lines for a terminal: the reward first, below each number what it follows from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.text import Text

from steelyard.report.explanation.explain import Explanation, Node
from steelyard.report.lines.wrapping import hang
from steelyard.report.plain import one_line

INDENT = 2
MOST_EVIDENCE = 4
_COLOURS = {
    "pass": "green",
    "PASS": "green",
    "fail": "red",
    "FAIL": "red",
    "error": "yellow",
    "invalid": "yellow",
}


def explanation_lines(explanation: Explanation, width: int | None = None) -> Iterator[Text]:
    """With a `width`, what does not fit goes on below, deeper than its own line; the evidence then has a line of its own."""
    yield from _lines(explanation.tree, 0, width)
    if explanation.beside:
        yield Text("\nbeside it, without effect on the reward:", "bold")
    for node in explanation.beside:
        yield from _lines(node, 1, width)
    if not explanation.consistent:
        yield Text("these numbers do not follow from each other: see `steelyard verify`", "bold red")


def _lines(node: Node, depth: int, width: int | None) -> Iterator[Text]:
    lead = " " * (INDENT * depth)
    line = Text.assemble(lead, (one_line(node.what), "bold"))
    if node.value is not None or node.what in ("reward", "score", "quality"):
        line.append(f" {_value(node.value)}", _COLOURS.get(str(node.value), "cyan"))
    if node.why:
        line.append(f"  {one_line(node.why)}")
    evidence = Text(_evidence(node), "dim")
    below = len(lead) + 2 * INDENT  # deeper than the parts of this node
    if evidence.plain and (width is None or line.cell_len + 2 + evidence.cell_len <= width):
        yield line.append("  ").append_text(evidence)
    else:
        yield line if width is None else hang(line, width, below)
        if evidence.plain and width is not None:
            yield hang(Text(" " * below).append_text(evidence), width, below + 1)
    if node.quote:
        quote = Text(f"{lead}{' ' * INDENT}| {one_line(node.quote)}", "dim")
        yield quote if width is None else hang(quote, width, below)
    for part in node.parts:
        yield from _lines(part, depth + 1, width)


def _evidence(node: Node) -> str:
    more = len(node.evidence) - MOST_EVIDENCE
    named = ", ".join(one_line(one) for one in node.evidence[:MOST_EVIDENCE])
    return f"[{named}{f' and {more} more' if more > 0 else ''}]" if named else ""


def _value(value: Any) -> str:
    if value is None:
        return "unknown"
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:.4f}" if isinstance(value, float) else one_line(str(value))

"""A run folder -> its messages, its steps, and the answer that was its output.

Everything here was written by an agent: it is cut, and quoted line by line.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rich.text import Text

from steelyard.errors import DAMAGED
from steelyard.evidence.evidence import load_evidence
from steelyard.evidence.trace.events import read_events
from steelyard.report.plain import one_line, quote_lines

MARKS = {"pass": ("✓", "+", "green"), "fail": ("✗", "x", "red"), "error": ("!", "!", "yellow")}
SHOWN_CHARS = 2000
SHOWN_MESSAGES = 50
SHOWN_FAILURES = 10


def steps_of(result: Mapping[str, Any], *, unicode: bool) -> Iterator[Text]:
    """A line a step: `✓ step one   1.00  every check passed`."""
    steps = result.get("steps", ())
    width = max((len(step["name"]) for step in steps), default=0)
    for step in steps:
        mark, plain, colour = MARKS.get(step["outcome"], ("-", "-", "dim"))
        reward = "   -" if step["reward"] is None else f"{step['reward']:.2f}"
        name = one_line(step["name"], 40).ljust(min(width, 40))
        yield Text.assemble(
            "  ", (mark if unicode else plain, colour), f" step {name}  {reward}  {one_line(step['why'])}"
        )


def conversation_of(folder: Path) -> Iterator[Text]:
    """Each message, and the end of what was answered."""
    try:
        messages = [event for event in read_events(folder / "events.jsonl") if event.type in _SPEAKERS]
    except DAMAGED:
        return
    for event in messages[: 2 * SHOWN_MESSAGES]:
        text = str(event.payload.get("text") or event.payload.get("prefix") or "").strip()
        last = text if event.type == "brief" else text.rpartition("\n")[2]
        yield Text.assemble((f"{_SPEAKERS[event.type]:<6}", "bold"), one_line(last))


_SPEAKERS = {"brief": "user", "agent.message": "agent"}


def failed_connections(folder: Path) -> Iterator[Text]:
    """A host that could not be reached explains a failure that the agent did not cause: a line for each kind of failure."""
    try:
        connections = [
            event.payload for event in read_events(folder / "events.jsonl") if event.type == _CONNECTION
        ]
        times: Counter[tuple[str, str, str]] = Counter()
        for one in connections:
            if one["failed"]:
                times[_WHOSE[one["by"]], one["to"], one["failed"]] += one["count"]
    except DAMAGED:
        return
    for (whose, to, why), count in times.most_common(SHOWN_FAILURES):
        again = f" ({count} times)" if count > 1 else ""
        line = f"network: {whose} connection to {one_line(to, 80)} failed: {one_line(why, 80)}{again}"
        yield Text(line, "yellow")


_CONNECTION = "network.connection"
_WHOSE = {"agent": "the agent's", "check": "a check's"}


def answer_of(folder: Path) -> str:
    """The output of a run without a workspace, cut and quoted; nothing when there is none."""
    try:
        evidence = load_evidence(folder, deep=False)
        (entry,) = evidence.change.entries
        if entry.new is None or not entry.new.sha256:
            return ""
        with evidence.blobs.open(entry.new.sha256) as stream:
            text = stream.read(4 * SHOWN_CHARS).decode(errors="replace")[:SHOWN_CHARS]
    except DAMAGED:
        return ""
    more = "" if entry.new.size <= len(text.encode()) else f"\n... {entry.new.size} bytes in all"
    return quote_lines(f"{text}{more}")

"""A grade or a finding -> where in the run folder its reason can be read, and the line of the transcript that tells it (pure)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from steelyard.evidence.finding import Finding
from steelyard.graders.grade import WeightedGrade

QUOTE_CHARS = 300
_EVENT = re.compile(r"event (\d+)")
_TELLING = re.compile(r"\b\w*(?:Error|Exception)\b|\berror\b|\bFAIL(?:ED)?\b|\bnot ok\b|\bpanicked\b")


def pointers_of(graded: WeightedGrade) -> tuple[str, ...]:
    """Where the reason of a grade can be read; at least the grade itself."""
    if graded.grade.pointers:
        return graded.grade.pointers
    if graded.executed is not None and graded.entry.is_check:
        return (f"checks/{graded.entry.name}/outcome.json",)
    return (f"gradings#{graded.entry.name}",)


def pointer_of(finding: Finding) -> str:
    """The event, the check or the path that a finding names."""
    if event := _EVENT.fullmatch(finding.where):
        return f"events.jsonl#{event[1]}"
    return finding.where if finding.where.startswith("checks/") else f"findings.json#{finding.where}"


def quote_of(graded: WeightedGrade) -> str:
    """A failing test with its message, or the first line of the output that tells of an error; empty without a transcript."""
    executed = graded.executed or {}
    for row in (executed.get("reported") or {}).get("results", ()):
        if isinstance(row, list | tuple) and len(row) > 1 and row[1] in ("failed", "error"):
            return ": ".join(str(part) for part in (row[0], *row[2:3]) if part)[:QUOTE_CHARS]
    failing = executed.get("failing")
    if failing:
        return str(failing[0])[:QUOTE_CHARS]
    lines = [line.strip() for line in _output(executed) if line.strip()]
    telling = next((line for line in lines if _TELLING.search(line)), "")
    return (telling or (lines[-1] if lines else ""))[:QUOTE_CHARS]


def _output(executed: Any) -> Iterator[str]:
    for name in ("stderr", "stdout"):
        stream = executed.get(name) or {}
        text = str(stream.get("tail") or "") or str(stream.get("prefix") or "")
        yield from text.splitlines()

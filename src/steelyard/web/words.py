"""Values of records -> the words and small elements that every page shows; nothing here computes a rate."""

from __future__ import annotations

from typing import Any

from steelyard.report.html.element import Markup, join, tag

NONE = "\N{EN DASH}"  # what is not known, or does not apply
# Each state has a colour class, a mark and a word: colour alone never carries a meaning.
MARKS = {"good": "✓", "bad": "✗", "unsure": "!", "neutral": "\N{EN DASH}", "active": "●"}
STATES = {
    "pass": "good",
    "fail": "bad",
    "error": "unsure",
    "ungraded": "unsure",
    "invalid": "unsure",
    "unparseable": "unsure",
    "not_applicable": "neutral",
    "n/a": "neutral",
    "not asked": "neutral",
    "not_run": "neutral",
    "running": "active",
    "paused": "unsure",
    "interrupted": "unsure",
    "not graded": "unsure",
    "altered": "bad",
    "finished": "good",
    "stopped": "bad",
    "complete": "good",
    "partial": "unsure",
    "held": "unsure",
    "passed": "good",
    "failed": "bad",
    "skipped": "neutral",
    "violation": "bad",
    "warning": "unsure",
    "info": "neutral",
    "supported": "good",
    "not supported": "bad",
    "defer": "unsure",
    "yes": "good",
    "no": "bad",
}
_SHOWN = {"not_applicable": "N/A", "n/a": "N/A", "not_run": "not run"}


def badge(word: str, *, label: str = "", class_: str = "") -> Markup:
    """A word with its colour and its mark."""
    key = word.lower()
    state = STATES.get(key, "neutral")
    mark = tag("span", MARKS[state], aria_hidden="true")
    return tag("span", mark, " ", label or _SHOWN.get(key, word), class_=f"badge {state} {class_}".rstrip())


def number(value: Any, digits: int = 2) -> str:
    """A score or a reward; unknown is a dash, never 0."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return NONE
    return f"{value:.{digits}f}"


def count(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return NONE
    return f"{value:,}" if isinstance(value, int) else f"{value:,.2f}"


def money(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return NONE
    if value == 0:
        return "$0"
    return f"${value:,.2f}" if value >= 0.01 else f"${value:.4f}"


def seconds(value: Any) -> str:
    """`0.4 s`, `12 s`, `3 min 05 s`, `2 h 10 min`."""
    if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
        return NONE
    if value < 10:
        return f"{value:.1f} s" if value >= 0.1 or value == 0 else f"{value * 1000:.0f} ms"
    whole = round(value)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def size(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return NONE
    amount = float(value)
    for unit in ("bytes", "KiB", "MiB"):
        if amount < 1024:
            return f"{amount:.0f} {unit}" if unit == "bytes" or amount >= 100 else f"{amount:.1f} {unit}"
        amount /= 1024
    return f"{amount:.1f} GiB"


def plural(amount: int, noun: str, several: str = "") -> str:
    return f"1 {noun}" if amount == 1 else f"{amount:,} {several or noun + 's'}"


def cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def sentence(text: str, most: int) -> Markup:
    """A text whose parts between backticks are code."""
    parts = cut(text, most).split("`")
    if len(parts) % 2 == 0:  # the last backtick opens nothing
        parts[-2:] = ["`".join(parts[-2:])]
    return join(*(tag("code", part) if place % 2 else part for place, part in enumerate(parts)))


def shorten_middle(text: str, most: int) -> str:
    """The beginning and the end of a long text, and how much is missing between them."""
    if len(text) <= most:
        return text
    half = most // 2
    return f"{text[:half]}\n[... {len(text) - 2 * half:,} characters are not shown ...]\n{text[-half:]}"


def short_run(run: str) -> str:
    """The six digits that end a run's name."""
    return run.rsplit("-", 1)[-1] or run


def moment(stamp: str | None) -> str:
    """`2026-03-07T12:00:00.123Z` -> `2026-03-07 12:00:00`."""
    return NONE if not stamp else stamp[:19].replace("T", " ")

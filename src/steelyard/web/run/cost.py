"""The log of a run -> the Cost tab: money, tokens, time by phase, calls by kind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from steelyard.errors import DAMAGED
from steelyard.evidence.evidence import load_evidence
from steelyard.evidence.trace.chain import Event, read_events
from steelyard.evidence.trace.summary import Summary
from steelyard.report.html.element import Child, Markup, tag
from steelyard.report.result import result_line
from steelyard.web.layout import card, empty, facts, table
from steelyard.web.run.header import run_document
from steelyard.web.run.record import RunRecord
from steelyard.web.words import NONE, count, cut, money, seconds

_PHASES = {
    "wall_s": "whole run",
    "working_s": "agent",
    "active_tool_s": "tools of the agent",
    "acceptance_s": "checks",
}


def cost_tab(record: RunRecord) -> Markup:
    summary, costs = _summary(record)
    if not summary.types:
        return run_document(
            record, "cost", empty("Nothing is recorded.", "The log of this run is missing or empty.")
        )
    usage = summary.usage
    calls = [(name, count(amount)) for name, amount in summary.tools.most_common(30)]
    totals: list[tuple[str, Child]] = [
        ("cost", tag("b", money(summary.cost_usd))),
        (
            "how it is known",
            summary.cost_method or "not known: the run could reach a network that is not metered",
        ),
        ("tokens in", count(usage[0]) if usage else NONE),
        ("tokens out", count(usage[1]) if usage else NONE),
        ("model requests", count(summary.types["model.request"])),
        *_others(record),
        ("changed paths", count(summary.edits)),
    ]
    times = [(name, seconds(summary.durations.get(key))) for key, name in _PHASES.items()]
    return run_document(
        record,
        "cost",
        tag(
            "div",
            card(
                "Money and tokens",
                facts(totals),
                tag("p", "A dash means not known; not known is never 0.", class_="dim"),
            ),
            card("Time", table(("phase", "time"), times, caption="Time by phase", numeric=(1,))),
            card(
                "Calls",
                table(("kind of tool", "calls"), calls, caption="Calls by kind of tool", numeric=(1,)),
            )
            if calls
            else None,
            card("Cost events", table(("for", "cost"), costs, caption="Cost by source", numeric=(1,)))
            if costs
            else None,
            class_="columns",
        ),
    )


def _others(record: RunRecord) -> Iterator[tuple[str, Child]]:
    """What else has a price: it is in no cap of the agent."""
    items = _items(record)
    for key, name in (
        ("exec", "execution"),
        ("judge", "model judge"),
        ("overhead", "overhead"),
        ("human", "people"),
    ):
        usd = (items.get(key) or {}).get("usd")
        if usd:
            yield name, money(usd)


def _items(record: RunRecord) -> Mapping[str, Any]:
    """From the whole record: the glance that a page begins with has no times and no calls."""
    if not record.result:
        return {}
    try:
        line = result_line(load_evidence(record.folder, deep=False), record.grading, len(record.gradings))
    except DAMAGED:
        return {}
    return (line.get("cost") or {}).get("items") or {}


def _summary(record: RunRecord) -> tuple[Summary, list[tuple[str, str]]]:
    """Of a damaged log, as far as it can be read."""
    summary = Summary()
    spent: Counter[str] = Counter()
    for event in _events(record):
        summary.add(event)
        usd = event.payload.get("usd")
        if event.type == "cost" and isinstance(usd, int | float):
            spent[cut(_source(event.payload), 80)] += usd  # type: ignore[assignment]  # money, not a count
    return summary, [(name, money(usd)) for name, usd in spent.most_common(50)]


def _source(payload: dict[str, Any]) -> str:
    return str(payload.get("model") or payload.get("phase") or payload.get("method") or "unknown")


def _events(record: RunRecord) -> Iterator[Event]:
    try:
        yield from read_events(record.folder.events)
    except DAMAGED:
        return

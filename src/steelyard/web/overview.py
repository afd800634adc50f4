"""Contracts and agents: lists, and the page of an agent, all from counts of the index.

A count stands where a rate would need an interval and a denominator; the report of a study has those.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from steelyard.report.html.element import Child, Markup, join, tag, url
from steelyard.store.query import Query
from steelyard.web.explorer import STATES, runs_table
from steelyard.web.layout import card, document, empty, facts, table
from steelyard.web.message import NotThere, Request
from steelyard.web.records import Records
from steelyard.web.words import badge, cut, money, seconds

NEWEST = 20
MOST_ROWS = 1000
_SHOWN = ("pass", "fail", "error", "invalid")


class Counts:
    """Runs by state, and what they cost and took."""

    def __init__(self) -> None:
        self.states: dict[str, int] = {}
        self.cost_usd: float | None = None
        self.wall_s: float | None = None
        self.unknown_costs = 0  # runs

    def add(self, row: Mapping[str, Any]) -> None:
        state = str(row["state"])
        self.states[state] = self.states.get(state, 0) + int(row["runs"])
        self.unknown_costs += int(row["runs"]) - int(row["costs"])
        for name in ("cost_usd", "wall_s"):
            if row[name] is not None:
                setattr(self, name, (getattr(self, name) or 0.0) + float(row[name]))

    @property
    def runs(self) -> int:
        return sum(self.states.values())

    @property
    def is_mixed(self) -> bool:
        return "pass" in self.states and "fail" in self.states

    @property
    def cost(self) -> Child:
        """What is known of it, and of how many runs nothing is."""
        if not self.unknown_costs or self.cost_usd is None:
            return money(self.cost_usd)
        return join(money(self.cost_usd), tag("span", f"{self.unknown_costs:,} not known", class_="basis"))

    def cells(self) -> tuple[Child, ...]:
        others = {state: amount for state, amount in self.states.items() if state not in _SHOWN}
        return (
            f"{self.runs:,}",
            *(f"{self.states.get(state, 0):,}" for state in _SHOWN),
            ", ".join(f"{amount:,} {state}" for state, amount in others.items()) or "\N{EN DASH}",
            self.cost,
            seconds(self.wall_s),
        )


HEADINGS = ("runs", "pass", "fail", "error", "invalid", "other", "cost", "time")
NUMERIC = (1, 2, 3, 4, 5, 7, 8)


def group(rows: Iterable[Mapping[str, Any]], by: str) -> dict[str, Counts]:
    found: dict[str, Counts] = {}
    for row in rows:
        found.setdefault(str(row[by] or ""), Counts()).add(row)
    return found


def counts_table(
    title: str, found: Mapping[str, Counts], kind: str, caption: str, *, is_headed: bool = False
) -> Markup:
    rows = [
        (tag("a", cut(name, 80), href=url(kind, name)), *counts.cells())
        for name, counts in sorted(found.items())[:MOST_ROWS]
    ]
    more = f" ({MOST_ROWS:,} of {len(found):,} shown)" if len(found) > MOST_ROWS else ""
    return table(
        (title, *HEADINGS),
        rows,
        caption=caption + more,
        numeric=NUMERIC,
        class_="headed" if is_headed and not more else "",
    )


def contracts_page(records: Records) -> Markup:
    return _list(records, "contract", "Contracts")


def agents_page(records: Records) -> Markup:
    return _list(records, "agent", "Agents")


def _list(records: Records, column: str, title: str) -> Markup:
    found = group(records.tally((column, "state")), column)
    content: Child = (
        counts_table(column, found, column, title, is_headed=True)
        if found
        else empty(
            "There are no runs here yet.", join(tag("code", "steelyard demo"), " makes some in a minute.")
        )
    )
    return document(title, tag("h1", title), content, section=title)


def agent_page(records: Records, request: Request) -> Markup:
    name = request.parts["name"]
    rows = records.tally(("contract", "digest", "state"), exactly(agent=name))
    if not rows:
        raise NotThere("No run of this store is by that agent.")
    ended = records.tally(("termination", "state"), exactly(agent=name))
    return document(
        name,
        tag("h1", "Agent ", tag("code", name)),
        summary_facts(rows),
        card(
            "Contracts",
            counts_table("contract", group(rows, "contract"), "contract", "Runs on each contract"),
        ),
        card(
            "How runs ended",
            table(
                ("ended", *HEADINGS),
                [
                    (one.replace("_", " ") or "no result yet", *counts.cells())
                    for one, counts in group(ended, "termination").items()
                ],
                caption="Runs by how they ended",
                numeric=NUMERIC,
            ),
        ),
        newest_runs(records, exactly(agent=name), {"agent": name}),
        section="Agents",
        crumbs=(("Agents", "/agents"),),
    )


def exactly(*, contract: str = "", agent: str = "") -> Query:
    """A name is no pattern here: its special characters stand for themselves."""
    return Query(contract=literal(contract), agent=literal(agent))


def literal(name: str) -> str | None:
    return "".join(f"[{char}]" if char in "*?[" else char for char in name) or None


def summary_facts(rows: Iterable[Mapping[str, Any]]) -> Markup:
    total = Counts()
    for row in rows:
        total.add(row)
    states = [join(badge(state), f" {total.states[state]:,} ") for state in STATES if state in total.states]
    return facts(
        [
            ("runs", join(f"{total.runs:,}: ", states)),
            ("cost", total.cost),
            ("time", seconds(total.wall_s)),
        ]
    )


def newest_runs(records: Records, query: Query, view: Mapping[str, Any]) -> Markup:
    rows = records.query(replace(query, sort="started", descending=True, limit=NEWEST), lines=True)
    return card(
        "Newest runs",
        runs_table(rows),
        tag("p", tag("a", "All of them in the explorer", href=url(**view))),
    )

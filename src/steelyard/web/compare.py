"""Two runs, or two agents -> what is the same, what differs, and whether they may be compared."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import Any

from steelyard.evidence.folder.folder import RunFolder
from steelyard.report.compare import Comparison, compare_runs
from steelyard.report.html import plots
from steelyard.report.html.element import Child, Markup, join, tag, url
from steelyard.report.html.study import comparisons as comparison_parts
from steelyard.report.study_summary import comparisons, read_results, trial_record
from steelyard.store.query import Query
from steelyard.web.layout import card, document, empty, linked_run, notice, run_link, table
from steelyard.web.message import NotThere, Request
from steelyard.web.overview import literal
from steelyard.web.records import Records
from steelyard.web.words import cut, short_run

MOST_PATHS = 300
MOST_RUNS = 5000  # of which a page compares while a reader waits


def compare_page(records: Records, request: Request, find: Callable[[str], RunFolder]) -> Markup:
    runs = request.values("run")
    agents = [request.query.get(name, "") for name in ("a", "b")]
    content: list[Child] = []
    if runs:
        content.append(_runs(runs, find))
    elif all(agents):
        content.append(_agents(records, agents))
    content.append(_form(records, agents))
    return document("Compare", tag("h1", "Compare"), content, section="Compare")


def _runs(runs: Sequence[str], find: Callable[[str], RunFolder]) -> Child:
    if len(runs) != 2:
        return notice(f"Choose two runs in the explorer; {len(runs)} were chosen.", "warning")
    folders: list[RunFolder] = [find(run) for run in runs]
    try:
        comparison = compare_runs(*folders)
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return notice("One of these runs has no result, or its record is damaged.", "warning")
    return _comparison(comparison)


def _comparison(found: Comparison) -> Markup:
    names = [join(run_link(run, short_run(run))) for run in found.runs]
    rows = [
        (what, tag("div", cut(one, 600), class_="notes"), tag("div", cut(two, 600), class_="notes"))
        for what, one, two in found.differences
    ]
    changed = [
        (title, [join(tag("code", cut(path, 200)), tag("br")) for path in paths[:MOST_PATHS]])
        for title, paths in (
            ("only in the first", found.only_first),
            ("only in the second", found.only_second),
            ("in both, differently", found.otherwise),
        )
        if paths
    ]
    return join(
        tag("p", names[0], " and ", names[1]),
        [
            notice(f"These two must not be compared: {cut(why, 400)}.", "warning")
            for why in found.incomparable
        ],
        card("What differs", table(("what", names[0], names[1]), rows, caption="Differences"))
        if rows
        else card(
            "What differs", tag("p", "Nothing that is compared: outcome, grades, cost and time are the same.")
        ),
        card("Changed files", table(("where", "files"), changed, caption="Changed files"))
        if changed
        else None,
    )


def _agents(records: Records, agents: Sequence[str]) -> Child:
    first, second = agents
    if first == second:
        return notice("Choose two different agents.", "warning")
    lines: list[Mapping[str, Any]] = []
    for agent in agents:
        found = list(islice(records.results(Query(agent=literal(agent))), MOST_RUNS))
        if not found:
            raise NotThere(f"No run of this store by {cut(agent, 80)} has a result.")
        # The index cuts long names and replaces what a database cannot hold: its name stands for the one of the line.
        lines += [{**line, "agent": agent} for line in found]
    if len(lines) > MOST_RUNS:
        return notice(
            join(
                "There are too many runs to compare while you wait: ",
                tag("code", "steelyard compare A B"),
                " does it in a terminal.",
            )
        )
    trials = trial_record.trials_of(read_results.of_lines(str(records.root), lines))
    comparison = comparisons.compare_agents(trial_record.by_agent(trials.records), first, second)
    return card(
        f"{cut(second, 60)} minus {cut(first, 60)}",
        tag("p", comparison_parts.comparison_words(comparison), class_="story"),
        [
            notice(f"Not the same for both: {difference.what}.", "warning")
            for difference in comparison.differences[:10]
        ],
        plots.difference_plot([comparison]),
        comparison_parts.comparison_details(comparison, linked_run),
    )


def _form(records: Records, agents: Sequence[str]) -> Markup:
    names = sorted(str(row["agent"]) for row in records.tally(("agent",)))[:500]
    return card(
        "Two agents",
        tag(
            "form",
            [
                tag(
                    "label",
                    f"{label} agent",
                    tag(
                        "select",
                        [
                            tag("option", cut(name, 100), value=name, selected=name == chosen)
                            for name in names
                        ],
                        name=field,
                    ),
                )
                for label, field, chosen in (
                    ("First", "a", agents[0]),
                    ("Second", "b", agents[1] or "".join(names[1:2])),
                )
            ],
            tag("button", "Compare"),
            method="get",
            action=url("compare"),
            class_="filter",
        )
        if names
        else empty("There are no runs here yet.", "Agents appear here when they have runs."),
        tag(
            "p",
            "Two runs are compared from the ",
            tag("a", "explorer", href="/"),
            ": choose them in its table.",
            class_="dim",
        ),
    )

"""Two runs, or two agents -> what is the same, what differs, and whether they may be compared."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import Any

from steelyard.errors import OperatorFault
from steelyard.evidence.folder.folder import RunFolder
from steelyard.report.compare import Comparison, compare_runs
from steelyard.report.html import plots
from steelyard.report.html.element import Child, Markup, join, prose, tag, url
from steelyard.report.html.study import agents as agent_parts
from steelyard.report.html.study import comparisons as comparison_parts
from steelyard.report.study_summary import read_results, two_agents
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
    """The comparison of `steelyard compare A B`, with its refusals: of a study that goes on, and of conditions that differ."""
    first, second = agents
    if first == second:
        return notice("Choose two different agents.", "warning")
    lines = _lines_of(records, agents)
    plan = read_results.plan_of(records.root, lines)
    if plan.get("planned_trials") is not None and not plan["is_complete"]:
        lines = _whole_study(records, lines)  # how far a study is depends on the trials of all its agents
        plan = read_results.plan_of(records.root, lines)
    if len(lines) > MOST_RUNS:
        return notice(
            join(
                "There are too many runs to compare while you wait: ",
                tag("code", "steelyard compare A B"),
                " does it in a terminal.",
            )
        )
    results = read_results.of_lines(str(records.root), lines, **plan)
    try:
        found = two_agents.compare_named(results, first, second, anyway=False)
    except OperatorFault as refused:
        words = str(refused).splitlines()
        return join(
            notice(f"Not compared: {words[0]}", "warning"),
            tag("ul", [tag("li", cut(line.strip(), 400)) for line in words[1:]]) if words[1:] else None,
        )
    return _two_agents(found)


def _lines_of(records: Records, agents: Sequence[str]) -> list[Mapping[str, Any]]:
    lines: list[Mapping[str, Any]] = []
    for agent in agents:
        found = list(islice(records.results(Query(agent=literal(agent))), MOST_RUNS))
        if not found:
            raise NotThere(f"No run of this store by {cut(agent, 80)} has a result.")
        # The index cuts long names and replaces what a database cannot hold: its name stands for the one of the line.
        lines += [{**line, "agent": agent} for line in found]
    return lines


def _whole_study(records: Records, lines: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """These lines, in the order of the study, among those of its other agents."""
    known = {line["run"]: line for line in lines}
    study = str((lines[0].get("study") or {}).get("digest"))
    found = islice(records.results(Query(study=study)), MOST_RUNS + 1)
    return [known.get(line["run"], line) for line in found]


def _two_agents(found: two_agents.TwoAgents) -> Markup:
    comparison = found.comparison
    return card(
        f"{cut(comparison.second, 60)} minus {cut(comparison.first, 60)}",
        tag("p", comparison_parts.comparison_words(comparison), class_="story"),
        [notice(prose(f"Provisional: {cut(why, 500)}."), "warning") for why in found.provisional],
        plots.difference_plot([comparison]),
        agent_parts.leaderboard((found.first, found.second)),
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

"""Studies: a list, and a page for each that is read again while trials run; the numbers are those of the study report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from steelyard.errors import OperatorFault, SteelyardError
from steelyard.report.html.element import Child, Markup, join, tag, url
from steelyard.store.entry import ACTIVE, UNFINISHED
from steelyard.store.query import Query
from steelyard.web.layout import card, digest, document, empty, facts, linked_run, notice, table
from steelyard.web.message import NotThere, Request
from steelyard.web.overview import HEADINGS, NUMERIC, Counts, group
from steelyard.web.planned import planned_card
from steelyard.web.records import Records
from steelyard.web.summaries import ALL, MOST_RUNS, Summaries
from steelyard.web.words import badge, cut, moment, money, plural

if TYPE_CHECKING:
    from steelyard.study.protocol.folder import StudyFolder

MOST_DECISIONS = 30


def studies_page(records: Records) -> Markup:
    rows = records.tally(("study", "study_name", "state"))
    named = {str(row["study"]): str(row["study_name"] or row["study"]) for row in rows if row["study"]}
    found = group((row for row in rows if row["study"]), "study")
    whole = tag("p", tag("a", "Report of all runs of this folder", href=url("study", ALL))) if rows else None
    if not found:
        advice = join(
            tag("code", "steelyard plan"), " writes a plan, ", tag("code", "steelyard study run"), " runs it."
        )
        return document(
            "Studies",
            tag("h1", "Studies"),
            empty("No run belongs to a study.", advice),
            whole,
            section="Studies",
        )
    listed = [
        (tag("a", cut(named[name], 80), href=url("study", name)), digest(name), *counts.cells())
        for name, counts in sorted(found.items(), key=lambda item: named[item[0]])
    ]
    return document(
        "Studies",
        tag("h1", "Studies"),
        table(
            ("study", "plan", *HEADINGS), listed, caption="Studies", numeric=tuple(at + 1 for at in NUMERIC)
        ),
        whole,
        section="Studies",
    )


def study_page(records: Records, summaries: Summaries, request: Request) -> Markup:
    name = request.parts["name"]
    query = Query() if name == ALL else Query(study=name)
    rows = records.tally(("agent", "state", "study", "study_name"), query)
    if not rows and name != ALL:
        raise NotThere("No run of this store belongs to that study.")
    total = Counts()
    for row in rows:
        total.add(row)
    title = "All runs" if name == ALL else str(rows[0]["study_name"] or name)
    return document(
        title,
        tag("h1", "Study " if name != ALL else "", title),
        tag(
            "div",
            _progress(rows, total, name),
            _planned(records, name, total.runs),
            id="live",
            data_running="yes" if ACTIVE & total.states.keys() else "no",
        ),
        _numbers(records, summaries, name, total),
        _plan(records, name),
        section="Studies",
        scripts=("live.js",),
        crumbs=(("Studies", "/studies"),),
    )


def _progress(rows: list[Mapping[str, Any]], total: Counts, name: str) -> Markup:
    view = {} if name == ALL else {"study": name}
    states = [
        join(tag("a", badge(state), href=url(**view, verdict=[state])), f" {amount:,}  ")
        for state, amount in total.states.items()
    ]
    running = sum(total.states.get(state, 0) for state in ACTIVE)
    listed = [(cut(agent, 80), *counts.cells()) for agent, counts in sorted(group(rows, "agent").items())]
    return join(
        notice(f"{plural(running, 'run')} under way. This part is read again every few seconds.")
        if running
        else None,
        facts(
            [
                ("runs", join(f"{total.runs:,}: ", states)),
                ("plan", digest(str(rows[0]["study"])) if rows and rows[0]["study"] else "none"),
            ]
        ),
        tag("p", tag("a", "Its runs in the explorer", href=url(**view))),
        card("Runs by agent", table(("agent", *HEADINGS), listed, caption="Runs by agent", numeric=NUMERIC))
        if running
        else None,
    )


def _folder(records: Records, name: str) -> StudyFolder | None:
    """The folder of a study that has begun; nothing for runs without a plan."""
    from steelyard.study.protocol.folder import DIGITS, STUDIES, StudyFolder  # noqa: PLC0415  # pydantic takes time to load

    folder = StudyFolder(records.root / STUDIES / name[:DIGITS])
    return None if name == ALL or "/" in name or not folder.is_begun else folder


def _planned(records: Records, name: str, runs: int) -> Markup | None:
    folder = _folder(records, name)
    if folder is None:
        return None
    try:
        plan = folder.plan()
    except (SteelyardError, OSError, ValueError):
        return None  # the card of the plan says so
    return planned_card(records, name, plan, runs)


def _plan(records: Records, name: str) -> Markup | None:
    """The registered plan, what was decided while the study ran, and where it deviates; nothing for runs without a plan."""
    from steelyard.study.protocol.status import deviations_of  # noqa: PLC0415

    folder = _folder(records, name)
    if folder is None:
        return None
    try:
        plan, log = folder.plan(), folder.log()
        deviations = deviations_of(plan, log)
    except (SteelyardError, OSError, ValueError):
        return notice("The plan of this study cannot be read.", "warning")
    agents = ", ".join(cut(one.name, 40) for one in plan.agents)
    decided = [
        (moment(str(one.get("at"))), str(one.get("what")), cut(_log_text(one), 300))
        for one in log[-MOST_DECISIONS:]
    ]
    return card(
        "Plan",
        facts(
            [
                ("state", badge("running") if folder.is_running else "no process runs it now"),
                ("agents", agents),
                ("contracts", f"{len(plan.contracts):,}, {plan.repeats} repeats of each agent"),
                (
                    "budget",
                    "none" if plan.budget.total_usd is None else f"{money(plan.budget.total_usd)} in all",
                ),
                ("deviations", plural(len(deviations), "deviation") if deviations else "none"),
            ]
        ),
        table(("at", "what", "details"), decided, caption="What was decided while it ran")
        if decided
        else None,
        [notice(cut(_log_text(one), 400), "warning") for one in deviations[:20]],
    )


def _log_text(entry: Mapping[str, Any]) -> str:
    """The members of a line of the log; of criteria, whether each is met."""
    parts = []
    for name, value in entry.items():
        if name == "criteria" and isinstance(value, list):
            parts += [
                f"{one.get('name')} {'met' if one.get('met') else 'NOT met'}"
                for one in value
                if isinstance(one, dict)
            ]
        elif name not in ("at", "what") and value not in (None, ""):
            parts.append(f"{name} {value}")
    return ", ".join(parts)


def _numbers(records: Records, summaries: Summaries, name: str, total: Counts) -> Markup:
    """The sections of the report. A page does not wait for those of a large study: live.js reads it again until they are there."""
    finished = total.runs - sum(total.states.get(state, 0) for state in UNFINISHED)
    if not finished:
        return empty("There is no result yet.", "Numbers appear when the first run has ended.")
    if finished > MOST_RUNS:
        return notice(
            join(
                f"{finished:,} runs are more than the {MOST_RUNS:,} that a page summarises, because their records would fill the memory: ",
                tag("code", "steelyard report --html report.html"),
                " makes the report as a file.",
            )
        )
    from steelyard.report.html.study_report import study_sections  # noqa: PLC0415  # scipy takes a second

    try:
        found = summaries.look(name, f"{sorted(total.states.items())} {_logged(records, name)}", finished)
    except OperatorFault as fault:
        return notice(str(fault), "warning")
    content: list[Child] = []
    if found.is_pending:
        earlier = f" These are the numbers of {found.summary.runs:,} runs." if found.summary else ""
        content.append(
            notice(
                f"The numbers of {finished:,} runs are being computed.{earlier} This page shows the new ones when they are there."
            )
        )
    elif found.is_old and found.summary:
        content.append(
            notice(
                f"These are the numbers of {found.summary.runs:,} runs; {finished:,} have ended. Reload this page in a while."
            )
        )
    if found.summary is not None:
        content.append(study_sections(found.summary, linked_run))
    return tag("div", content, id="numbers", data_running="yes" if found.is_pending else "no")


def _logged(records: Records, name: str) -> int:
    """How long the log of a study is: it grows with each decision, also after the last run."""
    from steelyard.study.protocol.folder import DIGITS, LOG, STUDIES  # noqa: PLC0415  # pydantic takes time to load

    if name == ALL or "/" in name:
        return 0
    try:
        return (records.root / STUDIES / name[:DIGITS] / LOG).stat().st_size
    except OSError:
        return 0

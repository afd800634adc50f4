"""Studies: a list, and a page for each that is read again while trials run; the numbers are those of the study report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from steelyard.errors import OperatorFault
from steelyard.report.html import study_report
from steelyard.report.html.element import Child, Markup, join, tag, url
from steelyard.store.entry import ACTIVE, UNFINISHED
from steelyard.store.query import Query
from steelyard.study.protocol.folder import find_studies
from steelyard.web.explorer import STATES
from steelyard.web.layout import card, digest, document, empty, facts, linked_run, notice, table
from steelyard.web.message import NotThere, Request
from steelyard.web.overview import HEADINGS, NUMERIC, Counts, group
from steelyard.web.records import Records
from steelyard.web.study.plan import (
    begun_studies,
    folder_of,
    is_under_way,
    log_changed_at,
    plan_card,
    read_plan,
    state_of,
)
from steelyard.web.study.planned import count_trials, planned_card, progress_line
from steelyard.web.study.summaries import ALL, MOST_RUNS, Summaries
from steelyard.web.words import badge, cut, plural

if TYPE_CHECKING:
    from steelyard.study.protocol.folder import StudyFolder


def studies_page(records: Records) -> Markup:
    rows = records.tally(("study", "study_name", "state"))
    named = {str(row["study"]): str(row["study_name"] or row["study"]) for row in rows if row["study"]}
    found = group((row for row in rows if row["study"]), "study")
    for identity, name in begun_studies(records).items():
        named.setdefault(identity, name)
        found.setdefault(identity, Counts())  # begun, and no run of it is in the index yet
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
            ("study", "plan", *HEADINGS),
            listed,
            caption="Studies",
            numeric=tuple(at + 1 for at in NUMERIC),
            class_="headed",
        ),
        whole,
        section="Studies",
    )


class Study(NamedTuple):
    """What a page of a study is about: the runs of one plan, or all runs of the folder."""

    name: str
    folder: StudyFolder | None
    rows: list[Mapping[str, Any]]  # runs counted by agent and state
    total: Counts
    is_live: bool  # the page is read again

    @property
    def title(self) -> str:
        if self.name == ALL:
            return "All runs"
        found = [str(row["study_name"]) for row in self.rows if row["study_name"]]
        plan = None if found else read_plan(self.folder)
        return found[0] if found else plan.name if plan else self.name

    @property
    def view(self) -> dict[str, str]:
        return {} if self.name == ALL else {"study": self.name}


def study_page(records: Records, summaries: Summaries, request: Request) -> Markup:
    study = _read_study(records, request.parts["name"])
    heading = study.title if study.name == ALL else join("Study ", tag("span", study.title, class_="name"))
    # What is planned stands first while the study runs, and below its results when it has ended.
    bar, planned = _planned(records, study)
    return document(
        cut(study.title, 80),
        tag("h1", heading),
        _part("live", study.is_live, bar, _progress(study), planned if study.is_live else None),
        _numbers(records, summaries, study),
        None
        if study.folder is None
        else _part("plan", study.is_live, None if study.is_live else planned, plan_card(study.folder)),
        section="Studies",
        scripts=("live.js",),
        crumbs=(("Studies", "/studies"),),
    )


def _read_study(records: Records, name: str) -> Study:
    folder = folder_of(records, name)
    # Before the counts: an index that is brought up to date between the two shows more than is asked for, never less.
    under_way = is_under_way(records, folder)
    rows = list(
        records.tally(
            ("agent", "state", "study", "study_name"), Query() if name == ALL else Query(study=name)
        )
    )
    if not rows and name != ALL and folder is None:
        raise NotThere("No run of this store belongs to that study.")
    total = Counts()
    for row in rows:
        total.add(row)
    return Study(name, folder, rows, total, under_way or bool(ACTIVE & total.states.keys()))


def _part(name: str, is_live: bool, *content: Child) -> Markup:  # noqa: FBT001  # one of two words of the element
    """A part of the page that live.js reads again while something runs."""
    return tag("div", content, id=name, data_running="yes" if is_live else "no")


def _progress(study: Study) -> Markup:
    total = study.total
    states = [
        join(tag("a", badge(state), href=url(**study.view, verdict=[state])), f" {amount:,}  ")
        for state, amount in sorted(total.states.items(), key=lambda one: STATES.index(one[0]))
    ]
    running = sum(total.states.get(state, 0) for state in ACTIVE)
    listed = [
        (tag("a", cut(agent, 80), href=url("agent", agent)), *counts.cells())
        for agent, counts in sorted(group(study.rows, "agent").items())
    ]
    pairs: list[tuple[str, Child]] = [("runs", join(f"{total.runs:,}: ", states) if states else "none yet")]
    if study.folder is not None:
        pairs.insert(0, ("state", state_of(study.folder)))
    if study.name != ALL:
        pairs.append(("plan", digest(study.name)))
    return join(
        notice(f"{plural(running, 'run')} under way. This page follows the study while it is open.")
        if study.is_live
        else None,
        facts(pairs),
        tag("p", tag("a", "Its runs in the explorer", href=url(**study.view))) if total.runs else None,
        card(
            "Runs by agent",
            table(("agent", *HEADINGS), listed, caption="Runs by agent", numeric=NUMERIC, class_="headed"),
        )
        if running
        else None,
    )


def _planned(records: Records, study: Study) -> tuple[Markup | None, Markup | None]:
    """How far the study is, as a bar; and a table of agents and contracts."""
    plan = read_plan(study.folder)
    counts = None if plan is None else count_trials(records, study.name, plan, study.total.runs)
    if plan is None or counts is None:
        return None, None
    return progress_line(counts), planned_card(counts, plan)


def _numbers(records: Records, summaries: Summaries, study: Study) -> Markup:
    """The sections of the report. A page does not wait for those of a large study: live.js reads it again until they are there."""
    total, name = study.total, study.name
    finished = total.runs - sum(total.states.get(state, 0) for state in UNFINISHED)
    if not finished:
        content: Child = empty("There is no result yet.", "Numbers appear when the first run has ended.")
        return _part("numbers", study.is_live, content)
    if finished > MOST_RUNS:
        return notice(
            join(
                f"{finished:,} runs are more than the {MOST_RUNS:,} that a page summarises, because their records would fill the memory: ",
                tag("code", "steelyard report --html report.html"),
                " makes the report as a file.",
            )
        )
    try:
        found = summaries.look(
            name, f"{sorted(total.states.items())} {records.mark} {_logged(records, study)}", finished
        )
    except OperatorFault as fault:
        return notice(str(fault), "warning")
    parts: list[Child] = []
    if found.is_pending:
        earlier = f" These are the numbers of {found.summary.runs:,} runs." if found.summary else ""
        parts.append(
            notice(
                f"The numbers of {finished:,} runs are being computed.{earlier} This page shows the new ones when they are there."
            )
        )
    elif found.is_old and found.summary:
        parts.append(
            notice(
                f"These are the numbers of {found.summary.runs:,} runs; {finished:,} have ended. Reload this page in a while."
            )
        )
    if found.summary is not None:
        parts.append(study_report.study_sections(found.summary, linked_run))
    return _part("numbers", study.is_live or found.is_pending, parts)


def _logged(records: Records, study: Study) -> float:
    """When the log of a study changed: with each decision, also after the last run. The numbers of all runs follow every log."""
    folders = find_studies(records.root) if study.name == ALL else [study.folder] if study.folder else []
    return sum(map(log_changed_at, folders))

"""A record -> the head of its pages: what was decided, three results side by side, why they differ, and the tabs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from steelyard.errors import DAMAGED
from steelyard.evidence.held_run import HeldRun
from steelyard.report.html.element import Child, Markup, join, prose, tag, url
from steelyard.report.judge_card import MEANING, run_word
from steelyard.report.one_run import story_of
from steelyard.report.plain import one_line
from steelyard.report.terminal import GATES
from steelyard.web.layout import Tab, digest, document, notice, tab_bar
from steelyard.web.run.record import UNKNOWN, RunRecord
from steelyard.web.words import badge, cut, moment, money, number, plural, seconds

TABS = (
    ("Agent Trace", ""),
    ("Diff", "diff"),
    ("Scorers", "scorers"),
    ("Judge", "judge"),
    ("Why", "why"),
    ("Checks", "checks"),
    ("Cost", "cost"),
    ("Files", "files"),
    ("Evidence", "evidence"),
    ("Review", "review"),
)


def run_document(record: RunRecord, tab: str, *content: Child, scripts: tuple[str, ...] = ()) -> Markup:
    """The whole page of one tab."""
    return document(
        f"{cut(record.contract, 60)}, {cut(record.agent, 60)}",
        run_header(record, tab),
        content,
        section="Runs",
        scripts=scripts,
        crumbs=(
            ("Runs", "/"),
            *(
                (cut(name, 60), url(kind, name))
                for kind, name in (("contract", record.contract), ("agent", record.agent))
                if name != UNKNOWN
            ),
        ),
    )


def run_header(record: RunRecord, tab: str) -> Markup:
    return tag(
        "div",
        _title(record),
        _notices(record),
        three_results(record) if record.result else None,
        tab_bar(_tabs(record, tab), "Parts of this run"),
        class_="run-head",
    )


def _title(record: RunRecord) -> Markup:
    result = record.result
    word = str(result.get("verdict") or ("paused" if _is_waiting(record) else record.state))
    about: list[Child] = [tag("span", record.run, class_="run-id")]
    if result:
        about += [
            tag("span", "started ", moment(_started(record.run))),
            tag("span", "took ", seconds((result.get("durations") or {}).get("wall_s"))),
            tag("span", "cost ", money((result.get("cost") or {}).get("usd"))),
        ]
    return join(
        tag(
            "h1",
            badge(word, class_="large"),
            " ",
            cut(record.contract, 80),
            " ",
            tag("span", "by", class_="dim"),
            " ",
            cut(record.agent, 80),
        ),
        tag("p", [join(one, " ") for one in about], class_="about"),
        tag("p", prose(_story(result)), class_="story") if result else None,
    )


def _is_waiting(record: RunRecord) -> bool:
    return record.held is not None and record.held.is_running


def _started(run: str) -> str:
    """The moment in a run's name, `20260307T120000123Z-...`."""
    stamp = run[:15]
    if len(stamp) == 15 and stamp[:8].isdecimal() and stamp[9:].isdecimal():
        return f"{stamp[:4]}-{stamp[4:6]}-{stamp[6:8]}T{stamp[9:11]}:{stamp[11:13]}:{stamp[13:15]}"
    return ""


def _story(result: Mapping[str, Any]) -> str:
    try:
        return story_of(result)
    except DAMAGED:
        return one_line(str(result.get("reason", "")))


def _notices(record: RunRecord) -> Markup:
    found: list[Markup] = []
    if record.state == "altered":
        found.append(
            notice(
                f"This record was altered: {one_line(record.note)}. What it shows is not verified and does not count.",
                "alarm",
            )
        )
    elif record.note:
        found.append(notice(record.note, "info"))
    if record.held is not None and record.held.is_running:
        found.append(_waiting(record.held, record.run))
    if len(record.gradings) > 1:
        found.append(_gradings(record))
    if refused := record.result.get("refused"):
        found.append(notice(f"Refused: {one_line(str(refused))}", "warning"))
    return join(*found)


def _waiting(held: HeldRun, run: str) -> Markup:
    why = cut(one_line(str(held.alert.payload.get("why") or held.alert.payload.get("code"))), 300)
    return notice(
        join(
            f"This run waits for an operator: {why}. ",
            tag("a", "Read the alert and decide", href=f"{url('run', run, 'review')}#decision"),
            f"; in {seconds(held.left_s)} the deadline decides: {cut(held.default, 40)}.",
        ),
        "warning",
    )


def _gradings(record: RunRecord) -> Markup:
    links = [
        tag(
            "a",
            f"{n}",
            href=url("run", record.run, grading=n),
            aria_current="true" if n == record.number else None,
        )
        for n in range(1, min(len(record.gradings), 50) + 1)
    ]
    said = "the result of record" if record.number == 1 else "a regrade; the result of record is grading 1"
    return notice(
        join(
            f"Grading {record.number} of {len(record.gradings)}: {said}. Show grading ",
            [join(one, " ") for one in links],
        )
    )


def three_results(record: RunRecord) -> Markup:
    """The three results of a run. None stands for another, so each says what it is about."""
    result = record.result
    judge = result.get("judge")
    return join(
        tag(
            "div",
            _gate(
                "Objective and checks",
                str(result.get("checks", "UNGRADED")),
                _checks_why(result, record.run),
                url("run", record.run, "scorers"),
            ),
            _gate(
                "Judge verdict",
                str(judge["verdict"]) if judge else "not asked",
                _judge_why(judge),
                url("run", record.run, "judge"),
            ),
            _gate("Run badge", run_word(result), _run_why(result), url("run", record.run, "evidence")),
            class_="gates",
            role="group",
            aria_label="The three results of this run",
        ),
        notice(
            MEANING[str(result["disagreement"])][:1].upper() + MEANING[str(result["disagreement"])][1:] + ".",
            "warning",
        )
        if MEANING.get(str(result.get("disagreement")), "")
        else None,
    )


def _gate(title: str, word: str, why: Child, href: str) -> Markup:
    return tag(
        "section",
        tag("h2", tag("a", title, href=href)),
        tag("p", badge(word, class_="large")),
        tag("div", why, class_="why"),
        class_="gate",
    )


# Gate -> the tab that has what it was decided on.
_EVIDENCE = {"patch": "diff", "build": "checks", "acceptance": "checks", "safety": "why"}


def _checks_why(result: Mapping[str, Any], run: str) -> Child:
    """The four gates of the change, and the score."""
    outcomes, why = result.get("gates") or {}, result.get("why") or {}
    numbers = tag(
        "p",
        "score ",
        tag("b", number(result.get("score"))),
        "  reward ",
        tag("b", number(result.get("reward"))),
    )
    if not outcomes:
        return numbers
    rows = [
        tag(
            "li",
            tag("a", badge(str(outcomes.get(name)), label=name), href=url("run", run, _EVIDENCE[name])),
            " ",
            tag("span", cut(one_line(str(why.get(name, ""))), 160)),
        )
        for name in GATES
        if name in outcomes
    ]
    return join(tag("ul", rows, class_="plain"), numbers)


def _judge_why(judge: Mapping[str, Any] | None) -> Child:
    if not judge:
        return tag("p", "No model was asked about this run.")
    said = [tag("p", cut(one_line(str(judge.get("why", ""))), 200))]
    if mode := judge.get("failure_mode"):
        said.append(tag("p", "failure mode ", tag("b", cut(str(mode), 80))))
    if judge.get("split"):
        said.append(tag("p", badge("warning", label="the models disagree")))
    if judge.get("steered"):
        said.append(tag("p", badge("violation", label="a model obeyed instructions in the evidence")))
    return said


def _run_why(result: Mapping[str, Any]) -> Child:
    ended = str(result.get("termination") or "unknown").replace("_", " ")
    rationale = one_line(str(result.get("rationale") or ""))
    return join(
        tag("p", f"ended: {ended}" + (f" ({cut(rationale, 160)})" if rationale else "")),
        tag("p", "stopped by ", one_line(str(result["stopped_by"]))) if result.get("stopped_by") else None,
        tag("p", "contract ", digest((result.get("contract") or {}).get("digest"))),
    )


def _tabs(record: RunRecord, current: str) -> list[Tab]:
    notes = _notes(record)
    query = {"grading": record.number} if record.number > 1 else {}
    found = []
    for name, path in TABS:
        if path in ("scorers", "judge") and record.result.get("workspace") == "none" and path == "scorers":
            continue  # an answer without a workspace has no scorers card
        parts = ("run", record.run, path) if path else ("run", record.run)
        found.append(Tab(name, url(*parts, **query), path == current, notes.get(path, "")))
    return found


def _notes(record: RunRecord) -> dict[str, str]:
    """A count beside a tab, where it says something."""
    failed = sum(grade.get("outcome") in ("fail", "error") for grade in record.grades)
    findings = record.result.get("findings") or ()
    loud = sum(isinstance(one, dict) and one.get("severity") != "info" for one in findings)
    return {
        "scorers": f"{failed} failed" if failed else "",
        "review": "waiting" if _is_waiting(record) else "",
        "evidence": plural(loud, "warning") if loud else "",
    }

"""A run that waits for an operator -> its alert, the evidence of the alert, and a form that resumes or ends the run.

A decision goes the way of `steelyard operate`: the controller of the run takes it and writes it to the log.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from steelyard.errors import OperatorFault
from steelyard.evidence.held_run import HeldRun
from steelyard.execution.supervision.decisions import CATEGORIES, CHOICES
from steelyard.execution.supervision.submit_decision import describe_ended, make_decision, submit_decision
from steelyard.report.html.element import Child, Markup, join, tag, url
from steelyard.report.plain import one_line
from steelyard.web.layout import card, facts, table
from steelyard.web.message import Request
from steelyard.web.run.form_fields import choice_field, long_text_field, text_field
from steelyard.web.words import cut, moment, seconds, shorten_middle

MEANINGS = {
    "resume": "the agent goes on",
    "terminate": "the run ends now, and the checks run on what there is",
    "quarantine": "the run ends now, and is invalid until a person has reviewed it",
}
FIELDS = ("monitor", "code", "rule", "format", "stage", "severity")
MOST_EVENTS = 50


def decision_card(held: HeldRun, run: str, csrf: str, typed: Mapping[str, str]) -> Markup:
    alert = held.alert.payload
    named = [(name, cut(one_line(str(alert[name])), 200)) for name in FIELDS if alert.get(name) is not None]
    measured = [
        (name, tag("code", _json(alert[name], 1000))) for name in ("signals", "threshold") if alert.get(name)
    ]
    return card(
        "Decision of an operator",
        tag("p", cut(one_line(str(alert.get("why", "no reason is recorded"))), 1000), class_="story"),
        facts(
            [
                ("state", _state(held)),
                ("since", moment(held.since)),
                (
                    "alert",
                    tag("a", f"event {held.alert.seq}", href=url("run", run, "event", str(held.alert.seq))),
                ),
                *named,
                *measured,
            ]
        ),
        _evidence(held, run),
        _form(held, run, csrf, typed) if held.is_running else None,
        id_="decision",
    )


def _state(held: HeldRun) -> str:
    if not held.is_running:
        return describe_ended(held)
    what = (
        "paused: all its processes are stopped"
        if held.action == "pause"
        else "waits with its workspace read-only"
    )
    return f"{what}; without a decision within {seconds(held.left_s)} the deadline decides: {held.default}"


def _evidence(held: HeldRun, run: str) -> Child:
    rows = [
        (
            tag("a", str(event.seq), href=url("run", run, "event", str(event.seq))),
            event.type,
            event.actor,
            tag("code", _words(event.payload)),
        )
        for event in held.events[:MOST_EVENTS]
    ]
    if not rows:
        return tag("p", "The alert names no event as its evidence.", class_="dim")
    return table(("event", "type", "by", "what"), rows, caption="Evidence of the alert")


def _words(payload: Mapping[str, Any]) -> str:
    argv = payload.get("argv")
    if isinstance(argv, list):
        return cut(one_line(" ".join(map(str, argv))), 600)
    return _json(payload, 600)


def _json(value: Any, most: int) -> str:
    return shorten_middle(one_line(orjson.dumps(value, default=str).decode()), most)


def _form(held: HeldRun, run: str, csrf: str, typed: Mapping[str, str]) -> Markup:
    options = [
        tag("option", one.replace("_", " "), value=one, selected=one == typed.get("category", "other"))
        for one in CATEGORIES
    ]
    return join(
        tag(
            "form",
            tag("input", type="hidden", name="csrf", value=csrf),
            tag("input", type="hidden", name="alert", value=str(held.alert.seq)),
            choice_field(
                "What happens to this run?", "decision", {one: MEANINGS[one] for one in CHOICES}, typed
            ),
            long_text_field("Reason", "reason", typed, rows="3", maxlength="4000", required=True),
            tag("label", "Category", tag("select", options, name="category")),
            tag(
                "p",
                "After a resume with the category false positive or acceptable risk, the alert no longer fails the safety gate.",
                class_="dim",
            ),
            text_field("Your name", "by", typed, required=True, autocomplete="username"),
            tag("button", "Decide"),
            method="post",
            action=url("run", run, "decide"),
            class_="stack",
        ),
        tag("p", "The decision becomes an event of the run, with your name and your reason.", class_="dim"),
    )


def decide(held: HeldRun | None, request: Request) -> None:
    """Submit the form. Raises OperatorFault where the controller of the run did not take its decision."""
    form = request.form
    if held is None:
        raise OperatorFault("this run does not wait for a decision any more")
    if form.get("alert") != str(held.alert.seq):
        raise OperatorFault(
            "the run waits because of another alert than the one that this form was about; read it first"
        )
    reason = form.get("reason", "").replace("\r\n", "\n")
    decision = make_decision(
        form.get("decision", ""), form.get("by", ""), reason, form.get("category", "other")
    )
    taken = submit_decision(held, decision)
    if (taken.get("decision"), taken.get("by")) != (decision.decision, decision.by):
        said = f"{taken.get('decision')} by {taken.get('by')}"
        raise OperatorFault(f"another decision was taken before yours: {cut(one_line(said), 200)}")

"""The Review tab: the decision that a paused run waits for, what people said of a run, and a form to judge or to adjudicate.

An annotation stands beside the automated result and never changes it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from steelyard.errors import OperatorFault
from steelyard.report.html.element import Child, Markup, join, tag, url
from steelyard.review import disagreement, queue
from steelyard.review import record as review_record
from steelyard.review import status as review_state
from steelyard.verdict import evaluation
from steelyard.web.layout import card, empty, facts, notice, table
from steelyard.web.message import Request, Response, page, redirect
from steelyard.web.run.decide import decide, decision_card
from steelyard.web.run.form_fields import choice_field, long_text_field, text_field
from steelyard.web.run.header import run_document
from steelyard.web.run.record import RunRecord, read_record
from steelyard.web.words import badge, cut, moment, plural, shorten_middle

_MEANINGS = {"pass": "the task is done", "fail": "it is not", "defer": "I cannot tell"}
MOST_NOTES = 20_000


def review_tab(record: RunRecord, request: Request) -> Markup:
    said = None
    if "decided" in request.query:
        said = notice("The run has taken your decision; it is an event of its log.")
    elif "saved" in request.query:
        said = notice("Your judgement was added to the record.")
    return _tab(record, request.csrf, said)


def save_decision(record: RunRecord, request: Request) -> Response:
    """Submit the decision of the form. If it is wrong, the page says why above the form, which keeps what was typed."""
    try:
        decide(record.held, request)
    except OperatorFault as fault:
        said = notice(f"Not decided: {str(fault).rstrip('.')}.", "alarm")
        now = read_record(record.folder)  # the run may have gone on meanwhile
        return page(_tab(now, request.csrf, said, request.form), 400)
    return redirect(url("run", record.run, "review", decided="yes"))


def _tab(
    record: RunRecord, csrf: str, said: Markup | None = None, typed: Mapping[str, str] | None = None
) -> Markup:
    """`said` is what became of a form; `typed` is what its fields keep."""
    content: list[Child] = [said]
    if record.held is not None:
        content.append(decision_card(record.held, record.run, csrf, typed or {}))
    if not record.gradings:
        content.append(empty("There is no result to review.", "A run can be reviewed once it is graded."))
        return run_document(record, "review", content)
    content += _stored(record)
    content.append(_form(record, csrf, typed or {}))
    return run_document(record, "review", content)


def _stored(record: RunRecord) -> list[Child]:
    try:
        entries = review_record.list_annotations(record.folder)
    except OperatorFault as fault:
        return [notice(f"The annotations cannot be read: {fault}", "alarm")]
    status = review_state.review_status(entries)
    verdict = record.grading.get("verdict") or {}
    changed = queue.changed_paths(record.folder)
    reasons = _listed(lambda grading: queue.reasons_to_review(grading, changed=changed), record.grading)
    kinds = _listed(disagreement.kinds_of, verdict, status)
    summary = facts(
        [
            ("people say", badge(status.decision) if status.annotations else "nothing yet"),
            (
                "judgements",
                f"{plural(status.annotations, 'judgement')} by {plural(len({one.annotation.reviewer_id for one in entries}), 'person', 'people')}",
            ),
            ("time", "not measured" if status.minutes is None else f"{status.minutes:g} minutes"),
            ("disagreement", "; ".join(disagreement.KINDS.get(kind, kind) for kind in kinds) or "none"),
            (
                "worth a look because",
                "; ".join(cut(one, 200) for one in reasons) or "nothing asks for a person",
            ),
        ]
    )
    found: list[Child] = [card("What people said", summary)]
    if entries:
        found.append(
            table(
                ("number", "judgement", "person", "categories", "notes", "at"),
                [_row(one) for one in entries[-200:]],
                caption="Judgements, oldest first",
            )
        )
    return found


def _listed(function: Any, *arguments: Any) -> Sequence[str]:
    """What a rule says of a grading; a damaged grading says nothing."""
    try:
        return tuple(function(*arguments))
    except (LookupError, TypeError, AttributeError, ValueError):
        return ()


def _row(entry: Any) -> tuple[Child, ...]:
    said = entry.annotation
    who = said.reviewer_id + (f" ({said.reviewer_discipline})" if said.reviewer_discipline else "")
    kind = join(badge(said.judgment), " adjudication" if entry.kind == "adjudication" else "")
    return (
        str(entry.number),
        kind,
        cut(who, 100),
        cut(", ".join(said.categories), 300),
        tag("div", shorten_middle(said.notes or "", 2000), class_="notes"),
        moment(said.timestamp.isoformat()),
    )


def _form(record: RunRecord, csrf: str, typed: Mapping[str, str]) -> Markup:
    return card(
        "Add a judgement",
        tag(
            "form",
            tag("input", type="hidden", name="csrf", value=csrf),
            choice_field("Is the task done?", "judgment", _MEANINGS, typed),
            text_field("Your name", "by", typed, required=True, autocomplete="username"),
            text_field("Your discipline (optional)", "discipline", typed),
            text_field(
                "Categories, separated by commas (optional)",
                "categories",
                typed,
                placeholder="missing_test, wrong_file",
            ),
            long_text_field("Reason (optional)", "reason", typed, rows="5", maxlength=MOST_NOTES),
            text_field("Minutes that you spent (optional)", "minutes", typed, inputmode="decimal"),
            tag(
                "label",
                tag("input", type="checkbox", name="adjudicate", value="yes", checked="adjudicate" in typed),
                " This decides between reviewers who disagree",
            ),
            tag("button", "Add to the record"),
            method="post",
            action=url("run", record.run, "review"),
            class_="stack",
        ),
        tag(
            "p",
            "A judgement is kept beside the automated result, with your name and the time. It cannot be removed.",
            class_="dim",
        ),
    )


def save_review(record: RunRecord, request: Request) -> Response:
    """Append the judgement of the form. If it is wrong, the page says why above the form, which keeps what was typed."""
    from pydantic import ValidationError  # noqa: PLC0415

    form = request.form
    try:
        append = review_record.adjudicate if form.get("adjudicate") else review_record.annotate
        append(record.folder, _annotation(form), minutes=_minutes(form.get("minutes", "")))
    except ValidationError:
        return _refused(record, request, "choose pass, fail or defer, and write your name")
    except OperatorFault as fault:
        return _refused(record, request, str(fault).rstrip("."))
    return redirect(url("run", record.run, "review", saved="yes"))


def _refused(record: RunRecord, request: Request, why: str) -> Response:
    return page(_tab(record, request.csrf, notice(f"Not saved: {why}.", "alarm"), request.form), 400)


def _annotation(form: Mapping[str, str]) -> Any:
    return evaluation.Annotation.from_json(
        {
            "reviewer_id": form.get("by", "").strip(),
            "reviewer_discipline": form.get("discipline", "").strip() or None,
            "timestamp": datetime.now(UTC).isoformat(),
            "judgment": form.get("judgment", ""),
            "categories": [one.strip() for one in form.get("categories", "").split(",") if one.strip()],
            "notes": form.get("reason", "").replace("\r\n", "\n").strip() or None,
        }
    )


def _minutes(text: str) -> float | None:
    if not text.strip():
        return None
    try:
        return float(text.strip().replace(",", "."))
    except ValueError:
        raise OperatorFault(f"minutes is a number, not {cut(text, 40)}") from None

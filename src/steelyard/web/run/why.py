"""The Why tab: from the reward down to each grade, with links to the events, checks and files that it can be read from."""

from __future__ import annotations

from typing import Any

from steelyard.errors import DAMAGED, OperatorFault
from steelyard.report.explanation.explain import Node, explain_run
from steelyard.report.html.element import Child, Markup, join, tag, url
from steelyard.review import record as review_record
from steelyard.review import status as review_state
from steelyard.web.layout import card, empty, notice
from steelyard.web.run.header import run_document
from steelyard.web.run.record import RunRecord
from steelyard.web.words import STATES, badge, cut, sentence, shorten_middle

MOST_EVIDENCE, MOST_PARTS = 8, 200
OPEN_DEPTH = 3  # what follows from more than so many steps starts closed, unless it did not pass


def why_tab(record: RunRecord) -> Markup:
    if record.state != "finished":
        return run_document(
            record,
            "why",
            empty("There is nothing to explain.", "Only a graded run whose record holds has a verdict."),
        )
    try:
        found = explain_run(
            record.run, record.folder.path, record.grading, review=_review(record), show_hidden=True
        )
    except DAMAGED:
        return run_document(
            record, "why", notice("The grading cannot be explained: parts of it are missing.", "warning")
        )
    return run_document(
        record,
        "why",
        None
        if found.consistent
        else notice("These numbers do not follow from each other: see the Evidence tab.", "alarm"),
        card("What the reward follows from", _node(record, found.tree, 0), class_="tree"),
        card(
            "Beside it, without effect on the reward",
            [_node(record, node, 1) for node in found.beside],
            class_="tree",
        )
        if found.beside
        else None,
    )


def _review(record: RunRecord) -> dict[str, Any] | None:
    try:
        return review_state.review_status(review_record.list_annotations(record.folder)).to_json()
    except OperatorFault:
        return None  # the Review tab says what is wrong with the annotations


def _node(record: RunRecord, node: Node, depth: int) -> Markup:
    head: list[Child] = [tag("b", cut(node.what, 120)), " ", _value(node.value), " ", sentence(node.why, 600)]
    more: list[Child] = []
    if node.quote:
        more.append(tag("blockquote", shorten_middle(node.quote, 600)))
    if node.evidence:
        links = [join(pointer(record, one), " ") for one in node.evidence[:MOST_EVIDENCE]]
        left = len(node.evidence) - MOST_EVIDENCE
        more.append(tag("p", "evidence: ", links, f"and {left} more" if left > 0 else None, class_="dim"))
    if not node.parts:
        return tag("div", tag("p", head), more, class_="leaf")
    parts = [_node(record, part, depth + 1) for part in node.parts[:MOST_PARTS]]
    is_open = depth < OPEN_DEPTH or str(node.value) in ("fail", "error")
    return tag("details", tag("summary", head), more, tag("div", parts, class_="parts"), open=is_open)


def _value(value: Any) -> Child:
    if value is None:
        return None
    if isinstance(value, str) and value.lower() in STATES:
        return badge(value)
    return tag("code", f"{value:.4f}" if isinstance(value, float) else cut(str(value), 200))


def pointer(record: RunRecord, text: str) -> Markup:
    """A pointer of a grade -> a link to the event, the check or the file."""
    name, _, place = text.partition("#")
    first, _, rest = name.partition("/")
    if name == "events.jsonl" and place.isdecimal():
        return tag("a", f"event {place}", href=url("run", record.run, "event", place))
    if first == "checks" and rest:
        return tag(
            "a", cut(text, 120), href=f"{url('run', record.run, 'checks')}#{url(rest.split('/')[0])[1:]}"
        )
    if name in ("change.json", "patch.diff"):
        return tag("a", cut(text, 120), href=url("run", record.run, "diff"))
    if first in ("agent", "blobs", "gradings", "steps") or name in (
        "manifest.json",
        "findings.json",
        "report.json",
        "seal.json",
    ):
        return tag("a", cut(text, 120), href=url("run", record.run, "file", *name.split("/")))
    return tag("code", cut(text, 120))

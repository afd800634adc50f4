"""Grades -> the Scorers card: a row for each scorer, which opens to its detail and the end of its output."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import orjson

from steelyard.report.html.element import Child, Markup, join, tag
from steelyard.report.html.weight_plot import WeightedScore, weight_plot
from steelyard.report.one_run import check_output
from steelyard.report.terminal import counts_as
from steelyard.web.layout import card, empty, facts, table
from steelyard.web.run.header import run_document
from steelyard.web.run.record import RunRecord
from steelyard.web.run.why import pointer
from steelyard.web.words import badge, cut, number, sentence, shorten_middle

MOST_OUTPUT = 20_000
MOST_ROWS = 500
_WORDS = {"pass": "PASS", "fail": "FAIL", "error": "ERROR", "not_applicable": "N/A"}


def scorers_tab(record: RunRecord) -> Markup:
    content: Child = scorers_card(record)
    if not record.grades:
        content = empty("No scorer has graded this run.", "Scorers run when a run is graded.")
    elif content is None:
        content = empty(
            "An answer has no scorers.", "It is judged, or graded by a verifier; see the tabs Judge and Why."
        )
    return run_document(record, "scorers", content, _weights(record), _breakdown(record))


def _weights(record: RunRecord) -> Markup | None:
    """How much of the score comes from which scorer."""
    parts = [
        WeightedScore(cut(str(grade.get("name", "")), 80), float(weight), _score(grade))
        for grade in record.grades[:MOST_ROWS]
        if isinstance(weight := grade.get("weight"), int | float) and math.isfinite(weight)
    ]
    drawn = weight_plot(parts) if record.result.get("workspace") != "none" else None
    return card("What the score is made of", drawn) if drawn else None


def _score(grade: Mapping[str, Any]) -> float | None:
    score = grade.get("score")
    return float(score) if isinstance(score, int | float) and math.isfinite(score) else None


def scorers_card(record: RunRecord, *, is_short: bool = False) -> Markup | None:
    """Nothing for an answer without a workspace, and for a run without grades."""
    if not record.grades or record.result.get("workspace") == "none":
        return None
    overall = str(record.result.get("checks", "UNGRADED"))
    rows = [_row(record, grade, is_short=is_short) for grade in record.grades[:MOST_ROWS]]
    more = len(record.grades) - MOST_ROWS
    return card(
        join("Scorers ", badge(overall, label=f"OVERALL {overall}")),
        tag(
            "p",
            "mean score ",
            tag("b", number(record.result.get("mean_score"))),
            tag("span", " (unweighted, of the scores below, without the patch gate)", class_="dim"),
        ),
        tag("div", rows, class_="rows"),
        tag("p", f"and {more} more in {len(record.gradings)} grading files") if more > 0 else None,
        class_="scorers",
        id_="scorers",
    )


def _row(record: RunRecord, grade: Mapping[str, Any], *, is_short: bool) -> Markup:
    outcome = str(grade.get("outcome", ""))
    role = counts_as(grade)
    is_hard = role != "advisory" and outcome in ("fail", "error")
    head = tag(
        "summary",
        badge(outcome, label=_WORDS.get(outcome, outcome.upper())),
        tag(
            "span",
            tag("span", cut(str(grade.get("name", "")), 80), class_="name"),
            " ",
            tag("span", str(grade.get("type", "")), class_="dim type"),
            None if role == "required" else join(" ", tag("span", role, class_="chip")),
        ),
        tag("span", number(grade.get("score")), class_="score"),
    )
    return tag("details", head, _detail(record, grade, is_short=is_short), open=is_hard, class_="row")


def _detail(record: RunRecord, grade: Mapping[str, Any], *, is_short: bool) -> Markup:
    name = str(grade.get("name", ""))
    output = str(grade.get("output_tail") or "") or check_output(record.folder.path, name)
    data = grade.get("data")
    pairs: list[tuple[str, Child]] = [("why", sentence(str(grade.get("why", "")), 2000))]
    if not is_short:
        pairs += [
            ("gate", str(grade.get("under") or "none")),
            ("weight", number(grade.get("weight"))),
            ("evidence", _pointers(record, grade)),
        ]
        if data:
            shown = orjson.dumps(data, option=orjson.OPT_INDENT_2).decode()
            pairs.append(("data", tag("pre", shorten_middle(shown, 4000))))
    hidden = (
        tag("p", "This output may show hidden files; a result line leaves it out.", class_="dim")
        if grade.get("hidden")
        else None
    )
    return tag(
        "div",
        facts(pairs),
        join(
            tag("p", "output (end)", class_="label"),
            hidden,
            tag("pre", shorten_middle(output, 3000 if is_short else MOST_OUTPUT), tabindex="0"),
        )
        if output
        else None,
        class_="detail",
    )


def _pointers(record: RunRecord, grade: Mapping[str, Any]) -> Child:
    """Where the evidence of a grade is: a check, an event, a file of the record."""
    return [
        join(pointer(record, str(one)), " ") for one in (grade.get("pointers") or ())[:20]
    ] or "none recorded"


def _breakdown(record: RunRecord) -> Markup | None:
    parts = record.result.get("breakdown")
    if not isinstance(parts, dict) or not parts:
        return None
    rows = [(cut(str(name), 60), tag("code", _part(part))) for name, part in list(parts.items())[:200]]
    return card(
        "Dimensions of the verifier",
        table(("dimension", "value"), rows, caption="Dimensions of the verifier"),
    )


def _part(part: Any) -> str:
    return shorten_middle(part if isinstance(part, str) else orjson.dumps(part).decode(), 2000)

"""What models said of a run -> the Judge card: verdict, score tiles, fact checks, failure mode, reasoning, model, time.

Models repeat what an agent wrote, so their words are shown as text, and bounded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from steelyard.judge.judgement import RUBRIC
from steelyard.judge.saved_calibration import calibration_lines
from steelyard.report.html.element import Child, Markup, join, tag
from steelyard.report.plain import one_line
from steelyard.web.layout import card, empty, table
from steelyard.web.run.header import run_document
from steelyard.web.run.record import RunRecord
from steelyard.web.words import badge, count, cut, moment, shorten_middle

MOST_REASONING, MOST_FACTS = 20_000, 200


def judge_tab(record: RunRecord) -> Markup:
    found = judge_card(record)
    return run_document(
        record,
        "judge",
        found
        or empty(
            "No model was asked about this run.",
            join(
                "A judge reads the task, the trace and the diff; ",
                tag("code", "docs/judge.md"),
                " says how to ask one. Without a key the judge is not asked.",
            ),
        ),
    )


def judge_card(record: RunRecord, *, is_short: bool = False) -> Markup | None:
    judge = record.result.get("judge")
    if not isinstance(judge, dict):
        return None
    opinions = [one for one in judge.get("opinions") or () if isinstance(one, dict)]
    return card(
        join("Judge verdict ", badge(str(judge.get("verdict")))),
        tag("p", cut(str(judge.get("why", "")), 1000)),
        _flags(judge, opinions),
        _tiles(judge.get("scores") or {}),
        [
            tag("p", f"{note[:1].upper()}{note[1:]}.", class_="dim")
            for note in map(one_line, calibration_lines(record.folder.path.parent))
        ],
        [_opinion(opinion, is_short=is_short) for opinion in opinions[:20]],
        class_="judge",
        id_="judge",
    )


def _flags(judge: Mapping[str, Any], opinions: Sequence[Mapping[str, Any]]) -> Markup | None:
    said: list[Child] = []
    if mode := judge.get("failure_mode"):
        said.append(join("failure mode ", tag("b", cut(str(mode), 100))))
    if len(opinions) > 1:
        said.append(f"{len(opinions)} models were asked" + ("; they disagree" if judge.get("split") else ""))
    if judge.get("steered"):
        said.append(
            badge("violation", label="a model obeyed instructions in the evidence; its answer does not count")
        )
    return tag("ul", [tag("li", one) for one in said], class_="plain") if said else None


def _tiles(scores: Mapping[str, Any]) -> Markup | None:
    tiles = [
        tag(
            "div",
            tag("dt", name.replace("_", " ")),
            tag("dd", tag("b", f"{scores[name]:.1f}"), tag("span", " of 5", class_="dim")),
            class_="tile",
        )
        for name in RUBRIC
        if isinstance(scores.get(name), int | float)
    ]
    return tag("dl", tiles, class_="tiles") if tiles else None


def _opinion(opinion: Mapping[str, Any], *, is_short: bool) -> Markup:
    facts = [one for one in opinion.get("facts") or () if isinstance(one, dict)]
    tokens = f", {count(opinion.get('tokens_in'))} tokens in, {count(opinion.get('tokens_out'))} out"
    footprint = tag(
        "p",
        "scored by ",
        tag("b", cut(str(opinion.get("model", "")), 100)),
        " at ",
        tag("time", moment(str(opinion.get("at", "")))),
        tokens if opinion.get("tokens_in") is not None else None,
        " (from an earlier grading)" if opinion.get("reused") else None,
        class_="dim",
    )
    return tag(
        "article",
        tag("h3", badge(str(opinion.get("verdict"))), " ", cut(str(opinion.get("model", "")), 100)),
        tag("p", badge("violation", label="It obeyed instructions in the evidence, so it does not count."))
        if opinion.get("steered")
        else None,
        tag("p", cut(str(opinion["error"]), 2000), class_="notice warning") if opinion.get("error") else None,
        tag(
            "blockquote",
            shorten_middle(str(opinion.get("reasoning", "")), 2500 if is_short else MOST_REASONING),
        )
        if opinion.get("reasoning")
        else None,
        _facts(facts[: 5 if is_short else MOST_FACTS], len(facts)),
        footprint,
        class_="opinion",
    )


def _facts(facts: Sequence[Mapping[str, Any]], total: int) -> Markup | None:
    if not facts:
        return None
    rows = [
        (
            badge("supported" if fact.get("supported") else "not supported"),
            cut(str(fact.get("claim", "")), 600),
            cut(str(fact.get("evidence", "")), 300),
        )
        for fact in facts
    ]
    more = f", {len(facts)} of {total} shown" if total > len(facts) else ""
    return table(("fact check", "claim of the agent", "evidence"), rows, caption=f"Fact checks{more}")

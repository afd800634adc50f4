"""Outcomes of checks -> the Checks tab: each check, each test id, the controls, and the ends of the output."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from steelyard.errors import DAMAGED
from steelyard.evidence.folder.folder import CHECKS, OUTCOME
from steelyard.evidence.output_view import output_text
from steelyard.filesystem.plain_file import open_plain
from steelyard.report.html.element import Child, Markup, join, tag, url
from steelyard.report.one_run import CHANGED
from steelyard.web.layout import card, empty, facts, notice, table
from steelyard.web.message import Request
from steelyard.web.run.header import run_document
from steelyard.web.run.record import RunRecord
from steelyard.web.words import badge, count, cut, plural, seconds, sentence, shorten_middle

MOST_OUTCOME_BYTES = 64 << 20
MOST_TESTS = 500
MOST_OUTPUT = 12_000
_ORDER = {"failed": 0, "error": 1}


def checks_tab(record: RunRecord, request: Request) -> Markup:
    only = request.query.get("only", "")
    outcomes = read_outcomes(record)
    # What failed is read first.
    ordered = sorted(outcomes.items(), key=lambda item: item[1].get("outcome") == "pass")
    content: list[Child] = [_card(record, name, outcome, only) for name, outcome in ordered]
    if not content:
        content = [
            empty(
                "This run has no check.",
                "A run that ended before its checks, or whose contract has none, shows nothing here.",
            )
        ]
    return run_document(record, "checks", content)


def read_outcomes(record: RunRecord) -> dict[str, dict[str, Any]]:
    """Check -> its outcome, in the order of the grades; one that cannot be read has only its problem."""
    found: dict[str, dict[str, Any]] = {}
    try:
        names = sorted(path.name for path in record.folder.file(CHECKS).iterdir())
    except OSError:
        return {}
    order = {str(grade.get("name")): at for at, grade in enumerate(record.grades)}
    for name in sorted(names, key=lambda one: (order.get(one, len(order)), one)):
        try:
            with open_plain(record.folder.file(f"{CHECKS}/{name}/{OUTCOME}")) as file:
                outcome = orjson.loads(file.read(MOST_OUTCOME_BYTES))
            found[name] = outcome if isinstance(outcome, dict) else {"why": "its outcome is no JSON object"}
        except FileNotFoundError:
            continue
        except DAMAGED:
            found[name] = {"outcome": "error", "why": "its outcome cannot be read"}
    return found


def _card(record: RunRecord, name: str, outcome: Mapping[str, Any], only: str) -> Markup:
    exit_code = outcome.get("exit")
    runs = [str(one) for one in outcome.get("runs") or ()]
    pairs: list[tuple[str, Child]] = [
        ("why", sentence(str(outcome.get("why", "")), 2000)),
        ("command", tag("code", cut(_command(outcome), 1000))),
        ("exit", "none" if exit_code is None else str(exit_code)),
        ("time", f"{seconds(outcome.get('observed_s'))} of at most {seconds(outcome.get('ceiling_s'))}"),
        ("tests run in", _ORACLES.get(str(outcome.get("oracle")), str(outcome.get("oracle")))),
    ]
    if len(runs) > 1:
        pairs.append(("executions", [join(badge(one), " ") for one in runs[:50]]))
    return card(
        join(
            badge(str(outcome.get("outcome", "error"))),
            " ",
            name,
            " ",
            tag("span", str(outcome.get("under", "")), class_="chip"),
        ),
        facts(pairs),
        [notice(sentence(str(note), 1000), "warning") for note in outcome.get("notes") or ()],
        _controls(outcome.get("controls")),
        _tests(record, name, outcome.get("reported"), only),
        tag("p", CHANGED.strip("[]"), class_="dim") if outcome.get("oracle") == "twin" else None,
        [_stream(stream, outcome.get(stream)) for stream in ("stdout", "stderr")],
        id_=name,
    )


_ORACLES = {
    "in_process": "the same process as the tested code, which could fake the results",
    "twin": "the same process, with controls that look for faked results",
    "split": "another sandbox than the tested code",
}


def _command(outcome: Mapping[str, Any]) -> str:
    argv = [str(one) for one in outcome.get("argv") or ()]
    return argv[2] if len(argv) == 3 and argv[:2] == ["/bin/sh", "-c"] else " ".join(argv)


def _share(value: Any, of: str) -> str:
    return f"{value:.0%} {of}" if isinstance(value, int | float) else "not known"


def _controls(controls: Any) -> Markup | None:
    if not isinstance(controls, dict):
        return None
    wrong = [str(one) for one in controls.get("wrong") or ()]
    chance = controls.get("chance")
    pairs: list[tuple[str, Child]] = [
        (
            "changed tests",
            f"{count(controls.get('counted'))} had to fail of {count(controls.get('changed'))} changed",
        ),
        ("coverage", _share(controls.get("coverage"), "of the passed tests")),
        ("chance of a guess", "not known" if not isinstance(chance, int | float) else f"{chance:.2g}"),
        ("passed although changed", ", ".join(wrong[:20]) or "none"),
    ]
    pairs += [(name, cut(str(controls[name]), 1000)) for name in ("problem", "weak") if controls.get(name)]
    return tag("section", tag("h3", badge("fail" if wrong else "pass", label="Controls")), facts(pairs))


def _tests(record: RunRecord, name: str, reported: Any, only: str) -> Markup | None:
    if not isinstance(reported, dict):
        return None
    rows = [row for row in reported.get("results") or () if isinstance(row, list) and len(row) >= 2]
    counts = reported.get("counts") or {}
    address = [
        join(
            tag(
                "a",
                f"{word} {amount:,}",
                href=url("run", record.run, "checks", only=word) + f"#{name}",
                aria_current="true" if only == word else None,
            ),
            " ",
        )
        for word, amount in counts.items()
        if isinstance(amount, int)
    ]
    chosen = [row for row in rows if not only or row[1] == only]
    chosen.sort(key=lambda row: _ORDER.get(str(row[1]), 2))
    shown = [
        (
            badge(str(row[1])),
            tag("code", cut(str(row[0]), 300)),
            cut(str(row[2]) if len(row) > 2 else "", 600),
        )
        for row in chosen[:MOST_TESTS]
    ]
    more = f" ({MOST_TESTS} of {len(chosen):,} shown; the file has all)" if len(chosen) > MOST_TESTS else ""
    problems = [
        notice(cut(str(one), 600), "warning")
        for one in (*(reported.get("problems") or ()), *(reported.get("tampering") or ()))
    ]
    return tag(
        "section",
        tag("h3", f"{plural(len(rows), 'test')} reported by {reported.get('runner', 'its runner')}"),
        tag("p", "show ", tag("a", "all", href=url("run", record.run, "checks") + f"#{name}"), " ", address),
        problems,
        table(("outcome", "test", "message"), shown, caption=f"Tests of {name}{more}")
        if shown
        else tag("p", "None."),
    )


def _stream(name: str, stream: Any) -> Markup | None:
    try:
        text = output_text(stream)
    except DAMAGED:
        return None
    if not text.strip():
        return None
    return tag(
        "details",
        tag("summary", f"{name}, {count(stream.get('bytes'))} bytes"),
        tag("pre", shorten_middle(text, MOST_OUTPUT), tabindex="0"),
    )

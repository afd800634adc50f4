"""The log of a run -> the Agent Trace tab: cards of scorers and judge, and a timeline that is read page by page.

    /run/RUN                      the first page of the timeline as HTML; ?at=N is another, ?kind=tool&q=text filters
    /run/RUN/events.json          {"total", "shown", "from", "rows": [[seq, seconds, kind, type, actor, words], ...]}
    /run/RUN/event/SEQ            one event, and its raw JSON
    /run/RUN/chain.json           whether the whole chain holds

With JavaScript the list is virtual: the browser holds the rows that are in view and asks for others as it scrolls.
"""

from __future__ import annotations

from typing import Any

import orjson

from steelyard.errors import DAMAGED
from steelyard.evidence.folder.folder import EVENTS
from steelyard.evidence.folder.seal import Break, read_seal
from steelyard.evidence.trace.chain import ChainBreak, measure_chain, verify_chain
from steelyard.report.html.element import Child, Markup, join, tag, url, visible
from steelyard.web.layout import card, digest, empty, facts
from steelyard.web.message import NotThere, Request, Response, json_answer
from steelyard.web.run.event_index import KINDS, EventIndex, EventIndexes, kind_of
from steelyard.web.run.event_words import event_words
from steelyard.web.run.header import run_document
from steelyard.web.run.judge import judge_card
from steelyard.web.run.record import RunRecord
from steelyard.web.run.scorers import scorers_card
from steelyard.web.words import moment, plural, shorten_middle

PAGE = 200
MOST_ROWS = 1000  # of one answer
MOST_RAW = 400_000  # characters of one event on a page
MOST_QUERY = 200


def trace_tab(record: RunRecord, indexes: EventIndexes, request: Request) -> Markup:
    index = indexes.of(record.folder.file(EVENTS))
    aside = [scorers_card(record, is_short=True), judge_card(record, is_short=True)]
    return run_document(
        record,
        "",
        tag(
            "div",
            tag("div", *aside, class_="side") if any(aside) else None,
            _timeline(record, index, request),
            class_="trace" if any(aside) else "trace alone",
        ),
        scripts=("timeline.js",),
    )


def _filter(request: Request) -> tuple[list[str], str]:
    return [kind for kind in request.values("kind") if kind in KINDS], request.query.get("q", "")[:MOST_QUERY]


def _timeline(record: RunRecord, index: EventIndex, request: Request) -> Markup:
    if not len(index):
        return card("Timeline", empty("No event is recorded.", "The log of this run is missing or empty."))
    kinds, text = _filter(request)
    chosen = index.select(kinds, text)
    first = min(request.number("at", 1, 1), max(1, len(chosen)))
    rows = _rows(index, chosen, first - 1, PAGE)
    return card(
        join("Timeline ", tag("span", plural(len(index), "event"), class_="dim")),
        _controls(record, index, kinds, text),
        _chain_line(record),
        tag("p", f"{len(chosen):,} of {len(index):,} events match.", class_="dim", id="matches")
        if kinds or text
        else tag("p", id="matches", class_="dim"),
        tag(
            "div",
            tag("ol", [_row(record, row) for row in rows], start=str(first)),
            id="timeline",
            class_="timeline",
            tabindex="0",
            role="region",
            aria_label="Events of this run",
            data_source=url("run", record.run, "events.json"),
            data_event=url("run", record.run, "event"),
            data_total=len(chosen),
            data_first=first,
        ),
        _pager(record, request, first, len(chosen)),
        tag("div", id="event", aria_live="polite"),
        class_="events",
    )


def _controls(record: RunRecord, index: EventIndex, kinds: list[str], text: str) -> Markup:
    counts = index.counts()
    boxes = [
        tag(
            "label",
            tag("input", type="checkbox", name="kind", value=kind, checked=kind in kinds),
            tag("span", class_=f"dot {kind}", aria_hidden="true"),
            f"{name} ",
            tag("span", f"{counts[kind]:,}", class_="dim"),
        )
        for kind, (name, _starts) in KINDS.items()
        if counts[kind]
    ]
    return tag(
        "form",
        tag("fieldset", tag("legend", "Kinds of events"), boxes, class_="kinds"),
        tag(
            "label",
            "Search ",
            tag(
                "input",
                type="search",
                name="q",
                value=text,
                maxlength=MOST_QUERY,
                placeholder="text in an event",
            ),
        ),
        tag(
            "label",
            "Go to event ",
            tag("input", type="number", name="at", min="1", max=max(1, len(index)), id="jump"),
        ),
        tag("button", "Show"),
        method="get",
        action=url("run", record.run),
        id="filter",
        class_="filter",
    )


def _chain_line(record: RunRecord) -> Markup:
    return tag(
        "p",
        "Chain: ",
        tag(
            "span",
            "not verified yet; ",
            tag("a", "verify the whole record", href=url("run", record.run, "evidence")),
            id="chain",
            data_source=url("run", record.run, "chain.json"),
        ),
    )


def _pager(record: RunRecord, request: Request, first: int, total: int) -> Markup | None:
    if total <= PAGE:
        return None
    kinds, text = _filter(request)
    links = []
    for name, at in (
        ("First", 1),
        ("Previous", first - PAGE),
        ("Next", first + PAGE),
        ("Last", (total - 1) // PAGE * PAGE + 1),
    ):
        if 1 <= at <= total and at != first:
            links.append(join(tag("a", name, href=url("run", record.run, at=at, kind=kinds, q=text)), " "))
    return tag(
        "nav",
        f"Events {first:,} to {min(first + PAGE - 1, total):,} of {total:,}. ",
        links,
        class_="pager",
        id="pager",
        aria_label="Pages of the timeline",
    )


Row = tuple[int, float, str, str, str, str]


def _rows(index: EventIndex, chosen: Any, start: int, most: int) -> list[Row]:
    return [_words(event) for event in index.read(chosen[start : start + most])]


def _words(event: dict[str, Any]) -> Row:
    t, type_ = event.get("t"), str(event.get("type", "other"))
    seconds = round(t / 1e9, 3) if isinstance(t, int) else 0.0
    return (
        _integer(event.get("seq")),
        seconds,
        kind_of(type_),
        type_,
        str(event.get("actor", ""))[:20],
        event_words(event),
    )


def _integer(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def _row(record: RunRecord, row: Row) -> Markup:
    seq, seconds, kind, type_, _actor, words = row
    return tag(
        "li",
        tag(
            "a",
            tag("span", str(seq), class_="seq"),
            tag("span", f"{seconds:.3f} s", class_="time"),
            tag("span", tag("span", class_=f"dot {kind}", aria_hidden="true"), type_, class_="type"),
            tag("span", words, class_="words"),
            href=url("run", record.run, "event", str(seq)),
        ),
        value=str(seq),
    )


def events_json(record: RunRecord, indexes: EventIndexes, request: Request) -> Response:
    """Some rows of the timeline; `from` counts the chosen events from 0. With `seq`, the place of that event is `at`."""
    index = indexes.of(record.folder.file(EVENTS))
    kinds, text = _filter(request)
    chosen = index.select(kinds, text)
    start = request.number("from", 0)
    answer: dict[str, Any] = {"total": len(index), "shown": len(chosen), "from": start}
    if wanted := request.number("seq", 0):
        answer["at"] = _place(chosen, wanted - 1)
    answer["rows"] = [
        [seq, seconds, kind, type_, actor, _visible(words)]
        for seq, seconds, kind, type_, actor, words in _rows(
            index, chosen, start, request.number("count", PAGE, 1, MOST_ROWS)
        )
    ]
    return json_answer(answer)


def _visible(words: str) -> str:
    """The words are one line already: control and bidi characters are escapes; a lone surrogate is no JSON."""
    return words.encode("utf-8", "replace").decode()


def _place(chosen: Any, position: int) -> int:
    """The first chosen event at or after `position`."""
    low, high = 0, len(chosen)
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if chosen[middle] < position else (low, middle)
    return min(low, max(0, len(chosen) - 1))


def chain_json(record: RunRecord) -> Response:
    return json_answer(chain_status(record))


def chain_status(record: RunRecord) -> dict[str, Any]:
    """Whether every line of the log continues the one before it, and ends as the seal says."""
    seal = read_seal(record.folder) if record.folder.state == "sealed" else None
    if isinstance(seal, Break):
        return {"holds": False, "words": f"the seal does not hold: {seal}"}
    if seal is None:
        chain = measure_chain(record.folder.events)
        if isinstance(chain, ChainBreak):
            is_cut = record.state == "running" and chain.why.startswith("truncated")
            return {"holds": is_cut, "words": "the log is being written" if is_cut else str(chain)}
        return {"holds": True, "words": f"{plural(chain.length, 'event')}, unbroken so far; not sealed yet"}
    try:
        broken = verify_chain(record.folder.events, seal["head"], seal["events"])
    except DAMAGED:
        return {"holds": False, "words": "the seal cannot be read"}
    if broken:
        return {"holds": False, "words": str(broken)}
    return {
        "holds": True,
        "words": f"{plural(seal['events'], 'event')}, unbroken, and the last hash is the sealed one",
    }


def event_page(record: RunRecord, indexes: EventIndexes, request: Request) -> Markup:
    """One event with its neighbours and its stored bytes."""
    index = indexes.of(record.folder.file(EVENTS))
    position = _position(index, request)
    (event,) = index.read([position])
    seq = position + 1
    links: list[Child] = [
        join(tag("a", name, href=url("run", record.run, "event", str(at))), " ")
        for name, at in (("Previous", seq - 1), ("Next", seq + 1))
        if 1 <= at <= len(index)
    ]
    links.append(tag("a", "Timeline from here", href=url("run", record.run, at=seq)))
    return run_document(
        record,
        "",
        card(
            join(f"Event {seq:,} ", tag("span", str(event.get("type", "")), class_="chip")),
            tag("nav", links, aria_label="Neighbours of this event", class_="pager"),
            facts(
                [
                    ("what", event_words(event) or "no details"),
                    ("by", str(event.get("actor", ""))),
                    (
                        "at",
                        f"{moment(str(event.get('at', '')))} UTC, {_integer(event.get('t')) / 1e9:.3f} s after the start",
                    ),
                    ("hash", digest(str(event.get("hash", "")))),
                    ("continues", digest(str(event.get("prev", "")))),
                ]
            ),
            tag("h3", "Raw JSON"),
            tag("pre", shorten_middle(raw_text(event), MOST_RAW), tabindex="0", id="raw"),
        ),
    )


def _position(index: EventIndex, request: Request) -> int:
    seq = request.parts.get("seq", "")
    if not (seq.isascii() and seq.isdecimal() and len(seq) < 12 and 1 <= int(seq) <= len(index)):
        raise NotThere("This run has no such event.")
    return int(seq) - 1


def event_json(record: RunRecord, indexes: EventIndexes, request: Request) -> Response:
    """One event as text for the page: bounded, and with what misleads written as escapes."""
    index = indexes.of(record.folder.file(EVENTS))
    position = _position(index, request)
    (event,) = index.read([position])
    raw = shorten_middle(visible(raw_text(event)), MOST_RAW).encode("utf-8", "replace").decode()
    answer = {"seq": position + 1, "type": str(event.get("type", "")), "raw": raw}
    return json_answer(answer)


def raw_text(event: dict[str, Any]) -> str:
    return orjson.dumps(event, option=orjson.OPT_INDENT_2).decode()

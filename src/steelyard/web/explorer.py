"""The Data Explorer: all runs of a store, filtered, sorted and paged by the index.

    /?q=discount&verdict=fail&verdict=error&judge=PASS&sort=cost_usd&order=desc&page=2

The address is the view: it can be kept as a bookmark and sent to others. `/export` has the same parameters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from steelyard.report.html.element import Child, Markup, join, tag, url
from steelyard.report.judge_card import run_word
from steelyard.report.plain import one_line
from steelyard.report.result import VERDICTS
from steelyard.store.entry import ALTERED, INTERRUPTED, NOT_GRADED, PAUSED, RUNNING, Entry
from steelyard.store.query import SORTS, Query
from steelyard.web.layout import document, empty, notice
from steelyard.web.message import Request
from steelyard.web.records import Records
from steelyard.web.words import NONE, badge, cut, money, number, plural, seconds, short_run

STATES = (*VERDICTS, RUNNING, PAUSED, INTERRUPTED, NOT_GRADED, ALTERED)
JUDGES = ("PASS", "FAIL", "UNPARSEABLE", "N/A", "")
PER_PAGE, MOST_PER_PAGE = 50, 500
MOST_CHOICES = 300
_TEXTS = ("q", "contract", "agent", "tag", "study", "since", "until")
# Name -> column of the index; a column without one cannot be sorted by.
COLUMNS: tuple[tuple[str, str], ...] = (
    ("Verdict", "state"),
    ("Run", "started"),
    ("Contract", "contract"),
    ("Agent", "agent"),
    ("Judge verdict", "judge"),
    ("Run badge", ""),
    ("Score", "score"),
    ("Reward", "reward"),
    ("Cost", "cost_usd"),
    ("Time", "wall_s"),
    ("Why", ""),
)
_NUMERIC = frozenset({"Score", "Reward", "Cost", "Time"})
VIEWS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("All", {}),
    ("Running", {"verdict": ["running"]}),
    ("Waiting for an operator", {"verdict": ["paused"]}),
    ("Failed", {"verdict": ["fail"]}),
    ("Without a decision", {"verdict": ["error", "invalid", "ungraded", "interrupted", "not graded"]}),
    ("Judge FAIL, checks pass", {"verdict": ["pass"], "judge": ["FAIL"]}),
    ("Judge PASS, checks fail", {"verdict": ["fail"], "judge": ["PASS"]}),
    ("Altered", {"verdict": ["altered"]}),
    ("Most expensive", {"sort": "cost_usd", "order": "desc"}),
)


def view_of_request(request: Request) -> dict[str, Any]:
    """The view of an address: only parameters that the explorer knows, so that each link can repeat them."""
    found: dict[str, Any] = {name: request.query[name][:200] for name in _TEXTS if request.query.get(name)}
    verdicts = [word for word in dict.fromkeys(request.values("verdict")) if word in STATES]
    judges = [
        word for word in dict.fromkeys(request.values("judge")) if (word if word != "none" else "") in JUDGES
    ]
    if verdicts:
        found["verdict"] = verdicts
    if judges:
        found["judge"] = judges
    if request.query.get("sort") in SORTS:
        found["sort"] = request.query["sort"]
    if request.query.get("order") in ("asc", "desc"):
        found["order"] = request.query["order"]
    return found


def query_of(view: Mapping[str, Any]) -> Query:
    """Names without a pattern are found as part of a name, as a person who types three letters expects."""
    return Query(
        contract=_pattern(view.get("contract")),
        agent=_pattern(view.get("agent")),
        verdicts=tuple(view.get("verdict", ())),
        judge=tuple("" if word == "none" else word for word in view.get("judge", ())),
        search=str(view.get("q", "")),
        tag=view.get("tag"),
        study=view.get("study"),
        since=_day(view.get("since")),
        until=_day(view.get("until")),
        sort=view.get("sort", "started"),
        descending=view.get("order", "desc" if view.get("sort", "started") == "started" else "asc") == "desc",
    )


def _pattern(text: str | None) -> str | None:
    return text or None


def _day(text: str | None) -> datetime | None:
    try:
        found = datetime.fromisoformat(text or "")
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def explorer_page(records: Records, request: Request) -> Markup:
    view = view_of_request(request)
    query = query_of(view)
    total = records.count(query)
    per_page = request.number("per", PER_PAGE, 1, MOST_PER_PAGE)
    last = max(1, -(-total // per_page))
    number_ = request.number("page", 1, 1, last)
    rows = records.query(replace(query, limit=per_page, offset=(number_ - 1) * per_page), lines=True)
    known = sum(int(row["runs"]) for row in records.tally(("state",)))
    return document(
        "Runs",
        tag("h1", "Runs"),
        _notices(records),
        _views(view),
        tag(
            "div",
            _filter(records, view),
            _run_table(records, view, rows, (total, known, number_, last, per_page)),
            class_="explorer",
        ),
        section="Runs",
        scripts=("explorer.js",),
    )


def _notices(records: Records) -> Markup:
    return join(
        notice(f"{records.progress} Reload this page to see more.") if records.progress else None,
        notice(f"The index could not be brought up to date: {one_line(records.fault)}", "warning")
        if records.fault
        else None,
    )


def _views(view: Mapping[str, Any]) -> Markup:
    links = [
        tag(
            "a",
            name,
            href=url(**parameters),
            aria_current="true" if parameters == dict(view) else None,
            class_="chip",
        )
        for name, parameters in VIEWS
    ]
    return tag("nav", links, class_="views", aria_label="Views")


def _filter(records: Records, view: Mapping[str, Any]) -> Markup:
    counts = {str(row["state"]): int(row["runs"]) for row in records.tally(("state",))}
    judges = {str(row["judge"] or ""): int(row["runs"]) for row in records.tally(("judge",))}
    verdicts = [
        _box("verdict", word, word, counts.get(word, 0), view)
        for word in STATES
        if counts.get(word) or word in view.get("verdict", ())
    ]
    judged = [
        _box("judge", word or "none", word or "not asked", judges.get(word, 0), view)
        for word in JUDGES
        if judges.get(word) or word in view.get("judge", ())
    ]
    return tag(
        "form",
        _text("Search", "q", view, type_="search", placeholder="name or tag", id="search"),
        tag("fieldset", tag("legend", "Verdict"), verdicts) if verdicts else None,
        tag("fieldset", tag("legend", "Judge verdict"), judged) if judged else None,
        tag(
            "details",
            tag("summary", "More filters"),
            tag("div", _more_fields(records, view), class_="stack"),
            open=any(name in view for name in _MORE),
        ),
        tag("input", type="hidden", name="order", value=str(view["order"])) if "order" in view else None,
        tag("p", tag("button", "Show"), " ", tag("a", "Clear", href="/"), class_="submit"),
        method="get",
        action="/",
        class_="side-filter stack",
        id="filter",
    )


_MORE = ("contract", "agent", "tag", "study", "since", "until", "sort")


def _more_fields(records: Records, view: Mapping[str, Any]) -> list[Markup]:
    return [
        _text("Contract", "contract", view, list="contracts", placeholder="name or pattern*"),
        _choices("contracts", records, "contract"),
        _text("Agent", "agent", view, list="agents", placeholder="name or pattern*"),
        _choices("agents", records, "agent"),
        _text("Tag", "tag", view, placeholder="name or pattern*"),
        _text("Study", "study", view, list="studies"),
        _choices("studies", records, "study_name"),
        _text("Started from", "since", view, type_="date"),
        _text("Started before", "until", view, type_="date"),
        tag("label", "Sort by", tag("select", _orders(view), name="sort")),
    ]


def _orders(view: Mapping[str, Any]) -> list[Markup]:
    """Columns to sort by; on a narrow screen the table has no head to choose one in."""
    names = [(column, name) for name, column in COLUMNS if column not in ("", "started")]
    return [
        tag("option", name, value=column, selected=view.get("sort", "") == column)
        for column, name in (("", "Newest first"), *names)
    ]


def _box(name: str, value: str, label: str, amount: int, view: Mapping[str, Any]) -> Markup:
    return tag(
        "label",
        tag("input", type="checkbox", name=name, value=value, checked=value in view.get(name, ())),
        badge(label),
        tag("span", f"{amount:,}", class_="dim"),
    )


def _text(label: str, name: str, view: Mapping[str, Any], type_: str = "text", **attributes: Any) -> Markup:
    return tag(
        "label",
        label,
        tag("input", type=type_, name=name, value=str(view.get(name, "")), maxlength="200", **attributes),
    )


def _choices(name: str, records: Records, column: str) -> Markup:
    found = sorted(records.tally((column,)), key=lambda row: -int(row["runs"]))[:MOST_CHOICES]
    return tag("datalist", [tag("option", value=str(row[column])) for row in found if row[column]], id=name)


def _run_table(
    records: Records, view: Mapping[str, Any], rows: Sequence[Entry], numbers: tuple[int, int, int, int, int]
) -> Markup:
    total, known, page_number, last, per_page = numbers
    if not known:
        return empty(
            "There are no runs here yet.",
            join(
                tag("code", str(records.root)),
                " has none. ",
                tag("code", "steelyard demo"),
                " makes some in a minute; ",
                tag("code", "steelyard run"),
                " runs your agent.",
            ),
        )
    if not rows:
        return empty(
            "No run matches.", join("Change the filter, or ", tag("a", "show all runs", href="/"), ".")
        )
    first = (page_number - 1) * per_page + 1
    head = tag(
        "div",
        tag(
            "p",
            f"{first:,} to {first + len(rows) - 1:,} of {plural(total, 'run')}",
            f" that match, of {known:,}" if total != known else None,
        ),
        tag(
            "p",
            "Export: ",
            tag("a", "JSON lines", href=url("export", **view, format="jsonl")),
            " ",
            tag("a", "CSV", href=url("export", **view, format="csv")),
        ),
        class_="split-line",
    )
    body = tag(
        "form",
        runs_table(rows, view),
        tag("p", tag("button", "Compare the chosen runs"), " ", tag("span", "Choose two.", class_="dim")),
        method="get",
        action="/compare",
    )
    return tag("div", head, body, _pager(view, page_number, last, per_page), class_="results")


def runs_table(rows: Sequence[Entry], view: Mapping[str, Any] | None = None) -> Markup:
    """With a `view`, runs can be chosen and sorted."""
    head = [_heading(name, column, view) for name, column in COLUMNS]
    if view is not None:
        head.insert(0, tag("th", tag("span", "Choose", class_="hidden"), scope="col"))
    inner = tag(
        "table",
        tag("caption", "Runs", class_="hidden"),
        tag("thead", tag("tr", head)),
        tag("tbody", [_row(row, is_choice=view is not None) for row in rows]),
        class_="runs",
    )
    return tag("div", inner, class_="scroll", tabindex="0", role="region", aria_label="Runs that match")


def _heading(name: str, column: str, view: Mapping[str, Any] | None) -> Markup:
    class_ = "num" if name in _NUMERIC else None
    if not column or view is None:
        return tag("th", name, scope="col", class_=class_)
    query = query_of(view)
    is_sorted = query.sort == column
    order = "asc" if is_sorted and query.descending else "desc"
    mark = tag("span", " ▼" if query.descending else " ▲", aria_hidden="true") if is_sorted else None
    link = tag("a", name, mark, href=url(**{**view, "sort": column, "order": order}))
    said = ("descending" if query.descending else "ascending") if is_sorted else None
    return tag("th", link, scope="col", class_=class_, aria_sort=said)


def _row(entry: Entry, *, is_choice: bool) -> Markup:
    started = "" if entry.started is None else f"{entry.started:%Y-%m-%d %H:%M}"
    box = tag("input", type="checkbox", name="run", value=entry.run, aria_label=f"Choose {entry.run}")
    name = tag("a", short_run(entry.run), href=url("run", entry.run), title=entry.run)
    why = _why(entry, entry.line or {})
    # The third member is the name that a value has on a narrow screen, where the table has no head.
    cells: list[tuple[Child, str | None, str | None]] = [
        *([(box, None, None)] if is_choice else []),
        (badge(entry.state), None, None),
        (join(name, tag("span", started, class_="when")), "nowrap", None),
        (tag("a", cut(entry.contract, 60), href=url("contract", entry.contract)), "name", None),
        (tag("a", cut(entry.agent, 60), href=url("agent", entry.agent)), "name", None),
        (badge(entry.judge) if entry.judge else tag("span", "not asked", class_="dim"), "nowrap", "judge"),
        (_badge(entry.line), "nowrap", "run"),
        (number(entry.score), "num", "score"),
        (number(entry.reward), "num", "reward"),
        (money(entry.cost_usd), "num", "cost"),
        (seconds(entry.wall_s), "num", "time"),
        (tag("span", why, title=None if why == NONE else why), "why", None),
    ]
    return tag("tr", [tag("td", cell, class_=class_, data_label=label) for cell, class_, label in cells])


def _badge(line: Mapping[str, Any] | None) -> Child:
    """Whether the run itself ended normally; nothing of one without a result."""
    return NONE if line is None else badge(run_word(line))


def _why(entry: Entry, line: Mapping[str, Any]) -> str:
    """The reason of a verdict that is no pass."""
    if entry.state == "pass":
        return NONE
    reason, rationale = (one_line(str(line.get(name) or "")) for name in ("reason", "rationale"))
    is_stop = line.get("termination") not in (None, "completed", "infrastructure")
    if is_stop and rationale and rationale not in reason:
        reason = f"{reason}: {rationale}" if reason else rationale
    return cut(reason, 200) or entry.phase or NONE


def _pager(view: Mapping[str, Any], page_number: int, last: int, per_page: int) -> Markup | None:
    if last <= 1:
        return None
    per = {} if per_page == PER_PAGE else {"per": per_page}
    links = [
        join(tag("a", name, href=url(**view, **per, page=at), rel=rel), " ")
        for name, at, rel in (
            ("First", 1, None),
            ("Previous", page_number - 1, "prev"),
            ("Next", page_number + 1, "next"),
            ("Last", last, None),
        )
        if 1 <= at <= last and at != page_number
    ]
    return tag("nav", f"Page {page_number:,} of {last:,}. ", links, class_="pager", aria_label="Pages")

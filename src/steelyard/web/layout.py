"""A title and its content -> a whole page: head, navigation, main part."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from steelyard import __version__
from steelyard.report.html.element import Child, Markup, join, tag, url
from steelyard.web.words import short_run

NAVIGATION = (
    ("Runs", "/"),
    ("Contracts", "/contracts"),
    ("Agents", "/agents"),
    ("Studies", "/studies"),
    ("Compare", "/compare"),
)
KEYS = (
    (("?",), "show or hide this list"),
    (("/",), "go to the search field"),
    (("j", "k"), "next and previous run of a table, or event of a timeline"),
    (("Enter",), "open it"),
    (("x",), "choose the run, to compare it"),
    (("n", "p"), "next and previous page of runs"),
    (("h", "l"), "previous and next part of a run"),
)


class Tab(NamedTuple):
    name: str
    href: str
    is_current: bool
    note: str = ""  # a count, beside the name


def document(
    title: str,
    *content: Child,
    section: str = "",
    scripts: Sequence[str] = (),
    crumbs: Sequence[tuple[str, str]] = (),
) -> Markup:
    """`section` is the entry of the navigation that this page belongs to; `crumbs` are the pages above it."""
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", f"{title} · Steelyard"),
        tag("link", rel="stylesheet", href="/static/style.css"),
        tag("link", rel="icon", href="/static/icon.svg"),
        [tag("script", src=f"/static/{script}", defer=True) for script in ("keys.js", *scripts)],
    )
    body = tag(
        "body",
        tag("a", "Skip to the content", href="#content", class_="skip"),
        _header(section),
        tag("main", _crumbs(crumbs), content, id="content", tabindex="-1"),
        tag(
            "footer",
            f"Steelyard {__version__}. This page is made on this machine from the records on its disk.",
            _keys(),
        ),
    )
    return Markup(f'<!doctype html>\n<html lang="en">{head}{body}</html>\n')


def _header(section: str) -> Markup:
    links = [
        tag("li", tag("a", name, href=href, aria_current="page" if name == section else None))
        for name, href in NAVIGATION
    ]
    return tag(
        "header",
        tag("a", "Steelyard", href="/", class_="brand"),
        tag("nav", tag("ul", links), aria_label="Sections"),
        class_="site",
    )


def _keys() -> Markup:
    """What can be done without a mouse; `?` opens it."""
    rows = [
        join(tag("dt", [join(tag("kbd", key), " ") for key in keys]), tag("dd", what)) for keys, what in KEYS
    ]
    return tag("details", tag("summary", "Keys"), tag("dl", rows, class_="facts"), class_="keys", id="keys")


def _crumbs(crumbs: Sequence[tuple[str, str]]) -> Markup | None:
    if not crumbs:
        return None
    return tag(
        "nav",
        tag("ol", [tag("li", tag("a", name, href=href)) for name, href in crumbs]),
        aria_label="Path",
        class_="crumbs",
    )


def tab_bar(tabs: Sequence[Tab], label: str) -> Markup:
    """Links, so that they work without JavaScript."""
    links = [
        tag(
            "a",
            tab.name,
            tag("span", tab.note, class_="count") if tab.note else None,
            href=tab.href,
            aria_current="page" if tab.is_current else None,
        )
        for tab in tabs
    ]
    return tag("nav", links, class_="tabs", aria_label=label)


def table(
    columns: Sequence[Child],
    rows: Sequence[Sequence[Child]],
    *,
    caption: str = "",
    numeric: Sequence[int] = (),
    class_: str = "",
) -> Markup:
    """A table that scrolls sideways in itself; `numeric` columns are aligned right. `class_="headed"` shows the caption to screen readers only."""
    head = tag(
        "tr",
        [
            tag("th", name, scope="col", class_="num" if at in numeric else None)
            for at, name in enumerate(columns)
        ],
    )
    body = [
        tag("tr", [tag("td", cell, class_="num" if at in numeric else None) for at, cell in enumerate(row)])
        for row in rows
    ]
    inner = tag(
        "table",
        tag("caption", caption) if caption else None,
        tag("thead", head),
        tag("tbody", body),
        class_=class_ or None,
    )
    return tag("div", inner, class_="scroll", tabindex="0", role="region", aria_label=caption or "Table")


def facts(pairs: Sequence[tuple[str, Child]]) -> Markup:
    """Names and values, one pair a row."""
    return tag("dl", [join(tag("dt", name), tag("dd", value)) for name, value in pairs], class_="facts")


def card(title: Child, *content: Child, class_: str = "", id_: str = "", level: int = 2) -> Markup:
    return tag("section", tag(f"h{level}", title), content, class_=f"card {class_}".rstrip(), id=id_ or None)


def notice(text: Child, kind: str = "info") -> Markup:
    return tag("p", text, class_=f"notice {kind}", role="status" if kind == "info" else "alert")


def empty(title: str, advice: Child) -> Markup:
    """What a page says that has nothing to show, and what to do about it."""
    return tag("div", tag("p", title, class_="title"), tag("p", advice), class_="empty")


def digest(value: str | None) -> Markup | str:
    """The beginning of a hash; all of it shows under the pointer and is copied."""
    if not value:
        return "\N{EN DASH}"
    return tag(
        "code", tag("span", value[:12]), tag("span", value[12:], class_="rest"), class_="digest", title=value
    )


def run_link(run: str, text: Child = None, tab: str = "") -> Markup:
    return tag("a", text if text is not None else run, href=url("run", run, tab) if tab else url("run", run))


def linked_run(run: str) -> Markup:
    """A short link to a run that a summary names, by its name or by its folder."""
    name = run.rstrip("/").rsplit("/", 1)[-1]
    return run_link(name, short_run(name))

"""An agent writes markup, scripts and control characters wherever a page of the viewer will show its words.

What it writes: file names, contents, patches, commands, messages, names and messages of tests, and, through a judge that
repeats it, opinions. What must hold: every page shows it as text. A page has no element, attribute or address of the
agent's, and no character that turns the reading direction or acts on a terminal.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hostile_names import name_pages, viewing_hostile_names
from hostile_runs import CONTRACT, PAGES, RUN, make_hostile_run
from viewer import Viewer, viewing

ALLOWED = frozenset(
    [
        "html",
        "head",
        "meta",
        "title",
        "link",
        "script",
        "body",
        "a",
        "header",
        "nav",
        "ul",
        "ol",
        "li",
        "main",
        "footer",
        "h1",
        "h2",
        "h3",
        "p",
        "div",
        "span",
        "section",
        "article",
        "details",
        "summary",
        "form",
        "input",
        "fieldset",
        "legend",
        "label",
        "button",
        "textarea",
        "table",
        "caption",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "dl",
        "dt",
        "dd",
        "pre",
        "code",
        "b",
        "em",
        "time",
        "blockquote",
        "br",
        "select",
        "option",
        "datalist",
        "kbd",
        "figure",
        "figcaption",
        "svg",
        "line",
        "rect",
        "circle",
        "text",
        "polyline",
        "polygon",
        "progress",
    ]
)
MISLEADING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]")


class Page(HTMLParser):
    """What of a page a browser acts on."""

    def __init__(self, markup: str) -> None:
        super().__init__(convert_charrefs=True)
        self.faults: list[str] = []
        self.text = ""
        self.feed(markup)
        self.close()

    def handle_starttag(self, name: str, attributes: list[tuple[str, str | None]]) -> None:
        values = dict(attributes)
        if name not in ALLOWED:
            self.faults.append(f"element {name}")
        if name == "script" and not str(values.get("src", "")).startswith("/static/"):
            self.faults.append("a script of its own")
        for key, value in attributes:
            if key.startswith("on") or key in ("style", "srcdoc"):
                self.faults.append(f"attribute {key}")
            if key in ("href", "src", "action") and not str(value).startswith(("/", "#", "?")):
                self.faults.append(f"address {value}")
            if key in ("href", "src", "action") and str(value).startswith("//"):
                self.faults.append(f"address {value}")

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Viewer]:
    root = tmp_path_factory.mktemp("runs")
    make_hostile_run(root)
    with viewing(root) as viewer:
        yield viewer


@pytest.mark.parametrize("path", PAGES)
def test_no_page_has_an_element_of_the_agents(hostile: Viewer, path: str) -> None:
    answer = hostile.ask(path)
    page = Page(answer.text)
    assert answer.status == 200
    assert page.faults == []
    assert not MISLEADING.search(answer.text)
    assert len(answer.body) < 1_500_000  # ten megabytes of one line are not sent


def test_what_the_agent_wrote_is_shown_as_text(hostile: Viewer) -> None:
    text = Page(hostile.ask(f"/run/{RUN}/judge").text).text
    assert "<script>window.pwned = 1</script>" in text
    assert "\\x1b[2J" in text
    assert "\\u202etxt.exe" in text


def test_a_contract_whose_name_is_markup_has_a_page(hostile: Viewer) -> None:
    answer = hostile.ask("/contract/%3Cscript%3Ewindow.pwned=7%3C%2Fscript%3Ec")
    assert answer.status == 200
    assert CONTRACT["id"] in Page(answer.text).text
    assert Page(answer.text).faults == []


@pytest.mark.parametrize("path", ["/events.json", "/events.json?q=script", "/event/3.json", "/chain.json"])
def test_data_for_scripts_reads_as_markup_nowhere(hostile: Viewer, path: str) -> None:
    answer = hostile.ask(f"/run/{RUN}{path}")
    assert (answer.status, answer.headers["Content-Type"]) == (200, "application/json")
    assert b"<" not in answer.body
    assert not MISLEADING.search(answer.text)


def test_a_file_of_a_run_is_a_download_that_no_browser_runs(hostile: Viewer) -> None:
    answer = hostile.ask(f"/run/{RUN}/raw/agent/stdout.txt")
    assert answer.headers["Content-Type"] == "application/octet-stream"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Content-Disposition"].startswith("attachment")
    assert "sandbox" in answer.headers["Content-Security-Policy"]


def test_names_of_agents_contracts_and_studies_are_text_on_every_page(tmp_path: Path) -> None:
    """An operator may run contracts and agents of others: their names are as foreign as their output."""
    with viewing_hostile_names(tmp_path) as viewer:
        for path in name_pages(viewer):
            answer = viewer.ask(path)
            page = Page(answer.text)
            assert answer.status == 200, path
            assert page.faults == [], path
            assert not MISLEADING.search(answer.text), path
            assert len(answer.body) < 1_500_000, path


def test_a_spreadsheet_gets_no_formula(hostile: Viewer) -> None:
    from steelyard.web.export import _cell

    assert _cell("=HYPERLINK(1)") == "'=HYPERLINK(1)"
    assert hostile.ask("/export?format=csv").status == 200


def test_the_html_report_has_no_element_of_the_agents(hostile: Viewer) -> None:
    from steelyard.report.html.study_report import study_html

    summary = hostile.site.summaries.of("all", "now")
    markup = study_html(summary)
    page = Page(markup.replace("<style>", "<pre>").replace("</style>", "</pre>"))
    assert page.faults == []
    assert "<style>" in markup
    assert not MISLEADING.search(markup)

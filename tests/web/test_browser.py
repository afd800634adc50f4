"""A real browser reads every page: nothing of a record runs, nothing overflows, the timeline is virtual, keys and readers work."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from browsing import needs_browser, opened, serious_issues, started_browser
from held_runs import held_run_folder
from hostile_runs import PAGES, RUN, TABS, make_hostile_run
from made_records import made_lines, made_store
from playwright.sync_api import Browser
from viewer import Viewer, viewing

from steelyard.evidence.trace.chain import read_events
from steelyard.report.html.study_report import study_html
from steelyard.report.study_summary.read_results import of_lines
from steelyard.report.study_summary.summarise import summarise_study
from steelyard.web.records import Records

pytestmark = needs_browser
EVENTS = 5000
NARROW = {"viewport": {"width": 360, "height": 780}}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with started_browser() as started:
        yield started


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Viewer]:
    """One run, 5,000 events, every text of it hostile."""
    root = tmp_path_factory.mktemp("hostile")
    make_hostile_run(root, events=EVENTS)
    with viewing(root) as viewer:
        yield viewer


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Viewer]:
    """400 runs of a study."""
    root = tmp_path_factory.mktemp("many")
    with viewing(root, Records(root, made_store(root, 20, 4))) as viewer:
        yield viewer


def test_nothing_that_a_record_contains_runs_or_leaves_the_page(browser: Browser, hostile: Viewer) -> None:
    with opened(browser, hostile, **NARROW) as (page, complaints):
        for path in PAGES:
            page.goto(
                f"{hostile.origin}{path}", wait_until="networkidle" if path == f"/run/{RUN}" else "load"
            )
            assert page.evaluate("window.pwned") is None, path
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth + 1"), (
                f"{path} is too wide"
            )
            assert page.locator("header.site").is_visible(), path
        assert complaints == []


def test_the_timeline_holds_only_the_rows_in_view(browser: Browser, hostile: Viewer) -> None:
    with opened(browser, hostile) as (page, complaints):
        loaded: list[str] = []
        page.on("response", lambda answer: loaded.append(answer.url) if "events.json" in answer.url else None)
        page.goto(f"{hostile.origin}/run/{RUN}", wait_until="networkidle")
        rows = page.locator("#timeline li[data-seq]")
        rows.first.wait_for()
        assert rows.count() < 150
        page.fill("#jump", "4000")
        page.click("#filter button")
        page.wait_for_selector('#timeline li[data-seq="4000"].chosen')
        page.locator("#event pre", has_text='"seq": 4000').wait_for()
        assert rows.count() < 150
        page.locator("#timeline").evaluate("box => box.scrollTop = box.scrollHeight")
        page.wait_for_selector(f'#timeline li[data-seq="{EVENTS + 11}"]')
        counts = [int(parse_qs(urlsplit(url).query)["count"][0]) for url in loaded]
        assert sum(counts) < EVENTS // 2  # from the first to the last event, most are never loaded
        page.check('input[value="alert"]')
        page.locator("#matches", has_text="2 of ").wait_for()
        page.locator("#chain", has_text="holds").wait_for()
        assert complaints == []


def test_the_tabs_of_a_run_cannot_be_scrolled_up_and_down(browser: Browser, hostile: Viewer) -> None:
    """The line under the current tab is lower than the row: it would be given a scroll bar of its own."""
    with opened(browser, hostile, **NARROW) as (page, _):
        page.goto(f"{hostile.origin}/run/{RUN}")
        assert page.locator(".tabs").evaluate("tabs => getComputedStyle(tabs).overflowY") == "hidden"


def test_pages_are_read_without_javascript(browser: Browser, hostile: Viewer) -> None:
    with opened(browser, hostile, java_script_enabled=False) as (page, _):
        page.goto(f"{hostile.origin}/run/{RUN}")
        assert page.locator("#timeline li").count() == 200
        page.click("text=Next")
        assert page.locator("#timeline li .seq").first.inner_text() == "201"
        page.click("nav.tabs >> text=Diff")
        assert page.locator("details.file").count() == 1


def test_the_explorer_is_used_by_keyboard(browser: Browser, many: Viewer) -> None:
    with opened(browser, many) as (page, complaints):
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
        page.keyboard.press("/")
        assert page.evaluate("document.activeElement.id") == "search"
        page.keyboard.type("careful")
        page.keyboard.press("Enter")
        page.wait_for_url("**q=careful**")
        page.keyboard.press("j")
        page.keyboard.press("x")
        assert page.locator('table.runs input[name="run"]:checked').count() == 1
        page.keyboard.press("j")
        page.keyboard.press("Enter")
        page.wait_for_url("**/run/**")
        assert page.locator("h1").inner_text()
        page.keyboard.press("l")
        page.wait_for_url("**/diff")
        page.keyboard.press("?")
        assert page.locator("#keys dl").is_visible()
        assert complaints == []


def test_an_agent_whose_name_has_no_place_to_break_fits_the_explorer(
    browser: Browser, tmp_path: Path
) -> None:
    """Where every column is shown at once, a wide one must not push the table out of the window."""
    store = made_store(tmp_path, 2, 2, agents={"patch:reference_of_the_first_release.patch": 0.5})
    with (
        viewing(tmp_path, Records(tmp_path, store)) as viewer,
        opened(browser, viewer, viewport={"width": 1270, "height": 700}) as (page, _),
    ):
        page.goto(f"{viewer.origin}/")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth + 1")


def test_nothing_of_the_explorer_stands_outside_a_screen(browser: Browser, many: Viewer) -> None:
    """The head of the table stays in view on a wide screen; on a narrow one each value has its name instead."""
    with opened(browser, many) as (page, _):
        for width in (360, 700, 900, 1270, 2200):
            page.set_viewport_size({"width": width, "height": 700})
            page.goto(f"{many.origin}/?per=80")
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth + 1"), width
            page.evaluate("scrollTo(0, 3000)")
            box = page.locator("table.runs").evaluate(
                """table => { const box = table.parentElement; box.scrollTop = 500; return [table.scrollWidth - box.clientWidth,
                table.tHead.rows[0].cells[1].getBoundingClientRect().top, box.getBoundingClientRect().top]; }"""
            )
            if width < 832:
                assert box[0] <= 1, width
                assert page.locator('table.runs td[data-label="cost"]').first.is_visible()
            else:
                assert box[1] >= min(0, box[2]) - 1, width  # the head did not scroll away


def test_a_view_is_an_address(browser: Browser, many: Viewer) -> None:
    with opened(browser, many) as (page, _):
        page.click("text=Judge PASS, checks fail")
        page.wait_for_url("**verdict=fail**")
        address = page.url
        page.click("thead >> text=Cost")
        page.wait_for_url("**sort=cost_usd**")
        page.goto(address)
        assert page.locator('input[name="verdict"][value="fail"]').is_checked()


def test_an_operator_decides_about_a_paused_run(browser: Browser, tmp_path: Path) -> None:
    with (
        viewing(tmp_path) as viewer,
        held_run_folder(tmp_path) as folder,
        opened(browser, viewer, viewport={"width": 360, "height": 780}, bypass_csp=True) as (
            page,
            complaints,
        ),
    ):
        viewer.site.records.sync()
        page.goto(viewer.origin)
        page.click("text=Waiting for an operator")
        page.click("table.runs >> text=abcdef")
        page.click("text=Read the alert and decide")
        assert serious_issues(page) == []
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth + 1")
        page.check('input[value="terminate"]')
        page.fill('textarea[name="reason"]', "no need for root")
        page.fill('input[name="by"]', "Ada")
        page.click("#decision button")
        page.locator("text=The run has taken your decision").wait_for()
        taken = [event.payload for event in read_events(folder.events) if event.type == "operator.decision"]
        assert [(one["decision"], one["by"]) for one in taken] == [("terminate", "Ada")]
        assert complaints == []


AUDITED = (
    "/?per=10",  # every row has the same elements
    "/contracts",
    "/agents",
    "/studies",
    "/contract/task-003",
    "/agent/careful",
    f"/study/{'5' * 64}",
    "/compare?a=quick&b=careful",
)


LIGHT = (
    *((True, path) for path in AUDITED),
    *((False, tab) for tab in TABS),
)
DARK = ((True, "/?per=10"), (True, f"/study/{'5' * 64}"), (False, "/diff"), (False, "/judge"))


@pytest.mark.parametrize(("scheme", "pages"), [("light", LIGHT), ("dark", DARK)])
def test_axe_finds_no_serious_issue(
    browser: Browser, many: Viewer, hostile: Viewer, scheme: str, pages: tuple[tuple[bool, str], ...]
) -> None:
    """The same words and elements in both schemes, so the dark one is looked at where it has other colours."""
    found: list[str] = []
    for viewer in (many, hostile):
        with opened(browser, viewer, color_scheme=scheme, bypass_csp=True) as (page, _):
            for path in [path for is_many, path in pages if is_many is (viewer is many)]:
                page.goto(f"{viewer.origin}{path if viewer is many else f'/run/{RUN}{path}'}")
                found += [f"{path} {issue}" for issue in serious_issues(page)]
    assert found == []


def test_the_html_report_is_one_file_that_loads_nothing_and_fits_a_phone(
    browser: Browser, tmp_path: Path
) -> None:
    report = tmp_path / "report.html"
    report.write_text(study_html(summarise_study(of_lines("made", list(made_lines(12, 3))))))
    context = browser.new_context(viewport={"width": 360, "height": 780}, bypass_csp=True)
    page = context.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(report.as_uri())
    assert asked == [report.as_uri()]
    assert page.locator("svg.plot").count() == 9
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth + 1")
    heights = page.locator("svg.plot text").evaluate_all(
        "all => all.map((one) => one.getBoundingClientRect().height)"
    )
    assert min(heights) > 9  # words of plots are read without a magnifier
    assert serious_issues(page) == []
    context.close()


def test_the_printed_report_has_light_colours_and_cuts_no_table(browser: Browser, tmp_path: Path) -> None:
    report = tmp_path / "report.html"
    report.write_text(study_html(summarise_study(of_lines("made", list(made_lines(12, 3))))))
    context = browser.new_context(viewport={"width": 703, "height": 1000}, color_scheme="dark")  # A4
    page = context.new_page()
    page.emulate_media(media="print", color_scheme="dark")
    page.goto(report.as_uri())
    cut = "[...document.querySelectorAll('.scroll')].filter(box => box.scrollWidth > box.clientWidth + 1).length"
    assert page.locator(".scroll").count() > 8
    assert page.evaluate(cut) == 0
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(0, 0, 0)"
    assert page.locator("details:not(.long) table").first.is_visible()
    assert not page.locator("#records details pre, #records details ul").first.is_visible()
    assert len(page.pdf(format="A4", prefer_css_page_size=True)) > 20_000
    context.close()

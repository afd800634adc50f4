"""A browser opens every kind of page over an empty store, a store of one run, and a store whose names are hostile."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from browsing import needs_browser, opened, serious_issues, started_browser
from hostile_names import name_pages, viewing_hostile_names
from playwright.sync_api import Browser, Page
from viewer import Viewer, viewing

from authoring import Author, Steelyard

pytestmark = needs_browser
LISTS = ("/", "/contracts", "/agents", "/studies", "/study/all", "/compare", "/?verdict=fail&q=nothing")
FITS = "document.documentElement.scrollWidth <= innerWidth + 1"
NARROW = {"viewport": {"width": 360, "height": 780}, "bypass_csp": True}  # axe is a script of the test


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with started_browser() as started:
        yield started


def visit(page: Page, viewer: Viewer, path: str) -> None:
    answer = page.goto(f"{viewer.origin}{path}")
    assert answer is not None
    assert answer.status == 200, path
    assert page.locator("h1").first.is_visible(), path
    assert page.evaluate(FITS), f"{path} is too wide"


def test_every_page_of_an_empty_store_says_what_to_do(browser: Browser, tmp_path: Path) -> None:
    with viewing(tmp_path) as viewer, opened(browser, viewer, **NARROW) as (page, complaints):
        for path in LISTS:
            visit(page, viewer, path)
            assert page.locator(".empty p.title").is_visible(), path
            assert serious_issues(page) == [], path
        assert complaints == []
        for path in ("/run/nothing", "/contract/nothing", "/agent/nothing", f"/study/{'5' * 64}"):
            answer = page.goto(f"{viewer.origin}{path}")
            assert answer is not None
            assert answer.status == 404, path
            assert page.locator("main a").first.is_visible(), path  # a way back


def test_every_page_of_a_store_of_one_run_is_reached_by_its_links(
    browser: Browser, tmp_path: Path, steelyard: Steelyard, author: Author
) -> None:
    """One real run: its tabs, its contract, its agent, the report of all runs, and the comparison of one agent."""
    runs = tmp_path / "runs"
    line = steelyard("run", author.write(), "--agent", "noop", "--out", runs, "--json").line
    with viewing(runs) as viewer, opened(browser, viewer, **NARROW) as (page, complaints):
        for path in LISTS[:-1]:
            visit(page, viewer, path)
        page.goto(viewer.origin)
        page.click("table.runs >> text=" + str(line["run"])[-6:])
        page.wait_for_url("**/run/**")
        tabs = page.locator("nav.tabs a").evaluate_all(
            "links => links.map((one) => one.getAttribute('href'))"
        )
        assert len(tabs) == 10
        for path in (*tabs, f"/contract/{line['contract']['id']}", f"/agent/{line['agent']}"):
            visit(page, viewer, path)
            assert serious_issues(page) == [], path
        assert complaints == []


def test_names_of_others_run_nothing_and_widen_no_page(browser: Browser, tmp_path: Path) -> None:
    with viewing_hostile_names(tmp_path) as viewer, opened(browser, viewer, **NARROW) as (page, complaints):
        for path in name_pages(viewer):
            visit(page, viewer, path)
            assert page.evaluate("window.pwned") is None, path
            assert page.locator("header.site").is_visible(), path
        assert complaints == []

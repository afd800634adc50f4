"""A browser reads a store of 100,000 runs: it sorts, filters, searches, turns pages, opens a run and exports a selection."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from browsing import needs_browser, opened, started_browser
from hostile_runs import make_hostile_run
from playwright.sync_api import Browser
from viewer import Viewer, viewing

from steelyard.evidence.folder.folder import MANIFEST, RunFolder
from steelyard.report.stored.open_store import read_entry
from steelyard.store.entry import Entry, entry_of_line
from steelyard.store.store import Store
from steelyard.web.records import Records

pytestmark = needs_browser
COUNT = 100_000
PER_PAGE = 50
AGENTS = ("careful", "quick", "large", "small")
START = datetime(2026, 3, 7, tzinfo=UTC)
LONG_AGO_NS = 1_700_000_000_000_000_000  # a folder that changed long ago is read once
REAL = "20260401T120000000Z-hostile-noop-abcdef"
MEMORY = Path("/dev/shm")  # 100,000 folders are made and removed ten times faster than on a disk


def made_line(number: int) -> dict[str, Any]:
    """Every fifth run passes; run number 77,777 is the most expensive one."""
    verdict = "pass" if number % 5 == 0 else "fail"
    return {
        "run": f"20260307T{number:09d}Z-task-{number % 200:03d}-{AGENTS[number % 4]}-{number:06x}",
        "contract": {"id": f"task-{number % 200:03d}", "digest": f"{number % 200:064x}"},
        "agent": AGENTS[number % 4],
        "verdict": verdict,
        "reason": "" if verdict == "pass" else "hidden: 3 of 7 passed",
        "score": float(verdict == "pass"),
        "judge": {"verdict": "PASS" if number % 2 else "FAIL"},
        "tags": [] if verdict == "pass" else ["acceptance_failure"],
        "cost": {"usd": 99.5 if number == 77_777 else number % 1000 / 100},
        "durations": {"wall_s": 10.0 + number % 60},
    }


def make_large_store(root: Path) -> Store:
    """Folders that have only a name, the index of what they would say, and one real run that is the newest."""
    lines = {line["run"]: line for line in map(made_line, range(COUNT - 1))}
    for run in lines:
        (root / run).mkdir()
        os.mknod(root / run / MANIFEST)
        os.utime(root / run, ns=(LONG_AGO_NS, LONG_AGO_NS))
    make_hostile_run(root, REAL)

    def read(folder: RunFolder) -> Entry:
        line = lines.get(folder.run_id)
        return read_entry(folder) if line is None else entry_of_line(folder.run_id, line, START)

    return Store(root, read)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with started_browser() as started:
        yield started


@pytest.fixture(scope="module")
def large() -> Iterator[Viewer]:
    root = Path(tempfile.mkdtemp(dir=MEMORY if os.access(MEMORY, os.W_OK) else None))
    try:
        with viewing(root, Records(root, make_large_store(root))) as viewer:
            yield viewer
    finally:
        shutil.rmtree(root)


def test_the_explorer_reads_a_hundred_thousand_runs(browser: Browser, large: Viewer) -> None:
    """One test, because a store of this size is made once: each step begins where the one before ended."""
    with opened(browser, large, accept_downloads=True) as (page, complaints):
        rows, found = page.locator("table.runs tbody tr"), page.locator(".split-line p").first
        assert found.inner_text() == "1 to 50 of 100,000 runs"
        assert rows.count() == PER_PAGE

        page.click("table.runs thead >> text=Cost")
        page.wait_for_url("**sort=cost_usd**")
        assert "$99.50" in rows.first.inner_text()
        assert page.locator('th[aria-sort="descending"]').inner_text().startswith("Cost")

        page.check('#filter input[name="verdict"][value="pass"]')
        page.click("#filter button")
        page.wait_for_url("**verdict=pass**")
        assert found.inner_text() == "1 to 50 of 20,000 runs that match, of 100,000"

        page.fill("#search", "task-010")
        page.keyboard.press("Enter")
        page.wait_for_url("**q=task-010**")
        assert found.inner_text() == "1 to 50 of 500 runs that match, of 100,000"
        with page.expect_download() as download:
            page.click("text=JSON lines")
        exported = [json.loads(line) for line in download.value.path().read_bytes().splitlines()]
        assert [line["contract"]["id"] for line in exported] == ["task-010"] * 500
        assert {line["verdict"] for line in exported} == {"pass"}

        page.click(".pager >> text=Last")
        page.wait_for_url("**page=10**")
        assert found.inner_text() == "451 to 500 of 500 runs that match, of 100,000"

        page.click("#filter >> text=Clear")
        page.click(".pager >> text=Last")
        page.wait_for_url("**page=2000**")
        assert found.inner_text() == "99,951 to 100,000 of 100,000 runs"
        assert page.locator(".pager").inner_text().startswith("Page 2,000 of 2,000.")

        page.click(".pager >> text=First")
        page.wait_for_url("**page=1")
        rows.first.locator("a").first.click()
        page.wait_for_url(f"**/run/{REAL}")
        page.locator("#timeline li", has_text="run.start").wait_for()

        for path, runs in (("/contract/task-010", "500 runs"), ("/agent/quick", "25,000: ✓ pass 5,000")):
            page.goto(f"{large.origin}{path}")
            assert runs in page.locator("main").inner_text(), path
        for path in ("/contracts", "/agents", "/studies", "/study/all", "/compare?a=quick&b=careful"):
            page.goto(f"{large.origin}{path}")
            assert page.locator("h1").is_visible(), path
        assert complaints == []

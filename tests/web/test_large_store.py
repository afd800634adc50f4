"""A browser reads a store of 20,000 runs, with CASES=all of 100,000: it sorts, filters, searches, turns pages, opens a run, exports."""

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
COUNT = 100_000 if os.environ.get("CASES") == "all" else 20_000  # `make bench` measures the larger one
PER_PAGE = 50
AGENTS = ("careful", "quick", "large", "small")
START = datetime(2026, 3, 7, tzinfo=UTC)
LONG_AGO_NS = 1_700_000_000_000_000_000  # a folder that changed long ago is read once
REAL = "20260401T120000000Z-hostile-noop-abcdef"
MEMORY = Path("/dev/shm")  # thousands of folders are made and removed ten times faster than on a disk


def made_line(number: int) -> dict[str, Any]:
    """Every fifth run passes; run number 7,777 is the most expensive one."""
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
        "cost": {"usd": 99.5 if number == 7_777 else number % 1000 / 100},
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


def test_the_explorer_reads_thousands_of_runs(browser: Browser, large: Viewer) -> None:
    """One test, because a store of this size is made once: each step begins where the one before ended."""
    passed, of_task, pages = COUNT // 5, COUNT // 200, COUNT // PER_PAGE
    with opened(browser, large, accept_downloads=True) as (page, complaints):
        rows, found = page.locator("table.runs tbody tr"), page.locator(".split-line p").first
        assert found.inner_text() == f"1 to 50 of {COUNT:,} runs"
        assert rows.count() == PER_PAGE

        page.click("table.runs thead >> text=Cost")
        page.wait_for_url("**sort=cost_usd**")
        assert "$99.50" in rows.first.inner_text()
        assert page.locator('th[aria-sort="descending"]').inner_text().startswith("Cost")

        page.check('#filter input[name="verdict"][value="pass"]')
        page.click("#filter button")
        page.wait_for_url("**verdict=pass**")
        assert found.inner_text() == f"1 to 50 of {passed:,} runs that match, of {COUNT:,}"

        page.fill("#search", "task-010")
        page.keyboard.press("Enter")
        page.wait_for_url("**q=task-010**")
        assert found.inner_text() == f"1 to 50 of {of_task} runs that match, of {COUNT:,}"
        with page.expect_download() as download:
            page.click("text=JSON lines")
        exported = [json.loads(line) for line in download.value.path().read_bytes().splitlines()]
        assert [line["contract"]["id"] for line in exported] == ["task-010"] * of_task
        assert {line["verdict"] for line in exported} == {"pass"}

        page.click(".pager >> text=Last")
        page.wait_for_url(f"**page={of_task // PER_PAGE}**")
        assert found.inner_text() == f"{of_task - 49} to {of_task} of {of_task} runs that match, of {COUNT:,}"

        page.click("#filter >> text=Clear")
        page.click(".pager >> text=Last")
        page.wait_for_url(f"**page={pages}**")
        assert found.inner_text() == f"{COUNT - 49:,} to {COUNT:,} of {COUNT:,} runs"
        assert page.locator(".pager").inner_text().startswith(f"Page {pages:,} of {pages:,}.")

        page.click(".pager >> text=First")
        page.wait_for_url("**page=1")
        rows.first.locator("a").first.click()
        page.wait_for_url(f"**/run/{REAL}")
        page.locator("#timeline li", has_text="run.start").wait_for()

        for path, runs in (
            ("/contract/task-010", f"{of_task}: ✓ pass {of_task}"),
            ("/agent/quick", f"{COUNT // 4:,}: ✓ pass {COUNT // 20:,}"),
        ):
            page.goto(f"{large.origin}{path}")
            assert runs in page.locator("main").inner_text(), path
        for path in ("/contracts", "/agents", "/studies", "/study/all", "/compare?a=quick&b=careful"):
            page.goto(f"{large.origin}{path}")
            assert page.locator("h1").is_visible(), path
        assert complaints == []

"""The page of a run with 100,000 events in a real browser: when something is first painted, and how much scrolling loads.

A viewer is started as a user starts it, and chromium opens the page of a run that this viewer has not yet read.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.measure import Measured, Round
from benchmarks.view import EVENTS, make_long_run
from benchmarks.workshop import Workshop

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
STEPS = 25  # places of the timeline that are scrolled to, from its beginning to its end
PAINT = "performance.getEntriesByName('first-contentful-paint')[0].startTime"
SCROLL = "(box, share) => { box.scrollTop = share * (box.scrollHeight - box.clientHeight); }"
ROWS_DRAWN = "document.querySelectorAll('#timeline li[data-seq]').length"


class Opened(NamedTuple):
    paint_ms: float
    loaded: int  # events that the browser got while it scrolled from the beginning to the end
    most_rows: int  # of the timeline that were in the page at once


def paint(workshop: Workshop) -> Iterator[Measured]:
    if CHROMIUM is None:
        sys.stdout.write("paint    no chromium on this machine\n")
        return
    root = workshop.folder / "painted"
    make_long_run(root, EVENTS)
    opened = [open_run(root) for _ in range(workshop.rounds(5))]
    rounds: list[Round] = [
        {
            "first paint": one.paint_ms / 1000,
            "events loaded (1000)": one.loaded / 1000,
            "rows in the page": one.most_rows / 1000,
        }
        for one in opened
    ]
    events = f"a run with {EVENTS:,} events"
    yield Measured.of(
        "paint", f"page of {events}: first contentful paint in chromium", rounds,
        lambda one: 1000 * one["first paint"], target=1000, unit="ms",
    )  # fmt: skip
    yield Measured.of(
        "paint", f"scrolling from the first to the last event of {events}: events loaded", rounds,
        lambda one: 1000 * one["events loaded (1000)"], target=EVENTS / 5, unit="events",
    )  # fmt: skip
    yield Measured.of(
        "paint", f"scrolling through {events}: rows in the page at once", rounds,
        lambda one: 1000 * one["rows in the page"], target=200, unit="rows",
    )  # fmt: skip


def open_run(root: Path) -> Opened:
    """A new viewer and a new browser, so that neither has seen the run."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415  # only this row needs it

    run = next(path.name for path in root.iterdir() if path.is_dir())
    command = [sys.executable, "-m", "steelyard", "view", str(root), "--port", "0", "--no-browser"]
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as viewer,
        sync_playwright() as playwright,
    ):
        assert viewer.stdout is not None
        home = viewer.stdout.readline().split()[-1]
        arguments = ["--no-sandbox", "--disable-dev-shm-usage"]
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=arguments)
        try:
            page = browser.new_page()
            page.goto(home)
            page.wait_for_url(lambda url: "token" not in url)
            return _scrolled(page, f"{home.split('/?', maxsplit=1)[0]}/run/{run}")
        finally:
            browser.close()
            viewer.terminate()


def _scrolled(page: Any, address: str) -> Opened:
    loaded: list[int] = []
    page.on(
        "response",
        lambda answer: loaded.append(len(answer.json()["rows"])) if "/events.json" in answer.url else None,
    )
    page.goto(address)
    page.wait_for_selector("#timeline li[data-seq]")
    paint_ms = float(page.evaluate(PAINT))
    most_rows = 0
    for step in range(STEPS + 1):
        page.locator("#timeline").evaluate(SCROLL, step / STEPS)
        page.wait_for_load_state("networkidle")
        page.wait_for_selector("#timeline li[data-seq]")
        most_rows = max(most_rows, int(page.evaluate(ROWS_DRAWN)))
    page.wait_for_selector(f'#timeline li[data-seq="{EVENTS}"]')
    return Opened(paint_ms, sum(loaded), most_rows)


ROWS = {"paint": paint}

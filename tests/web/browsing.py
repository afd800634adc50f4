"""A real browser for a test module: Debian's chromium, driven by Playwright; without one, its tests are skipped in words."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Dialog, Page, sync_playwright
from viewer import Viewer

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
needs_browser = pytest.mark.skipif(
    CHROMIUM is None, reason="no chromium on this machine: apt-get install chromium, or set CHROMIUM"
)
SLOW_MS = 240_000  # a busy machine is no failure


@contextmanager
def started_browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-dev-shm-usage"]
        )
        yield browser
        browser.close()


@contextmanager
def opened(browser: Browser, viewer: Viewer, **options: object) -> Iterator[tuple[Page, list[str]]]:
    """A page that has the token, and a list that gets every complaint of the browser."""
    context = browser.new_context(**options)  # type: ignore[arg-type]
    context.set_default_timeout(SLOW_MS)
    page = context.new_page()
    complaints: list[str] = []

    def dismiss(dialog: Dialog) -> None:
        complaints.append(f"dialog {dialog.message}")
        dialog.dismiss()

    page.on(
        "console",
        lambda message: complaints.append(message.text) if message.type in ("error", "warning") else None,
    )
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("dialog", dismiss)
    page.on(
        "request",
        lambda request: (
            None if request.url.startswith((viewer.origin, "data:")) else complaints.append(request.url)
        ),
    )
    page.goto(viewer.access.home)
    page.wait_for_url(lambda url: "token" not in url)
    yield page, complaints
    context.close()


def serious_issues(page: Page) -> list[str]:
    """What axe-core finds that keeps a reader from something. It writes no list of what is right, which takes half of its time."""
    found = Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
    return [
        f"{one['id']}: {one['nodes'][0]['html'][:200]}"
        for one in found
        if one["impact"] in ("serious", "critical")
    ]

"""The page of a study that runs: a browser sees what is planned, running and finished change, without loading the page again."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from browsing import needs_browser, opened, started_browser
from viewer import viewing

from authoring import FIX, PATIENT, Author, Steelyard
from steelyard.study.protocol.folder import find_studies

pytestmark = needs_browser


@contextmanager
def running_study(study: Path, runs: Path, cache: Path) -> Iterator[subprocess.Popen[bytes]]:
    words = ["study", "run", str(study), "--runs", str(runs), "--jobs", "2"]
    process = subprocess.Popen(
        [sys.executable, "-m", "steelyard", *words],
        env={**os.environ, "STEELYARD_CACHE": str(cache)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def test_the_page_of_a_running_study_follows_it_to_its_end(
    steelyard: Steelyard, author: Author, tmp_path: Path, cache: Path
) -> None:
    study, runs, go = tmp_path / "study.yaml", tmp_path / "runs", tmp_path / "go"
    runs.mkdir()
    go.mkdir()
    waits = f"mine=command:until test -e {go}/now; do sleep 0.1; done; {FIX}"
    contract = author.write(budget=PATIENT)
    planned = steelyard(
        "plan", contract, "--agent", waits, "--agent-path", go, "--repeats", 1, "--out", study
    )
    assert planned.code == 0, planned.err
    with (
        started_browser() as browser,
        viewing(runs) as viewer,
        running_study(study, runs, cache) as process,
        opened(browser, viewer) as (page, complaints),
    ):
        while not find_studies(runs):
            assert process.poll() is None
            time.sleep(0.05)
        page.goto(f"{viewer.origin}/studies")
        page.click("main table a")
        page.wait_for_url("**/study/**")
        page.evaluate("window.isFirst = true")

        page.locator("text=2 of 3 planned trials finished, 1 running, 0 not begun.").wait_for()
        assert page.locator("progress").evaluate("bar => [bar.value, bar.max]") == [2, 3]
        assert page.locator("#live dl.facts >> text=running").first.is_visible()
        assert (
            page.locator("#live td", has_text="0 of 1, 1 running").count() == 2
        )  # of the agent, of all agents
        page.locator("#numbers >> text=Provisional: 2 of 3 planned trials have a result").wait_for()

        (go / "now").touch()
        page.locator("text=3 of 3 planned trials finished, 0 running, 0 not begun.").wait_for()
        for part in ("live", "numbers", "plan"):
            page.locator(f'#{part}[data-running="no"]').wait_for()
        assert page.locator("#live dl.facts dd").first.inner_text() == "✓ complete"
        assert page.locator("#live .notice").count() == 0
        assert "Provisional: 2 of 3" not in page.locator("#numbers").inner_text()
        assert page.locator("#plan tr", has_text="end").last.is_visible()
        assert page.evaluate("window.isFirst")  # the page was never loaded again
        assert process.wait() == 0
        assert complaints == []

"""A folder of runs -> the pictures of docs/reading-results.md.   usage: screenshots.py RUNS OUT_DIR

Drives Debian's chromium (CHROMIUM names another) over a viewer that this script starts: each page in light, some in dark and on
a screen of 360 pixels. The pictures in the repository are of `steelyard demo`; the report is of made-up records, because a demo says nothing about agents.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.view import made_line

# Name of the picture -> the path, width, height, colours; RUN is the run that edits its own tests.
PICTURES: dict[str, tuple[str, int, int, str]] = {
    "view-runs": ("/", 1280, 760, "light"),
    "view-run": ("/run/RUN", 1280, 1200, "light"),
    "view-diff-dark": ("/run/RUN/diff", 1280, 820, "dark"),
    "view-why": ("/run/RUN/why", 1280, 900, "light"),
    "view-narrow": ("/run/RUN/scorers", 360, 780, "light"),
}
REPORT = ("report", 1060, 1100)
MADE = 2000  # records of the report


def main(runs: str, out: str) -> None:
    folder, pictures = Path(runs), Path(out)
    pictures.mkdir(parents=True, exist_ok=True)
    run = next(path.name for path in sorted(folder.iterdir()) if "edit_tests" in path.name)
    command = [sys.executable, "-m", "steelyard", "view", runs, "--port", "0", "--no-browser"]
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as viewer,
        sync_playwright() as playwright,
    ):
        assert viewer.stdout is not None
        home = viewer.stdout.readline().split()[-1]
        browser = playwright.chromium.launch(
            executable_path=os.environ.get("CHROMIUM") or shutil.which("chromium")
        )
        for name, (path, width, height, scheme) in PICTURES.items():
            _picture(
                browser, home, path.replace("RUN", run), (width, height, scheme), pictures / f"{name}.png"
            )
        _report(browser, pictures)
        browser.close()
        viewer.terminate()


def _picture(browser: Browser, home: str, path: str, screen: tuple[int, int, str], target: Path) -> None:
    width, height, scheme = screen
    context = browser.new_context(
        viewport={"width": width, "height": height}, color_scheme="dark" if scheme == "dark" else "light"
    )
    page = context.new_page()
    page.goto(home)
    page.wait_for_url(lambda url: "token" not in url)
    page.goto(f"{home.split('/?', maxsplit=1)[0]}{path}", wait_until="networkidle")
    page.screenshot(path=target)
    context.close()


def _report(browser: Browser, pictures: Path) -> None:
    name, width, height = REPORT
    file, lines = pictures / f"{name}.html", pictures / f"{name}.jsonl"
    lines.write_text("".join(f"{json.dumps(made_line(number))}\n" for number in range(MADE)))
    command = [sys.executable, "-m", "steelyard", "report", str(lines), "--html", str(file)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    context = browser.new_context(viewport={"width": width, "height": height})
    page = context.new_page()
    page.goto(file.absolute().as_uri())
    page.screenshot(path=pictures / f"{name}.png")
    context.close()
    file.unlink()
    lines.unlink()


if __name__ == "__main__":
    main(*sys.argv[1:])

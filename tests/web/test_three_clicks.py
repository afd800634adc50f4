"""An engineer finds why a run did not pass in three clicks: the run, what decided, its evidence. Four real runs, four causes."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browsing import needs_browser, opened, started_browser
from playwright.sync_api import Page
from viewer import Viewer, viewing

from authoring import FIX, PYTHON_FILES, Author
from steelyard.agents.base import Delivery
from steelyard.agents.catalogue import BUILT_IN
from steelyard.agents.data import Reference
from steelyard.contract.load import load_contract
from steelyard.environment.prepare import Environment
from steelyard.evidence.folder.blobs import Blobs
from steelyard.graders.catalogue import installed_catalogue
from steelyard.plan.trial import Trial
from steelyard.study.engine import Engine

pytestmark = needs_browser
TEST = """import unittest
from calc import add


class Sums(unittest.TestCase):
    def test_small_sums(self):
        self.assertEqual(add(2, 3), 5)
"""
SUITE = {"id": "sums", "type": "tests", "cmd": "/usr/bin/python3 -m unittest -v test_calc", "timeout_s": 60}
ORACLE: dict[str, Any] = {"oracle": {"checks": [SUITE], "reference": "reference.patch"}}
SHORT: dict[str, Any] = {"budget": {"wall_s": 2, "headroom": {"wall_s": 0.5}}}
FORBIDDEN: dict[str, Any] = {"policy": {"rules": {"privilege_escalation": "terminate"}}}
TIMES: dict[str, Any] = {"budget": {"wall_s": 1200, "headroom": {"wall_s": 600}}}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A failed test, a budget that was used up, a machine that failed, a monitor that stopped the agent."""
    folder = tmp_path_factory.mktemp("clicks")
    cache, runs = folder / "cache", folder / "runs"
    script = folder / "risky.sh"
    script.write_text(f"{FIX}\nsh -c 'sudo id; sleep 600; :'\n")

    class WithoutCache(Reference):
        def deliver(self, environment: Environment, blobs: Blobs) -> Delivery:
            delivered = super().deliver(environment, blobs)
            shutil.rmtree(cache)  # as a full or failed disk: the checks cannot have their sandbox
            return delivered

    def run(name: str, agent: str, files: dict[str, str] | None = None, **keys: Any) -> None:
        contract = load_contract(
            Author(folder / name).write(files, id=name, **{**TIMES, **keys}), installed_catalogue()
        )
        list(Engine(runs).run([Trial(contract, agent)]))

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STEELYARD_CACHE", str(cache))
        patch.setitem(BUILT_IN, "without_cache", lambda _: WithoutCache())
        run("red", "noop", {**PYTHON_FILES, "repo/test_calc.py": TEST}, **ORACLE)
        run("slow", "command:sleep 600", **SHORT)
        run("risky", f"script:{script}", **FORBIDDEN)
        run("machine", "without_cache")
        yield runs


@pytest.fixture(scope="module")
def viewer(runs: Path) -> Iterator[Viewer]:
    with viewing(runs) as viewer:
        yield viewer


class Reader:
    """Counts clicks."""

    def __init__(self, page: Page) -> None:
        self.page, self.clicks = page, 0

    def click(self, place: str) -> None:
        self.page.locator(place).first.click()
        self.page.wait_for_load_state()
        self.clicks += 1

    @property
    def text(self) -> str:
        return self.page.locator("main").inner_text()


# Contract -> what the page of the run says at once, the clicks that follow, and what the last page shows.
CAUSES = {
    "red": ("0 of 1 passed", [".gate a:has-text('acceptance')"], ["test_small_sums", "-1 != 5"]),
    "slow": (
        "the wall-clock budget of the run was used up",
        ["nav.tabs >> text=Why", ".tree a:has-text('event')"],
        ["wall_time"],
    ),
    "risky": (
        "runs a command as another user: sudo id",
        [".gate a:has-text('safety')", ".tree .leaf:has-text('gate G4 safety') a"],
        ["privilege_escalation", "sudo id"],
    ),
    "machine": ("Does not count: infrastructure: cannot start a sandbox", [], ["No such file or directory"]),
}


def test_the_cause_of_each_verdict_is_found_in_three_clicks(viewer: Viewer) -> None:
    with started_browser() as browser, opened(browser, viewer) as (page, complaints):
        for contract, (at_once, further, shown) in CAUSES.items():
            reader = Reader(page)
            page.goto(viewer.origin)
            rows = f"table.runs tr:has(.badge.bad, .badge.unsure):has(a[href='/contract/{contract}'])"
            reader.click(f"{rows} >> a")
            assert at_once in reader.text, contract
            for place in further:
                reader.click(place)
            assert reader.clicks <= 3
            for words in shown:
                assert words in reader.text, (contract, reader.text)
        assert complaints == []

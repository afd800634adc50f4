"""The page of a contract shows its self-test and its flakiness; the page of a study compares its plan with what was done."""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from made_records import made_lines, made_store
from sealed_run import make_sealed_run
from viewer import Viewer, viewing

from steelyard.evidence.folder.folder import RunFolder
from steelyard.judge.saved_calibration import save_calibration
from steelyard.plan.study_plan import PlannedAgent, PlannedContract, StudyPlan
from steelyard.report.stored.certificate import FOLDER, make_part, read_certificate, save_certificate
from steelyard.report.study_summary.read_results import of_lines
from steelyard.report.study_summary.summarise import summarise_study
from steelyard.store.entry import Entry, entry_of_line
from steelyard.store.query import Query
from steelyard.store.store import Store
from steelyard.study.protocol.folder import STUDIES, StudyFolder
from steelyard.study.self_test import SelfTestResult
from steelyard.web.records import Records
from steelyard.web.study import summaries

STUDY = "5" * 64
TWO = {"careful": 0.7, "quick": 0.4}
CONTRACT = "task-000"
DIGEST = hashlib.sha256(CONTRACT.encode()).hexdigest()


@contextmanager
def viewing_lines(root: Path, lines: list[dict[str, Any]]) -> Iterator[Viewer]:
    """A viewer of sealed runs that all have the same change; what the index says of each is its line."""
    by_run = {line["run"]: line for line in lines}
    for run in by_run:
        make_sealed_run(root, run)

    def read(folder: RunFolder) -> Entry:
        started = datetime.strptime(folder.run_id[:15], "%Y%m%dT%H%M%S").replace(tzinfo=UTC)
        return entry_of_line(folder.run_id, by_run[folder.run_id], started)

    with viewing(root, Records(root, Store(root, read))) as viewer:
        yield viewer


def lines_of(agents: Mapping[str, float], contracts: int = 1, repeats: int = 2) -> list[dict[str, Any]]:
    return list(made_lines(contracts, repeats, dict(agents)))


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("STEELYARD_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def result(name: str, wanted: str, got: str, came: Any, why: str = "") -> SelfTestResult:
    return SelfTestResult(name, wanted, got, came, why)


GOOD = (
    result("reference", "pass", "pass", "as_expected"),
    result("noop", "fail", "fail", "as_expected", "x <b>"),
)


def test_a_contract_that_was_never_tested_is_not_certified(tmp_path: Path) -> None:
    with viewing_lines(tmp_path / "runs", lines_of({"noop": 0.0})) as viewer:
        page = viewer.ask(f"/contract/{CONTRACT}").text
    assert "not certified yet" in page
    assert "steelyard certify" in page


def test_the_contract_page_shows_what_the_self_test_found(tmp_path: Path) -> None:
    save_certificate(DIGEST, CONTRACT, "reference", make_part(GOOD, (), "bubblewrap"))
    bad = (result("fixtures/pass/a.txt", "at least 0.95", "0.4", "otherwise"),)
    save_certificate(DIGEST, CONTRACT, "fixtures", make_part(bad, (), None))
    with viewing_lines(tmp_path / "runs", lines_of({"noop": 0.0})) as viewer:
        page = viewer.ask(f"/contract/{CONTRACT}").text
    for part in ("holds", "does not hold", "check --reference", "check --fixtures", "NOT as expected"):
        assert part in page, part
    assert "in the sandbox bubblewrap" in page
    assert "x &lt;b&gt;" in page
    assert "not certified yet" not in page


def test_a_self_test_that_the_machine_spoiled_replaces_no_certificate() -> None:
    save_certificate(DIGEST, CONTRACT, "reference", make_part(GOOD, (), None))
    spoiled = make_part((result("reference", "pass", "invalid", "invalid"),), (), None)
    save_certificate(DIGEST, CONTRACT, "reference", spoiled)
    assert read_certificate(DIGEST)["reference"].holds


@pytest.mark.parametrize("text", ["", "[]", '{"schema": "steelyard.certificate/1"}', "null"])
def test_a_certificate_that_cannot_be_read_certifies_nothing(own_cache: Path, text: str) -> None:
    (own_cache / FOLDER).mkdir(parents=True)
    (own_cache / FOLDER / f"{DIGEST}.json").write_text(text)
    assert read_certificate(DIGEST) == {}


def test_a_certificate_of_another_contract_certifies_nothing(own_cache: Path) -> None:
    save_certificate("0" * 64, CONTRACT, "reference", make_part(GOOD, (), None))
    folder = own_cache / FOLDER
    (folder / f"{'0' * 64}.json").rename(folder / f"{DIGEST}.json")
    assert read_certificate(DIGEST) == {}
    assert read_certificate("../../etc/passwd") == {}


def test_equal_changes_with_different_verdicts_are_flaky(tmp_path: Path) -> None:
    with viewing_lines(tmp_path / "runs", lines_of({"noop": 0.0, "reference": 1.0})) as viewer:
        page = viewer.ask(f"/contract/{CONTRACT}").text
    assert "1 change passed in one run and failed in another" in page
    assert "Equal changes with different verdicts" in page


def test_equal_changes_with_one_verdict_are_not_flaky(tmp_path: Path) -> None:
    with viewing_lines(tmp_path / "runs", lines_of({"noop": 0.0})) as viewer:
        assert "No change has both passed and failed" in viewer.ask(f"/contract/{CONTRACT}").text


def register(root: Path) -> None:
    """Two contracts, three repeats; one contract has no reference."""
    agents = tuple(
        PlannedAgent(agent=name, name=name, role="baseline", identity="1" * 64)
        for name in ("noop", "reference")
    )
    contracts = tuple(
        PlannedContract(
            id=name,
            digest=hashlib.sha256(name.encode()).hexdigest(),
            stratum="python",
            path=name,
            has_reference=name == CONTRACT,
        )
        for name in (CONTRACT, "task-001")
    )
    plan = StudyPlan(name="pilot", repeats=3, agents=agents, contracts=contracts)
    StudyFolder(root / STUDIES / STUDY[:16]).begin(plan)


def test_the_study_page_compares_planned_trials_with_those_that_have_a_result(tmp_path: Path) -> None:
    """A second run of a trial is no second trial."""
    lines = lines_of({"noop": 0.0, "reference": 1.0})
    again = {**lines[0], "run": "20260307T130000000Z-task-000-noop-00ffff"}
    with viewing_lines(tmp_path / "runs", [*lines, again]) as viewer:
        register(viewer.site.root)
        page = viewer.ask(f"/study/{STUDY}").text
    table = page[page.index("Planned and done") :]
    cells = re.findall(r"<td[^>]*>(.*?)</td>", table[: table.index("</table>")])
    assert cells == [
        *("<b>all contracts</b>", "2 of 6", "2 of 3", "4 of 9"),
        *("task-000", "2 of 3", "2 of 3", "4 of 6"),
        *("task-001", "0 of 3", "not planned", "0 of 3"),
    ]


def test_agents_of_a_study_that_goes_on_are_not_compared_on_any_page(tmp_path: Path) -> None:
    """`steelyard compare` refuses it too: each look at an unfinished study that its plan does not have makes errors more likely."""
    with viewing_lines(tmp_path / "runs", lines_of({"noop": 0.0, "reference": 1.0}, contracts=2)) as viewer:
        register(viewer.site.root)
        compared = viewer.ask("/compare?a=noop&b=reference").text
        whole = viewer.ask("/study/all").text
    assert "Not compared" in compared
    assert "points" not in compared
    assert "agents are not compared" in whole


def test_the_page_of_all_runs_follows_what_is_decided_in_its_studies(tmp_path: Path) -> None:
    """The end of a study or a removed contract changes its numbers, and no run."""
    with viewing_lines(tmp_path / "runs", lines_of({"noop": 0.0, "reference": 1.0}, contracts=2)) as viewer:
        register(viewer.site.root)
        before = viewer.ask("/study/all").text
        StudyFolder(viewer.site.root / STUDIES / STUDY[:16]).add("end", how="complete", why="")
        after = viewer.ask("/study/all").text
    assert "agents are not compared" in before
    assert "agents are not compared" not in after


def test_a_plan_that_cannot_be_read_is_reported(tmp_path: Path) -> None:
    with viewing_lines(tmp_path / "runs", lines_of({"noop": 0.0})) as viewer:
        register(viewer.site.root)
        (viewer.site.root / STUDIES / STUDY[:16] / "plan.json").write_text("{}")
        page = viewer.ask(f"/study/{STUDY}").text
    assert "The plan of this study cannot be read" in page
    assert "Planned and done" not in page


CALIBRATION = {
    "ready": True,
    "agreement": {"rate": 0.9, "successes": 36, "trials": 40, "low": 0.77, "high": 0.96},
    "kappa": {"value": 0.8, "low": 0.6, "high": 1.0},
    "alpha": {"value": 0.8, "low": 0.6, "high": 1.0},
}


def test_a_study_summary_says_whether_its_judge_was_calibrated(tmp_path: Path) -> None:
    lines = [{**line, "folder": str(tmp_path / line["run"])} for line in lines_of({"quick": 0.5})]
    assert "judge not calibrated" in json.dumps(summarise_study(of_lines("made", list(lines))).notes)
    save_calibration(tmp_path, "*", CALIBRATION, "labels.jsonl")
    notes = summarise_study(of_lines("made", list(lines))).notes
    assert "agrees with people on 36 of 40 runs" in notes[-1]


def test_a_study_without_a_judge_says_nothing_about_calibration(tmp_path: Path) -> None:
    lines = [{**line, "folder": str(tmp_path / line["run"])} for line in lines_of({"noop": 0.0})]
    assert "calibrated" not in json.dumps(summarise_study(of_lines("made", list(lines))).notes)


def test_a_page_does_not_wait_for_the_numbers_of_a_large_study(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(summaries, "RUNS_AT_ONCE", 3)  # a study of 12 runs is large
    begin, computed = threading.Event(), threading.Event()

    class Slow(Records):
        def results(self, query: Query) -> Iterator[dict[str, Any]]:
            assert begin.wait(240)
            yield from super().results(query)
            computed.set()

    with viewing(tmp_path, Slow(tmp_path, made_store(tmp_path, 6, 1, agents=TWO))) as viewer:
        waiting = viewer.ask(f"/study/{STUDY}").text
        assert "The numbers of 12 runs are being computed" in waiting
        assert re.search(r'id="numbers" data-running="yes"', waiting)
        assert "Disclosure 1" not in waiting
        begin.set()
        assert computed.wait(240)
        while 'id="numbers" data-running="yes"' in (page := viewer.ask(f"/study/{STUDY}").text):
            continue
        assert "Disclosure 1" in page
        assert "being computed" not in page


def test_a_study_with_more_runs_than_fit_in_memory_says_so_and_names_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("steelyard.web.study.pages.MOST_RUNS", 11)
    with viewing(tmp_path, Records(tmp_path, made_store(tmp_path, 6, 1, agents=TWO))) as viewer:
        page = viewer.ask(f"/study/{STUDY}").text
        assert "12 runs are more than the 11 that a page summarises" in page
        assert "steelyard report --html report.html" in page

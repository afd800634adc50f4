"""Real packages with their own suites: as released they pass, broken they fail, and so does work that breaks more."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from real import PROJECTS, NoIndex, Project, Shop, asked

from steelyard import api
from steelyard.contract.contract import Contract
from workers import once, shared


@pytest.fixture(scope="module", params=PROJECTS, ids=lambda project: project.name)
def shop(
    request: pytest.FixtureRequest, cache: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Shop]:
    project: Project = request.param
    before = os.environ.get("STEELYARD_CACHE")
    os.environ["STEELYARD_CACHE"] = str(cache)
    made = Shop(project, tmp_path_factory.mktemp(project.name))
    try:
        assert made.released
    except NoIndex as absent:
        pytest.skip(str(absent))
    yield made
    os.environ.pop("STEELYARD_CACHE") if before is None else os.environ.update(STEELYARD_CACHE=before)


@pytest.fixture(scope="module")
def ids(shop: Shop, tmp_path_factory: pytest.TempPathFactory) -> tuple[list[str], list[str]]:
    """Tests of one project may be spread over workers: the first of them asks for all."""
    answer = shared(tmp_path_factory) / f"ids-of-{shop.project.name}.json"
    with once(answer) as first:
        if first:
            answer.write_text(json.dumps(shop.ids()))
    broken, sound = json.loads(answer.read_text())
    return broken, sound


@pytest.fixture(scope="module")
def contract(shop: Shop, ids: tuple[list[str], list[str]]) -> Contract:
    return shop.contract("twin", "twin", asked(shop.project, ids))


def test_the_suite_sees_the_bug_and_much_else(ids: tuple[list[str], list[str]]) -> None:
    assert len(ids[0]) >= 1
    assert len(ids[1]) >= 20


def test_the_release_passes_under_control(shop: Shop, contract: Contract) -> None:
    line = api.run_trial(contract, "reference", out=shop.root / "runs")
    assert line["verdict"] == "pass", line["why"]
    assert line["assurance"]["control_coverage"] > 0.5
    # The suite is in the repository: an agent can read it, so its controls are weak, and the label says so.
    assert line["assurance"]["oracle"] == "in_process"
    assert "weak_controls" in {one["id"] for one in line["findings"]}


def test_doing_nothing_fails(shop: Shop, contract: Contract) -> None:
    assert api.run_trial(contract, "noop", out=shop.root / "runs")["verdict"] == "fail"


def test_work_that_breaks_another_line_fails(shop: Shop, contract: Contract) -> None:
    """One such line for each project; CASES=all tries every one that a project has."""
    edits = shop.project.mutants if os.environ.get("CASES") == "all" else shop.project.mutants[:1]
    lines = [api.grade(contract, patch=shop.mutant(edit), out=shop.root / "runs") for edit in edits]
    assert {line["verdict"] for line in lines} == {"fail"}

"""Prices of more than models, as an operator sees them: a plan, a study, its status and its report."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from authoring import FIX, Author, Steelyard
from scripted_judge import judged_by
from steelyard.gateway.scripted import PASS

PRICES = """action_type,unit,unit_price,notes
exec,minute,0.6,one sandbox
overhead,run,0.25,
human,minute,1.0,
judge_request,call,0.5,our own judge
"""


@pytest.fixture
def prices(tmp_path: Path) -> Path:
    file = tmp_path / "prices.csv"
    file.write_text(PRICES)
    return file


def test_the_judge_is_an_item_of_its_own(
    author: Author, steelyard: Steelyard, script: Any, prices: Path
) -> None:
    with judged_by(steelyard, PASS) as judged:
        line = judged("run", author.write(), "--agent", script(FIX), "--cost-model", prices, "--json").line
    item = line["cost"]["items"]["judge"]
    assert (item["usd"], item["method"], item["quantities"]["judge_request/call"]) == (0.5, "csv", 1)
    assert (line["cost"]["usd"], line["cost"]["items"]["lm"]["usd"]) == (0.0, 0.0)  # the agent's, untouched
    grading = json.loads((Path(line["folder"]) / "gradings" / "0001.json").read_text())
    assert grading["judge_cost"] == item
    assert "model judge 0.5000 USD" in " ".join(steelyard("show", "last").out.split())


def test_a_study_shows_its_money_by_item(
    author: Author, steelyard: Steelyard, script: Any, prices: Path, tmp_path: Path
) -> None:
    study, runs = tmp_path / "study.yaml", tmp_path / "runs"
    asked = ("plan", author.write(), "--agent", script(FIX), "--cost-model", prices, "--out", study)
    refused = steelyard(*asked, "--budget", 6)
    assert (refused.code, "no trial could start" in refused.err) == (2, True), refused.err
    table = tmp_path / "cost.csv"
    planned = steelyard(*asked, "--budget", 200, "--review-budget", 20, "--projection", table)
    assert (planned.code, "a run      reserves up to" in planned.out) == (0, True), planned.err
    assert table.read_text().startswith("kind,trials,stage,expected_usd")
    assert table.with_suffix(".json").exists()
    assert "no result" in table.with_suffix(".svg").read_text()
    assert steelyard("study", "run", study, "--runs", runs, "--no-judge", "--json").code == 0
    status = steelyard("study", "status", study, "--runs", runs, "--no-judge", "--json").line
    assert status["spent"]["overhead"] == 0.75
    assert 0 < status["spent"]["execution"] < 50
    assert (status["kept_back_usd"], status["reserved_usd"]) == (20.0, 0.0)
    assert status["left_usd"] == pytest.approx(180 - status["spent_usd"])
    report = steelyard("report", study, "--runs", runs, "--json").line
    assert report["envelope"]["spent"] == status["spent"]
    assert report["disclosures"]["cost_by_phase"]["overhead"]["usd"] == 0.75
    assert report["ranking"]["acceptance_errors"] == "none"

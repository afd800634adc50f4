"""`plan` and `study` as they are typed."""

from __future__ import annotations

import csv
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from authoring import FIX, Author, Steelyard
from gateway_rig import AGENT, FIXING
from steelyard.evidence.folder.folder import find_runs
from steelyard.gateway.scripted import ScriptedModel, environment, serving

TRUE = "mine=command:true"


@pytest.fixture
def planned(steelyard: Steelyard, author: Author, tmp_path: Path) -> Path:
    """A study of one contract and one agent, twice."""
    study = tmp_path / "study.yaml"
    result = steelyard("plan", author.write(), "--agent", TRUE, "--repeats", 2, "--out", study)
    assert result.code == 0, result.err
    return study


def test_a_study_is_planned_run_and_not_repeated(steelyard: Steelyard, planned: Path, tmp_path: Path) -> None:
    rows = list(csv.DictReader(planned.with_suffix(".csv").read_text().splitlines()))
    assert {row["agent"] for row in rows} == {"mine", "noop", "reference"}
    runs = tmp_path / "runs"
    result = steelyard("study", "run", planned, "--runs", runs, "--json")
    assert (result.code, len(result.lines)) == (0, 6), result.err
    assert {line["study"]["name"] for line in result.lines} == {"study"}
    again = steelyard("study", "resume", planned, "--runs", runs, "--json")
    assert (again.code, again.lines) == (0, [])
    status = steelyard("study", "status", planned, "--runs", runs, "--json").line
    assert (status["state"], status["trials"]["finished"], status["trials"]["passed"]) == ("complete", 6, 2)
    assert steelyard("study", "list", "--runs", runs, "--json").line["runs"] == 6
    found = steelyard("runs", "--study", "study", "--agent", "noop", "--runs", runs, "--json")
    assert len(found.lines) == 2


def test_a_plan_registers_its_rule_for_looks(steelyard: Steelyard, author: Author, tmp_path: Path) -> None:
    contract, study = author.write(), tmp_path / "study.yaml"
    asked = ("plan", contract, "--agent", TRUE, "--repeats", 4, "--out", study, "--force")
    result = steelyard(*asked, "--stopping", "pocock", "--looks", 2)
    assert (result.code, "pocock: 2 looks, equally spaced" in result.out) == (0, True), result.err
    assert yaml.safe_load(study.read_text())["stopping"]["looks"] == {"rule": "pocock", "count": 2}
    anytime = steelyard(*asked, "--stopping", "anytime", "--json").line
    assert anytime["stopping"]["looks"] == {"rule": "anytime", "count": None}
    for wrong, words in (
        (("--stopping", "pocock", "--looks", 3), "the 4 repeats are a multiple of them"),
        (("--stopping", "anytime", "--looks", 2), "valid at every look"),
        (("--looks", 2), "--looks needs a rule"),
    ):
        refused = steelyard(*asked, *wrong)
        assert (refused.code, words in refused.err) == (2, True), refused.err
    assert "looks" not in steelyard(*asked, "--json").line["stopping"]


def test_an_edited_plan_is_refused_or_recorded(steelyard: Steelyard, planned: Path, tmp_path: Path) -> None:
    data = yaml.safe_load(planned.read_text())
    data["minimum_effect"] = 0.5
    planned.write_text(yaml.safe_dump(data))
    runs = tmp_path / "runs"
    result = steelyard("study", "run", planned, "--runs", runs)
    assert (result.code, "was edited" in result.err, runs.exists()) == (2, True, False)
    assert steelyard("study", "run", planned, "--runs", runs, "--accept-changes").code == 0
    status = steelyard("study", "status", planned, "--runs", runs, "--json").line
    assert ["was edited" in one["change"] for one in status["deviations"]] == [True]


def test_a_changed_contract_is_refused(
    steelyard: Steelyard, planned: Path, author: Author, tmp_path: Path
) -> None:
    author.write(brief="Something else.")
    result = steelyard("study", "run", planned, "--runs", tmp_path / "runs")
    assert (result.code, "has digest" in result.err) == (2, True)


def test_a_changed_agent_is_refused(steelyard: Steelyard, author: Author, tmp_path: Path) -> None:
    script, study = tmp_path / "agent.sh", tmp_path / "study.yaml"
    script.write_text("true")
    steelyard("plan", author.write(), "--agent", f"script:{script}", "--out", study)
    script.write_text(FIX)
    result = steelyard("study", "run", study, "--runs", tmp_path / "runs")
    assert (result.code, "is not the one that was planned" in result.err) == (2, True)


def test_a_budget_that_one_run_can_exceed_is_refused(steelyard: Steelyard, author: Author) -> None:
    result = steelyard("plan", author.write(), "--agent", TRUE, "--budget", 1)
    assert (result.code, "less than one run may cost" in result.err) == (2, True)


def test_a_plan_is_not_replaced(steelyard: Steelyard, planned: Path, author: Author) -> None:
    result = steelyard("plan", author.folder, "--agent", TRUE, "--out", planned)
    assert (result.code, "--force" in result.err) == (2, True)


def test_a_removal_needs_a_reason_and_is_shown(steelyard: Steelyard, planned: Path, tmp_path: Path) -> None:
    where = ("--runs", tmp_path / "runs")
    assert steelyard("study", "remove", planned, "sum", *where).code == 2
    assert (
        steelyard("study", "remove", planned, "sum", "--reason", "its check reads the clock", *where).code
        == 0
    )
    status = steelyard("study", "status", planned, *where, "--json").line
    assert status["removed"] == {"sum": "its check reads the clock"}


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_study_that_was_stopped_is_resumed_without_a_second_run_of_anything(
    steelyard: Steelyard, author: Author, tmp_path: Path, cache: Path, number: signal.Signals
) -> None:
    study, runs, go = tmp_path / "study.yaml", tmp_path / "runs", tmp_path / "go"
    go.mkdir()
    # The second trial of this agent waits until it is stopped; noop and reference end by themselves.
    waits = f"mine=command:echo working; test -e {go}/now || sleep 600"
    keys = {"budget": {"wall_s": 900, "headroom": {"wall_s": 30}}}
    steelyard(
        "plan", author.write(**keys), "--agent", waits, "--agent-path", go, "--repeats", 1, "--out", study
    )
    words = ["study", "run", str(study), "--runs", str(runs), "--jobs", "2"]
    process = subprocess.Popen(
        [sys.executable, "-m", "steelyard", *words],
        env={**os.environ, "STEELYARD_CACHE": str(cache)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    # A trial has ended when its run is graded, which is after its report was written.
    while len(list(runs.glob("*/gradings/*.json"))) < 2 or not _is_working(runs):
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(number)
    assert process.wait() == (130 if number == signal.SIGINT else -number)
    before = {run.run_id for run in find_runs(runs) if "mine" not in run.run_id}
    (go / "now").touch()
    assert steelyard("study", "resume", study, "--runs", runs).code == 0
    after = [run.run_id for run in find_runs(runs)]
    assert {run for run in after if "mine" not in run} == before
    assert len([run for run in after if "mine" in run]) == 2  # the one that was stopped is kept
    status = steelyard("study", "status", study, "--runs", runs, "--json").line
    assert (status["state"], status["trials"]["finished"]) == ("complete", 3)


def _is_working(runs: Path) -> bool:
    return any(path.read_text() == "working\n" for path in runs.glob("*mine*/agent/stdout.txt"))


def test_a_study_gives_its_agents_the_gateway_and_the_prices_of_its_plan(
    steelyard: Steelyard, author: Author, script: Any, tmp_path: Path
) -> None:
    prices, study, where = tmp_path / "prices.csv", tmp_path / "study.yaml", ("--runs", tmp_path / "runs")
    prices.write_text("action_type,unit,unit_price\nllm_request,token,0.00001\n")
    words = ("--agent", "mine=" + script(AGENT, "agent.py"), "--agent-provider", "anthropic", *where)
    with serving(ScriptedModel(FIXING)) as url:
        env = {**environment(url), "STEELYARD_JUDGE": "off"}
        plan = ("plan", author.write(), *words, "--cost-model", prices)
        result = steelyard(*plan, "--out", study, env=env)
        assert result.code == 0, result.err
        result = steelyard("study", "run", study, *where, "--json", env=env)
        (line,) = [one for one in result.lines if one["agent"] == "mine"]
        assert (line["verdict"], line["cost"]["usd"], line["cost"]["method"]) == ("pass", 0.0315, "csv"), (
            result
        )
        prices.write_text("action_type,unit,unit_price\nllm_request,token,0.00002\n")
        result = steelyard("study", "run", study, *where, env=env)
        assert (result.code, "the cost model" in result.err) == (2, True)
        forecast = steelyard(*plan, "--out", tmp_path / "dear.yaml", "--json", env=env).line["forecast"]
    assert (forecast["usd"]["expected"], forecast["from"]) == (0.063, "3 earlier runs")


def test_a_plan_that_cannot_detect_its_effect_warns(steelyard: Steelyard, author: Author) -> None:
    other = shutil.copytree(author.write(), author.folder.with_name("other"))
    contract = other / "contract.yaml"
    contract.write_text(contract.read_text().replace("id: sum", "id: other"))
    words = ("plan", author.folder, other, "--agent", "a=command:true", "--agent", "b=command:true")
    result = steelyard(*words)
    assert "warning: the main stage begins only with power 0.8, which takes" in result.out, result
    assert "warning" not in steelyard(*words, "--minimum-power", 0, "--force").out

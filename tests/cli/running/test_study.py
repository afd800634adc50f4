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
from steelyard.cli.run_verb import parser_of
from steelyard.evidence.folder.folder import find_runs
from steelyard.gateway.scripted import PASS, ScriptedModel, environment, serving

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
    again = steelyard("study", "resume", planned, "--out", runs, "--json")  # as `run` calls the same folder
    assert (again.code, again.lines) == (0, [])
    report = steelyard("report", planned, "--runs", runs, "--json").line
    assert (report["trials"], report["study"]["name"]) == (6, "study")
    checks = report["repeat_variation"]["checks"]  # 4 runs with an empty change, 2 with that of the reference
    assert (checks["value"], checks["n"]) == (0.0, 6)
    status = steelyard("study", "status", planned, "--runs", runs, "--json").line
    assert (status["state"], status["trials"]["finished"], status["trials"]["passed"]) == ("complete", 6, 2)
    assert steelyard("study", "list", "--runs", runs, "--json").line["runs"] == 6
    found = steelyard("runs", "--study", "study", "--agent", "noop", "--runs", runs, "--json")
    assert len(found.lines) == 2
    kept = steelyard("runs", "gc", "--older-than", 0, "--runs", runs).out
    assert kept.splitlines()[1] == "6 old runs of studies are kept; `--study NAME` chooses those of one"
    assert "cost" in steelyard("runs", "--sort", "cost", "--runs", runs).out.splitlines()[0].split()


def test_a_study_keeps_the_judge_that_it_began_with(
    steelyard: Steelyard, planned: Path, tmp_path: Path
) -> None:
    """Else agents whose trials come later are judged by another model."""
    run = ("study", "run", planned, "--runs", tmp_path / "runs", "--json")
    assert steelyard(*run, "--stage", "shakedown", "--no-judge").code == 0
    with serving(ScriptedModel([PASS])) as url:
        env = environment(url)
        refused = steelyard(*run, env=env)
        assert (refused.code, "the study began with no model" in refused.err) == (2, True), refused.err
        assert steelyard(*run, "--no-judge", "--stage", "shakedown", env=env).code == 0
        assert steelyard(*run, "--accept-changes", env=env).code == 0
    deviations = steelyard("study", "status", planned, "--runs", tmp_path / "runs", "--json").line[
        "deviations"
    ]
    assert ["judged by" in one["change"] for one in deviations] == [True]


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--budget", -1), "--budget: Input should be greater than or equal to 0"),
        (("--budget", "nan"), "--budget: Input should be a finite number"),
        (("--minimum-power", 2), "--minimum-power: Input should be less than or equal to 1"),
        (("--dominance", 0), "--dominance: Input should be greater than 0"),
        (("--review-budget", 5), "give --budget too"),
        (("--projection", "HERE/study.csv"), "the order of the trials goes there"),
        (("--projection", "HERE/nowhere/cost.csv"), "there is no folder"),
        (("--projection", "HERE/cost.csv"), "cost.svg exists"),
    ],
)
def test_an_impossible_plan_is_refused_in_one_line(
    steelyard: Steelyard, author: Author, tmp_path: Path, words: tuple[str, str], why: str
) -> None:
    (tmp_path / "cost.svg").write_text("drawn by somebody")
    option, value = words[0], str(words[1]).replace("HERE", str(tmp_path))
    result = steelyard(
        "plan", author.write(), "--agent", TRUE, "--out", tmp_path / "study.yaml", option, value
    )
    assert (result.code, why in result.err, len(result.err.splitlines())) == (2, True, 1), result.err
    assert not (tmp_path / "study.yaml").exists()


def test_a_key_that_is_missing_is_named_before_anything_runs(
    steelyard: Steelyard, author: Author, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study, runs = tmp_path / "study.yaml", tmp_path / "runs"
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-planned")
    planned = steelyard(
        "plan", author.write(), "--agent", TRUE, "--agent-provider", "anthropic", "--out", study
    )
    assert planned.code == 0, planned.err
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    result = steelyard("study", "run", study, "--runs", runs, "--no-judge")
    assert (result.code, "no key for the models of anthropic" in result.err) == (2, True), result.err
    assert find_runs(runs) == []


def test_a_study_has_a_status_where_the_key_of_its_agent_is_missing(
    steelyard: Steelyard, author: Author, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is asked for in another terminal, too."""
    study, runs = tmp_path / "study.yaml", tmp_path / "runs"
    monkeypatch.setenv("OWN_KEY", "a-key-of-the-agent")
    planned = steelyard("plan", author.write(), "--agent", TRUE, "--agent-env", "OWN_KEY", "--out", study)
    assert planned.code == 0, planned.err
    assert steelyard("study", "run", study, "--runs", runs, "--no-judge").code == 0
    monkeypatch.delenv("OWN_KEY")
    status = steelyard("study", "status", study, "--runs", runs, "--json")
    assert (status.code, status.line["state"], status.line["spent_usd"]) == (0, "complete", 0.0), status.err


def test_a_price_that_prices_nothing_is_named(steelyard: Steelyard, author: Author, tmp_path: Path) -> None:
    prices = tmp_path / "prices.csv"
    prices.write_text("action_type,unit,unit_price\nexec,hour,0.6\n")
    planned = steelyard(
        "plan", author.write(), "--agent", TRUE, "--cost-model", prices, "--out", tmp_path / "study.yaml"
    )
    assert (planned.code, "nothing is metered by exec/hour" in planned.err) == (0, True), planned.err


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


@pytest.mark.parametrize("rule", ["anytime", "obrien-fleming"])
def test_a_study_stops_when_its_registered_rule_decides_and_is_compared_by_that_rule(
    steelyard: Steelyard, author: Author, script: Any, tmp_path: Path, rule: str
) -> None:
    repeats, most = {"anytime": (2, 47), "obrien-fleming": (3, 48)}[
        rule
    ]  # of 48 and of 72 trials, one at a time
    suite = [_renamed(author, f"c{number}") for number in range(8)]
    study, where = tmp_path / "study.yaml", ("--runs", tmp_path / "runs")
    agents = ("--agent", "lazy=command:true", "--agent", "good=" + script(FIX, "fix.sh"))
    rules = ("--stop-when-decided", "--stopping", rule, "--minimum-effect", 0.01, "--minimum-power", 0)
    planned = steelyard(
        "plan", *suite, *agents, *rules, "--repeats", repeats, "--sandbox", "local", "--out", study, *where
    )
    assert planned.code == 0, planned.err
    result = steelyard("study", "run", study, "--json", *where)
    assert (result.code, len(result.lines) <= most) == (1, True), result.err
    assert "stopped: good - lazy: +1.00" in result.err
    assert "excludes differences up to 0.01" in result.err
    compared = steelyard("compare", "lazy", "good", *where)
    said = {"anytime": "(valid at every look)", "obrien-fleming": "one of several looks"}
    assert (compared.code, "good solves more than lazy: +100 points" in compared.out) == (0, True), compared
    assert said[rule] in compared.out


def _renamed(author: Author, name: str) -> Path:
    """The contract of the author under another id, without a reference, so that its baseline takes no time."""
    folder = Author(author.folder.with_name(name))
    written: Path = folder.write(
        id=name, oracle={"checks": [{"id": "adds", "cmd": "sh check.sh", "timeout_s": 60}]}
    )
    return written


def test_an_unfinished_study_without_a_rule_is_not_compared(
    steelyard: Steelyard, author: Author, tmp_path: Path
) -> None:
    study, where = tmp_path / "study.yaml", ("--runs", tmp_path / "runs")
    agents = ("--agent", "one=command:true", "--agent", "two=command:true")
    steelyard("plan", *(_renamed(author, name) for name in ("c1", "c2")), *agents, "--out", study, *where)
    begun = steelyard("study", "run", study, "--stage", "shakedown", *where)
    assert begun.code == 0, begun.err
    assert f"`steelyard study resume {study} --runs {tmp_path / 'runs'}` goes on with pilot" in begun.out
    refused = steelyard("compare", "one", "two", *where)
    assert (refused.code, refused.out) == (2, "")
    assert "3 of 6 planned trials are finished, and the plan has no rule for looking early" in refused.err
    assert "steelyard plan --stopping obrien-fleming" in refused.err


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


@pytest.mark.parametrize("edit", ["repeats", "agent"])
def test_a_plan_with_other_trials_than_its_order_is_refused_in_one_line(
    steelyard: Steelyard, planned: Path, tmp_path: Path, edit: str
) -> None:
    """Else the trials of the plan before the edit would run, under what it says now."""
    data = yaml.safe_load(planned.read_text())
    if edit == "repeats":
        data["repeats"] += 1
    else:
        data["agents"][0]["name"] = "another"
    planned.write_text(yaml.safe_dump(data))
    result = steelyard("study", "run", planned, "--runs", tmp_path / "runs", "--accept-changes")
    assert (result.code, len(result.err.splitlines())) == (2, 1), result.err
    assert "its order has other trials" in result.err


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


def test_a_contract_that_is_planned_twice_is_named(steelyard: Steelyard, author: Author) -> None:
    folder = author.write()
    result = steelyard("plan", folder, "--honeypot", folder, "--agent", TRUE)
    assert (result.code, result.err) == (2, "steelyard: contract sum is planned twice\n")


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
    words = ["study", "run", str(study), "--runs", str(runs), "--no-judge", "--jobs", "2"]
    with (tmp_path / "err").open("wb") as err:
        process = subprocess.Popen(
            [sys.executable, "-m", "steelyard", *words],
            env={**os.environ, "STEELYARD_CACHE": str(cache)},
            stdout=subprocess.DEVNULL,
            stderr=err,
        )
    # A trial has ended when its run is graded, which is after its report was written.
    while len(list(runs.glob("*/gradings/*.json"))) < 2 or not _is_working(runs):
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(number)
    assert process.wait() == (130 if number == signal.SIGINT else -number)
    continues = f"`steelyard study resume {study} --runs {runs} --no-judge` continues the study"
    assert (continues in (tmp_path / "err").read_text()) == (number == signal.SIGINT)
    before = {run.run_id for run in find_runs(runs) if "mine" not in run.run_id}
    (go / "now").touch()
    assert steelyard("study", "resume", study, "--runs", runs, "--no-judge").code == 0
    after = [run.run_id for run in find_runs(runs)]
    assert {run for run in after if "mine" not in run} == before
    assert len([run for run in after if "mine" in run]) == 2  # the one that was stopped is kept
    status = steelyard("study", "status", study, "--runs", runs, "--json").line
    assert (status["state"], status["trials"]["finished"]) == ("complete", 3)
    report = steelyard("report", study, "--runs", runs, "--json").line  # a run that was stopped is no trial
    assert (report["trials"], report["provisional"]) == (3, [])


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


def test_a_study_without_enough_power_is_held_and_says_what_to_type(
    steelyard: Steelyard, author: Author, tmp_path: Path
) -> None:
    study, where = tmp_path / "study.yaml", ("--runs", tmp_path / "runs")
    agents = ("--agent", "one=command:true", "--agent", "two=command:true")
    suite = [_renamed(author, name) for name in ("c1", "c2")]
    steelyard("plan", *suite, *agents, "--repeats", 2, "--out", study, *where)
    held = steelyard("study", "run", study, "--json", *where)
    assert (held.code, len(held.lines)) == (1, 6)
    typed = f"`steelyard study resume {study} --runs {tmp_path / 'runs'} --force-stage main`"
    for words in ("steelyard power", "--minimum-power 0", typed):
        assert words in held.err.splitlines()[-1]
    assert steelyard("study", "list", "--json", *where).line["state"] == "held"
    refused = steelyard("compare", "one", "two", "--study", study, *where)
    assert (refused.code, "6 of 12 planned trials are finished" in refused.err) == (2, True), refused
    assert "the study is held (main does not begin: power" in refused.err
    assert "at a rate of 0.00 (0 of 2 trials) and a correlation of 0.50" in refused.err


def test_a_plan_whose_study_has_no_runs_here_is_named(
    steelyard: Steelyard, planned: Path, tmp_path: Path
) -> None:
    (tmp_path / "runs").mkdir()
    result = steelyard("report", planned, "--runs", tmp_path / "runs")
    assert (result.code, "has no run of the study that" in result.err) == (2, True), result


def test_run_and_study_take_both_names_of_the_folder_of_runs() -> None:
    for name in ("--out", "--runs"):
        assert parser_of("run").parse_args(["c", "--agent", "noop", name, "there"]).out == Path("there")
        assert parser_of("study").parse_args(["run", "s.yaml", name, "there"]).runs == Path("there")


def test_a_study_whose_plan_cannot_be_read_is_named_and_left_out_of_the_list(
    steelyard: Steelyard, tmp_path: Path
) -> None:
    plan = tmp_path / "runs" / "studies" / ("5" * 16) / "plan.json"
    plan.parent.mkdir(parents=True)
    plan.write_text('{"schema": "steelyard.study/1"}')
    listed = steelyard("study", "list", "--runs", tmp_path / "runs")
    assert (listed.code, listed.out) == (0, "")
    assert "plan.json cannot be read: this study is left out" in listed.err

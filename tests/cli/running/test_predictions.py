"""`grade --predictions`: one record for each line, and none twice."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import pytest

from authoring import DEFAULT_FILES, Author, CliResult, Steelyard
from steelyard.cli.console.reporter import Reporter
from steelyard.cli.console.trials import TrialDisplay, planned_rows
from steelyard.cli.running.predictions import read_predictions
from steelyard.contract.load import load_contract
from steelyard.errors import ContractFault, OperatorFault
from steelyard.graders.catalogue import installed_catalogue
from steelyard.plan.trial import Trial

GOOD = DEFAULT_FILES["reference.patch"]


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    for name in ("one", "two", "three"):
        Author(tmp_path / "suite" / name).write(id=name)
    return tmp_path / "suite"


def write(path: Path, *lines: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def verdicts(result: CliResult) -> dict[str, tuple[str, str]]:
    return {line["contract"]["id"]: (line["agent"], line["verdict"]) for line in result.lines}


def test_each_prediction_has_one_record_and_is_not_graded_again(
    steelyard: Steelyard, suite: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    file = write(
        tmp_path / "preds.jsonl",
        {"instance_id": "one", "model_patch": GOOD.rstrip(), "model_name_or_path": "my/agent"},
        {"instance_id": "two", "model_patch": None, "model_name_or_path": "my/agent"},
        {"instance_id": "gone", "model_patch": GOOD},
    )
    words = ("grade", "--predictions", file, suite, "-j", 2, "--out", out, "--json")
    first = steelyard(*words)
    assert verdicts(first) == {
        "one": ("patch:my-agent.patch", "pass"),
        "two": ("patch:my-agent.patch", "fail"),
    }
    assert first.code == 1
    assert "1 predictions have no contract here: gone" in first.err
    assert "1 contracts have no prediction: three" in first.err
    again = steelyard(*words)
    assert {line["folder"] for line in again.lines} == {line["folder"] for line in first.lines}
    assert "2 of 2 were graded before" in again.err
    assert len([path for path in out.iterdir() if path.is_dir()]) == 2
    # Another patch, and a record that was altered, are graded.
    altered = next(line for line in first.lines if line["contract"]["id"] == "two")
    (Path(altered["folder"]) / "change.json").write_text("{}")
    write(file, {"instance_id": "one", "model_patch": "", "model_name_or_path": "my/agent"}, {"instance_id": "two", "model_patch": None, "model_name_or_path": "my/agent"})  # fmt: skip
    third = steelyard(*words)
    assert verdicts(third)["one"] == ("patch:my-agent.patch", "fail")
    assert not {line["run"] for line in third.lines} & {line["run"] for line in first.lines}


def test_a_contract_whose_setup_fails_costs_its_own_prediction_only(
    steelyard: Steelyard, suite: Path, tmp_path: Path
) -> None:
    Author(suite / "two").write(id="two", setup=["exit 7"])
    lines = ({"instance_id": name, "model_patch": GOOD} for name in ("one", "two"))
    file = write(tmp_path / "preds.jsonl", *lines)
    result = steelyard("grade", "--predictions", file, suite, "--json")
    assert verdicts(result) == {"one": ("patch:preds.patch", "pass")}
    assert result.code == 2
    assert "setup[0]" in result.err


def test_predictions_about_other_contracts_are_refused(
    steelyard: Steelyard, suite: Path, tmp_path: Path
) -> None:
    file = write(tmp_path / "preds.jsonl", {"instance_id": "gone", "model_patch": GOOD})
    result = steelyard("grade", "--predictions", file, suite)
    assert (result.code, "no prediction is about a contract of this suite" in result.err) == (2, True)


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("", "has no line"),
        ('{"model_patch": ""}\n', "`instance_id` is missing"),
        ('{"instance_id": "a"}\n', "`model_patch` is missing"),
        ('{"instance_id": "a", "model_patch": 3}\n', "`model_patch` is missing or not text"),
        ('{"instance_id": "a", "model_patch": ""}\n{"instance_id": "a", "model_patch": "x"}\n', ":1 too"),
    ],
)
def test_a_line_that_is_no_prediction_is_refused(tmp_path: Path, text: str, result: str) -> None:
    (tmp_path / "p.jsonl").write_text(text)
    with pytest.raises(OperatorFault, match=result):
        read_predictions(tmp_path / "p.jsonl")


def test_a_line_that_is_no_json_is_refused(tmp_path: Path) -> None:
    (tmp_path / "p.jsonl").write_text("nonsense\n")
    with pytest.raises(ContractFault, match="not a line of JSON"):
        read_predictions(tmp_path / "p.jsonl")


def test_two_models_may_have_a_prediction_for_one_instance(tmp_path: Path) -> None:
    lines = ({"instance_id": "a", "model_patch": "", "model_name_or_path": name} for name in ("x", "y"))
    found = read_predictions(write(tmp_path / "p.jsonl", *lines))
    assert [one.model for one in found] == ["x", "y"]


def test_a_trial_that_waits_is_named_by_its_agent_not_by_the_file_of_its_patch(
    suite: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    patch = tmp_path / "my-agent.patch"
    patch.write_text(GOOD)
    trial = Trial(load_contract(suite / "one", installed_catalogue()), f"patch:{patch}")
    args = argparse.Namespace(no_judge=True, out=tmp_path, json=False, jobs=1)
    TrialDisplay(Reporter(planned_rows([trial], args), as_json=False)).waiting(trial, "waiting for CPUs")
    assert capsys.readouterr().err == "steelyard: one x patch:my-agent.patch: waiting for CPUs\n"

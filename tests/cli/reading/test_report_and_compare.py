"""`report` and `compare` as a user types them, over files of result lines and over run folders."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from authoring import Author, Steelyard


def line(verdict: str, agent: str, contract: str, **more: Any) -> dict[str, Any]:
    return {
        "schema": "steelyard.result/1",
        "run": f"run-{agent}-{contract}",
        "contract": {"id": contract, "digest": contract * 4},
        "agent": agent,
        "verdict": verdict,
        "status": "invalid" if verdict == "invalid" else "scorable",
        "termination": "completed",
        "gates": None,
        "tags": [],
        "cost": {"usd": 0.1},
        "durations": {"wall_s": 1.0},
        "folder": None,
        **more,
    }


def lines(rates: dict[str, float], contracts: int = 30) -> list[dict[str, Any]]:
    generator = random.Random(5)
    return [
        line("pass" if generator.random() < rate else "fail", agent, f"c{number}")
        for number in range(contracts)
        for agent, rate in rates.items()
        for _ in range(2)
    ]


def written(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return path


@pytest.fixture
def results(tmp_path: Path) -> Path:
    return written(tmp_path / "results.jsonl", lines({"old": 0.2, "new": 0.8}))


def test_report_prints_rates_with_intervals_and_denominators(steelyard: Steelyard, results: Path) -> None:
    result = steelyard("report", results)
    assert result.code == 0, result.err
    assert "120 trials (120 runs), 30 contracts, 2 agents" in result.out
    assert " of 60, 30 contracts" in result.out
    assert "new solves more than old" in result.out
    assert "Disclosure 4" not in result.out


def test_report_full_prints_every_table(steelyard: Steelyard, results: Path) -> None:
    result = steelyard("report", results, "--full")
    assert "new: two repeats on one contract have different verdicts in" in result.out
    assert "Disclosure 4" in result.out


def test_report_prints_the_sections_that_were_asked_for(steelyard: Steelyard, results: Path) -> None:
    result = steelyard("report", results, "--section", "cost", "--section", "time")
    assert result.out.startswith("Cost of models (")
    assert "\nTime\n" in result.out
    assert "Outcomes" not in result.out


def test_a_section_that_does_not_exist_is_answered_with_those_that_do(
    steelyard: Steelyard, results: Path
) -> None:
    result = steelyard("report", results, "--section", "costs")
    assert (result.code, "did you mean cost?" in result.err, result.err.count("\n")) == (2, True, 1)


def test_report_as_json_is_one_object_with_the_four_disclosures(steelyard: Steelyard, results: Path) -> None:
    made = steelyard("report", results, "--json").line
    assert made["schema"] == "steelyard.study_summary/1"
    assert {"label_errors", "indeterminate", "cost_by_phase", "reproducibility"} <= set(made["disclosures"])
    assert all(agent["success"]["n"] == 60 for agent in made["agents"])


def test_report_as_markdown_has_tables(steelyard: Steelyard, results: Path) -> None:
    result = steelyard("report", results, "--markdown")
    assert "| agent | success |" in result.out


@pytest.mark.parametrize(
    ("what", "word"), [("nowhere", "nowhere"), ("empty.jsonl", "no result to summarise")]
)
def test_report_of_nothing_says_so(steelyard: Steelyard, tmp_path: Path, what: str, word: str) -> None:
    folder = tmp_path / "cwd"
    (folder / "empty.jsonl").write_text("")
    result = steelyard("report", what, cwd=folder)
    assert result.code == 2
    assert "Traceback" not in result.err
    assert word in result.err or "no such folder" in result.err


def test_compare_says_the_sentence_and_passes_without_a_gate(steelyard: Steelyard, results: Path) -> None:
    result = steelyard("compare", "new", "old", "--runs", results)
    assert result.code == 0, result.err
    assert "old solves less than new" in result.out
    assert "Contracts that differ" in result.out


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["old", "new", "--fail-on-regression"], 0),
        (["new", "old", "--fail-on-regression"], 1),
        (["old", "new", "--fail-on-regression", "0.05"], 0),
        (["new", "old", "--fail-on-regression", "5%"], 1),
        (["new", "old", "--fail-on-regression", "lots"], 2),
        (["new", "other"], 2),
        (["new", "new"], 2),
    ],
)
def test_the_exit_code_is_the_gate(steelyard: Steelyard, results: Path, words: list[str], code: int) -> None:
    assert steelyard("compare", *words, "--runs", results).code == code


def test_an_agent_whose_trials_are_all_errors_fails_the_gate(steelyard: Steelyard, tmp_path: Path) -> None:
    rows = [line("pass", "old", "a"), line("error", "new", "a"), line("invalid", "new", "b")]
    result = steelyard(
        "compare", "old", "new", "--runs", written(tmp_path / "r.jsonl", rows), "--fail-on-regression"
    )
    assert result.code == 1
    assert "new has no decided trial: 1 acceptance error, 1 invalid" in result.out


def test_the_same_agent_of_two_files_is_compared(steelyard: Steelyard, tmp_path: Path) -> None:
    before = written(tmp_path / "before.jsonl", lines({"mine": 0.9}))
    after = written(tmp_path / "after.jsonl", lines({"mine": 0.1}))
    result = steelyard("compare", before, after, "--fail-on-regression", "--json")
    assert result.code == 1
    assert result.line["comparison"]["conclusion"] == "worse"
    assert result.line["gate"]["failed"] is True


def test_run_folders_are_compared_only_under_the_same_conditions(
    steelyard: Steelyard, author: Author, tmp_path: Path
) -> None:
    """Two contracts of one id and other digests: nothing is shared, the difference is listed, and --anyway says so."""
    runs = tmp_path / "runs"
    contract = author.write()
    sandbox = ("--sandbox", "local")
    assert (
        steelyard("run", contract, "--agent", "noop", "--agent", "reference", "--out", runs, *sandbox).code
        == 1
    )
    same = steelyard("compare", "noop", "reference", "--runs", runs)
    assert same.code == 0, same.err
    assert "cannot tell reference from noop yet" in same.out
    author.write(budget={"wall_s": 50, "headroom": {"wall_s": 30}})
    other = tmp_path / "other"
    assert steelyard("run", contract, "--agent", "reference", "--out", other, *sandbox).code == 0
    refused = steelyard("compare", runs, other, "--agent", "reference")
    assert refused.code == 2
    assert "contract digest" in refused.err
    assert "--anyway" in refused.err
    anyway = steelyard("compare", runs, other, "--agent", "reference", "--anyway")
    assert anyway.code == 0
    assert anyway.out.count("NOT COMPARABLE") == 2  # first and last
    made = steelyard("report", runs, "--json").line
    assert {agent["agent"] for agent in made["agents"]} == {"noop", "reference"}
    assert made["deviations"]


def test_rescore_labels_its_numbers_and_leaves_results_alone(steelyard: Steelyard, results: Path) -> None:
    before = results.read_bytes()
    result = steelyard("rescore", results, "--cap", "cost_usd=0.05")
    assert result.code == 0, result.err
    assert result.out.count("COUNTERFACTUAL") == 2
    assert "0% [0%" in result.out
    assert "cap cost_usd: at most 0.05; counted is the cost of the run in dollars" in result.out
    assert results.read_bytes() == before
    assert "no verdict changes" in steelyard("rescore", results, "--cap", "wall_s=100000").out
    assert steelyard("rescore", results, "--cap", "cost_usd").code == 2

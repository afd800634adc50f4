"""A trial that this machine ended and that was run again: its rows say that they are of one trial."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from steelyard.cli.console.reporter import PlannedRows, Reporter
from steelyard.report.one_run import story_of

CAUSE = "the launcher died: " + "word " * 60 + "and here is the end"


def invalid(run: str, **keys: Any) -> dict[str, Any]:
    """A result line, as far as rows and the page of a run read it."""
    return {
        "run": f"20260307T120000123Z-sum-noop-{run}",
        "folder": f"runs/20260307T120000123Z-sum-noop-{run}",
        "contract": {"id": "sum", "digest": "0" * 64},
        "agent": "noop",
        "verdict": "invalid",
        "termination": "infrastructure",
        "rationale": CAUSE,
        "reason": CAUSE,
        "gates": None,
        "grades": [],
        "score": None,
        "reward": None,
        "assurance": {"isolation": "bubblewrap"},
        "durations": {"wall_s": 1.0},
        **keys,
    }


def printed(capsys: pytest.CaptureFixture[str], *lines: dict[str, Any]) -> str:
    with Reporter(PlannedRows([("sum", "noop")], 1), as_json=False) as reporter:
        reporter.finished(lines)
        reporter.summary(lines[-1:])
    return capsys.readouterr().out


def test_the_rows_of_a_repeated_trial_say_which_attempt_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    rows = printed(capsys, invalid("aaaaaa"), invalid("bbbbbb"))
    assert "attempt 1 of 2 of this trial: the launcher died" in rows
    assert "attempt 2 of 2 of this trial: the launcher died" in rows


def test_the_row_of_a_trial_that_was_run_once_names_no_attempt(capsys: pytest.CaptureFixture[str]) -> None:
    assert "attempt" not in printed(capsys, invalid("aaaaaa"))


def test_below_an_invalid_run_stands_the_command_that_prints_its_whole_cause(
    capsys: pytest.CaptureFixture[str],
) -> None:
    rows = printed(capsys, invalid("aaaaaa"), invalid("bbbbbb"))
    assert "`steelyard show aaaaaa --runs runs` prints the whole cause of an invalid run" in rows


def test_no_command_stands_below_runs_that_count(capsys: pytest.CaptureFixture[str]) -> None:
    assert "steelyard show" not in printed(capsys, invalid("aaaaaa", verdict="ungraded"))


def test_below_runs_of_the_usual_folder_the_command_names_no_folder(
    capsys: pytest.CaptureFixture[str],
) -> None:
    line = invalid("aaaaaa")
    line["folder"] = str(Path(".steelyard/runs/x-aaaaaa").absolute())
    assert "`steelyard show aaaaaa` prints" in printed(capsys, line)


def test_the_page_of_an_invalid_run_has_its_whole_cause() -> None:
    assert "and here is the end" in story_of(invalid("aaaaaa"))

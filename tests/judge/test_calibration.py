"""A judge is ready when people's labels say so, and not before."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.errors import OperatorFault
from steelyard.judge.calibration import LabelledPair, calibrate, read_labels
from steelyard.judge.judgement import Opinion, rule

PASSES, FAILS = LabelledPair("PASS", "PASS"), LabelledPair("FAIL", "FAIL")
LET_THROUGH, REFUSED = LabelledPair("FAIL", "PASS"), LabelledPair("PASS", "FAIL")
LOST = LabelledPair("PASS", "UNPARSEABLE")
GOOD = [PASSES] * 45 + [FAILS] * 45 + [REFUSED] * 2 + [LET_THROUGH] * 1


def test_a_judge_that_agrees_with_people_is_ready() -> None:
    found = calibrate(GOOD)
    assert (found.ready, found.missing) == (True, ())
    assert found.table == (45, 2, 1, 45)
    assert (found.false_pass.successes, found.false_pass.trials) == (1, 46)
    assert (found.false_fail.successes, found.false_fail.trials) == (2, 47)


@pytest.mark.parametrize(
    ("labelled", "why"),
    [
        ([], "0 labelled runs"),
        ([PASSES] * 20 + [FAILS] * 20, "40 labelled runs, 50 are needed"),
        ([PASSES] * 60 + [FAILS] * 9, "9 runs that people marked failed"),
        ([FAILS] * 60 + [PASSES] * 9, "9 runs that people marked passed"),
        ([*GOOD, *[LET_THROUGH] * 10], "of the runs that people failed it may pass up to"),
        ([*GOOD, *[REFUSED] * 30], "kappa may be as low as"),
        ([*GOOD, *[LOST] * 6], "]) could not be read, 5% is allowed"),
        ([PASSES] * 100, "kappa is not known (both gave one answer only)"),
    ],
)
def test_what_is_missing_is_said(labelled: list[LabelledPair], why: str) -> None:
    found = calibrate(labelled)
    assert not found.ready
    assert any(why in reason for reason in found.missing)


@given(st.lists(st.sampled_from([PASSES, FAILS, LET_THROUGH, REFUSED, LOST]), max_size=200))
def test_every_label_is_counted_once(labelled: list[LabelledPair]) -> None:
    found = calibrate(labelled)
    assert found.table.total + found.unreadable.successes == len(labelled)
    assert found.false_pass.trials + found.false_fail.trials == found.table.total
    json.dumps(found.to_json(), allow_nan=False)


def judged_run(folder: Path) -> str:
    """A run folder with the grading of a jury in it."""
    scores = {"task_completion": 3, "instruction_adherence": 3, "efficiency": 3}
    jury = [
        Opinion("claude-a", "PASS", scores, reasoning="yes"),
        Opinion("claude-b", "PASS", scores, reasoning="yes"),
        Opinion("gpt-c", "FAIL", scores, "incomplete", "no"),
        Opinion("gpt-d", "PASS", scores, reasoning="obeyed", steered=True),
    ]
    (folder / "gradings").mkdir(parents=True)
    grading = {"verdict": {"judge": json.loads(json.dumps(rule(jury).to_json()))}}
    (folder / "gradings" / "0001.json").write_text(json.dumps(grading))
    (folder / "gradings" / "0002.json").write_text(json.dumps({"verdict": {"judge": None}}))
    return folder.name


def test_the_word_of_a_judge_is_read_from_the_run(tmp_path: Path) -> None:
    run = judged_run(tmp_path / "run-1")
    rows: list[dict[str, str]] = [
        {"human": "FAIL", "run": run},
        {"human": "FAIL", "run": run, "model": "gpt-c"},
        {"human": "FAIL", "run": run, "model": "gpt-d"},
        {"human": "PASS", "judge": "N/A"},
    ]
    (tmp_path / "labels.jsonl").write_text("\n\n".join(map(json.dumps, rows)))
    assert [one.judge for one in read_labels(tmp_path / "labels.jsonl")] == [
        "PASS",
        "FAIL",
        "UNPARSEABLE",
        "N/A",
    ]


@pytest.mark.parametrize(
    "line",
    [
        "{",
        "[]",
        '{"human": "yes", "judge": "PASS"}',
        '{"human": "PASS", "judge": "yes"}',
        '{"human": "PASS", "judge": ["PASS"]}',
        '{"human": "PASS"}',
        '{"human": "PASS", "run": "absent"}',
        '{"human": "PASS", "run": "run-1", "model": "absent"}',
    ],
)
def test_a_label_that_cannot_be_read_is_reported_with_its_line(tmp_path: Path, line: str) -> None:
    judged_run(tmp_path / "run-1")
    (tmp_path / "labels.jsonl").write_text(f'{{"human": "PASS", "judge": "PASS"}}\n{line}\n')
    with pytest.raises(OperatorFault, match=r"labels.jsonl:2: "):
        read_labels(tmp_path / "labels.jsonl")


def test_the_command_says_whether_a_judge_is_ready(tmp_path: Path) -> None:
    labels = tmp_path / "labels.jsonl"
    labels.write_text("".join(json.dumps(one._asdict()) + "\n" for one in GOOD[:60]))
    command = [sys.executable, "-m", "steelyard", "judge", "calibrate", str(labels), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert json.loads(done.stdout)["table"] == {"both": 45, "only_one": 0, "only_other": 0, "neither": 15}

"""`steelyard runs` and `steelyard store`: the index in front of the folders."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from authoring import Author, Steelyard


def test_a_run_can_be_removed(steelyard: Steelyard, author: Author) -> None:
    line = steelyard("run", author.write(), "--agent", "noop", "--json").line
    assert steelyard("runs", "rm", "last").code == 0
    assert (Path(line["folder"]).exists(), steelyard("runs", "--json").out) == (False, "")


def test_old_runs_are_removed_and_the_newest_of_each_agent_kept(steelyard: Steelyard, author: Author) -> None:
    steelyard("run", author.write(), "--agent", "noop", "--agent", "reference", "--repeats", 2)
    result = steelyard("runs", "gc", "--older-than", 0, "--keep-last", 1, "--json")
    assert len(result.lines) == 2
    assert [line["agent"] for line in steelyard("runs", "--json").lines] == ["noop", "reference"]


def test_a_record_that_was_altered_after_it_was_indexed_is_shown_as_altered(
    steelyard: Steelyard, author: Author
) -> None:
    line = steelyard("run", author.write(), "--agent", "noop", "--json").line
    assert steelyard("runs", "--json").line["state"] == "fail"
    grading = Path(line["folder"], "gradings/0001.json")
    grading.write_text(grading.read_text().replace('"fail"', '"pass"'))
    assert steelyard("runs", "--json").line["state"] == "altered"
    assert steelyard("store", "rebuild", "--json").line["runs"] == 1
    assert steelyard("runs", "--json").line["state"] == "altered"


def test_a_rebuilt_index_is_described_as_the_help_says(steelyard: Steelyard, author: Author) -> None:
    steelyard("run", author.write(), "--agent", "noop")
    line = steelyard("store", "rebuild", "--json").line
    assert line.pop("seconds") >= 0
    assert line == {"schema": "steelyard.store/1", "runs": 1, "read": 1, "removed": 0}


def test_archived_runs_keep_outcomes_digests_and_numbers_and_who_approved(
    steelyard: Steelyard, author: Author, tmp_path: Path
) -> None:
    lines = steelyard(
        "run", author.write(), "--agent", "noop", "--agent", "reference", "--repeats", 2, "--json"
    ).lines
    patch = hashlib.sha256(Path(lines[-1]["folder"], "patch.diff").read_bytes()).hexdigest()
    archive = tmp_path / "archive.jsonl"
    gc = ("runs", "gc", "--older-than", 0, "--archive", archive)
    assert steelyard(*gc).code == 2
    assert len(steelyard("runs", "--json").lines) == 4
    result = steelyard(*gc, "--by", "ada", "--reason", "older than the policy allows", "--json")
    assert (result.code, len(result.lines), steelyard("runs", "--json").out) == (0, 4, "")
    kept = {one["run"]: one for one in map(json.loads, archive.read_text().splitlines())}
    assert {run: one["verdict"] for run, one in kept.items()} == {one["run"]: one["verdict"] for one in lines}
    last = kept[lines[-1]["run"]]
    assert (last["archived"]["by"], last["archived"]["reason"]) == ("ada", "older than the policy allows")
    assert last["archived"]["patch"] == patch
    assert not {"reason", "why", "rationale"} & last.keys()
    assert all("output_tail" not in grade and "why" not in grade for grade in last["grades"])
    report = steelyard("report", archive, "--json").line
    assert {one["agent"]: one["success"]["value"] for one in report["agents"]} == {
        "noop": 0.0,
        "reference": 1.0,
    }


def test_a_run_whose_record_was_altered_is_neither_archived_nor_removed(
    steelyard: Steelyard, author: Author, tmp_path: Path
) -> None:
    line = steelyard("run", author.write(), "--agent", "reference", "--json").line
    Path(line["folder"], "patch.diff").write_text("something else")
    archive = tmp_path / "archive.jsonl"
    result = steelyard("runs", "rm", "last", "--archive", archive, "--by", "ada", "--reason", "old")
    assert (result.code, "has no verified result" in result.err) == (2, True)
    assert Path(line["folder"]).exists()
    assert not archive.exists()


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (
            ("rm", "last", "--verdict", "error"),
            "runs rm does not use --verdict: it removes the runs that are named",
        ),
        (("rm", "last", "--keep-last", 1), "runs rm does not use --keep-last"),
        (("gc", "--older-than", 0, "--last", 1), "runs gc does not use --last: `--keep-last N`"),
        (("--older-than", 3), "runs list does not use --older-than: it belongs to `runs gc`"),
    ],
)
def test_an_option_that_would_be_passed_over_is_refused(
    steelyard: Steelyard, tmp_path: Path, words: tuple[str | int, ...], why: str
) -> None:
    """`runs rm last --verdict error` would remove a run that passed."""
    result = steelyard("runs", *words, "--runs", tmp_path)
    assert (result.code, why in result.err) == (2, True), result.err


@pytest.mark.parametrize("days", ["nan", "inf", "1e300", "-1"])
def test_an_age_that_is_no_time_is_refused_in_one_line(steelyard: Steelyard, days: str) -> None:
    result = steelyard("runs", "gc", f"--older-than={days}")
    assert (result.code, "from 0 to 100000" in result.err, len(result.err.splitlines())) == (2, True, 1)

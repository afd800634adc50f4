"""`steelyard runs` and `steelyard store`: the index in front of the folders."""

from __future__ import annotations

from pathlib import Path

from authoring import Author, Steelyard


def test_a_run_can_be_removed(steelyard: Steelyard, author: Author) -> None:
    line = steelyard("run", author.write(), "--agent", "noop", "--json").line
    assert steelyard("runs", "rm", "last").code == 0
    assert (Path(line["folder"]).exists(), steelyard("runs", "--json").out) == (False, "")


def test_old_runs_are_removed_and_the_newest_of_each_agent_kept(steelyard: Steelyard, author: Author) -> None:
    steelyard("run", author.write(), "--agent", "noop", "--agent", "reference", "--repeats", 2)
    said = steelyard("runs", "gc", "--older-than", 0, "--keep-last", 1, "--json")
    assert len(said.lines) == 2
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

"""Gradings are appended, numbered and chained; nothing rewrites one."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from sealed_run import make_grading, make_run, make_sealed_run

from steelyard.errors import OperatorFault
from steelyard.evidence.folder.gradings import append_grading, read_gradings
from steelyard.evidence.folder.seal import check_seal


def test_gradings_are_numbered_from_one_and_name_their_seal(tmp_path: Path) -> None:
    run = make_sealed_run(tmp_path)
    names = [append_grading(run, make_grading(score=score)).name for score in (1, 2, 3)]
    assert names == ["0001.json", "0002.json", "0003.json"]
    assert [grading["score"] for grading in read_gradings(run)] == [1, 2, 3]
    assert {grading["seal"] for grading in read_gradings(run)} == {run.read_json("seal.json")["digest"]}


def test_the_links_of_a_grading_are_ours_and_not_the_callers(tmp_path: Path) -> None:
    run = make_sealed_run(tmp_path)
    append_grading(run, make_grading(number=9, seal="x", previous="y", digest="z"))
    assert check_seal(run) == []


def test_an_incomplete_run_cannot_be_graded(tmp_path: Path) -> None:
    with pytest.raises(OperatorFault, match="not sealed"):
        append_grading(make_run(tmp_path), {})


def test_writers_at_the_same_time_each_get_a_number(tmp_path: Path) -> None:
    run = make_sealed_run(tmp_path)
    data = [make_grading(writer=index) for index in range(8)]
    threads = [threading.Thread(target=append_grading, args=(run, one)) for one in data]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(grading["writer"] for grading in read_gradings(run)) == list(range(8))
    assert check_seal(run) == []

"""What the supervisor lets a story say, and what the controller makes of the stories that it is sent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import steelyard.bench
from steelyard.bench.runners.python import read_stories, report_of_stories

SUPERVISOR: dict[str, Any] = {"__name__": "supervisor"}
SOURCE = Path(steelyard.bench.__file__).parent / "inside" / "python" / "supervisor.py"
exec(compile(SOURCE.read_text(), str(SOURCE), "exec"), SUPERVISOR)  # noqa: S102  # it is sent, never imported

READY: tuple[str, list[str]] = ("ready", [])
PLANNED = [READY, ("plan", ["a", "f.py"]), ("plan", ["b", "f.py"]), ("planned", [])]
RUN = [("start", ["0"]), ("finish", ["0", "passed", ""]), ("start", ["1"]), ("finish", ["1", "failed", "no"])]
WHOLE = [*PLANNED, *RUN, ("end", ["1"])]


def heard(records: list[tuple[str, list[str]]]) -> tuple[Any, list[str]]:
    story = SUPERVISOR["Story"]()
    wrong = [story.hear(kind, words) for kind, words in records]
    return story, [one for one in wrong if one]


def test_a_whole_story_is_heard() -> None:
    story, wrong = heard(WHOLE)
    assert not wrong
    assert story.to_dict()["results"] == [(0, "passed", ""), (1, "failed", "no")]


@pytest.mark.parametrize(
    "records",
    [
        [*PLANNED, ("finish", ["0", "passed", ""])],
        [*PLANNED, ("start", ["0"]), ("start", ["1"])],
        [*PLANNED, ("start", ["0"]), ("finish", ["1", "passed", ""])],
        [*PLANNED, *RUN, ("start", ["0"])],
        [*PLANNED, *RUN, ("finish", ["1", "passed", ""])],
        [*PLANNED, ("start", ["2"])],
        [*PLANNED, ("start", ["-1"])],
        [*PLANNED, ("start", ["0"]), ("finish", ["0", "splendid", ""])],
        [*PLANNED, ("plan", ["c", ""])],
        [*PLANNED, ("planned", [])],
        [("start", ["0"])],
        [("plan", ["a", "f.py"])],
        [("planned", [])],
        [READY, READY],
        [READY, ("own", ["shop"])],
        [READY, ("part", ["shop"])],
        [READY, ("absent", ["pytest"])],
        [*PLANNED, ("start", ["0"]), ("end", ["0"])],
        [*WHOLE, ("end", ["0"])],
        [*WHOLE, ("problem", ["late"])],
        [("boast", ["all passed"])],
        [("plan", ["too", "many", "words"])],
    ],
)
def test_a_record_out_of_order_is_wrong(records: list[tuple[str, list[str]]]) -> None:
    assert heard(records)[1]


def test_a_record_in_the_runners_name_while_the_tree_may_run_is_tampering_and_ignored() -> None:
    story, _ = heard([READY, ("own", ["shop"])])
    assert story.to_dict()["tampering"] == ["the code under test sent a record in the runner's name: own"]
    assert not story.notes["own"]


words = st.sampled_from(["0", "1", "2", "passed", "failed", "a", "", "-1", "9" * 20])
kinds = st.sampled_from(
    ["ready", "own", "absent", "plan", "planned", "start", "finish", "end", "problem", "tampering", "x"]
)


noise = st.tuples(kinds, st.lists(words, max_size=4))


@given(st.lists(noise, max_size=40))
def test_records_in_any_order_are_a_story_or_a_complaint(records: list[tuple[str, list[str]]]) -> None:
    assert is_planned_or_wrong(records)


@given(st.lists(st.tuples(st.integers(0, len(WHOLE)), noise), max_size=2))
def test_a_whole_story_with_more_records_is_a_story_or_a_complaint(
    more: list[tuple[int, tuple[str, list[str]]]],
) -> None:
    records = list(WHOLE)
    for place, record in more:
        records.insert(place, record)
    assert is_planned_or_wrong(records)


def is_planned_or_wrong(records: list[tuple[str, list[str]]]) -> bool:
    """Every result that is kept without a complaint is of a planned test that was started, once."""
    story, wrong = heard(records)
    return bool(wrong) or (
        set(story.results) <= set(range(len(story.plan)))
        and all(outcome in SUPERVISOR["OUTCOMES"] for outcome, _ in story.results.values())
    )


STORY = {
    "plan": [["f.py::a", "f.py"], ["f.py::b", "f.py"]],
    "results": [[0, "passed", ""], [1, "passed", ""]],
    "problems": [],
    "tampering": [],
    "absent": [],
    "end": 0,
    "exit": 0,
    "signal": None,
}


def test_an_agreeing_story_is_a_report() -> None:
    reported = report_of_stories("pytest", [STORY])
    assert [(one.id, one.outcome, one.file) for one in reported.results] == [
        ("f.py::a", "passed", "f.py"),
        ("f.py::b", "passed", "f.py"),
    ]
    assert not reported.problems


@pytest.mark.parametrize(
    "changed",
    [
        {"end": None},
        {"end": None, "exit": None, "signal": 9},
        {"end": 0, "exit": 1},
        {"end": 1, "exit": 1},
        {"results": [[0, "passed", ""]]},
        {"results": [[0, "passed", ""], [1, "failed", ""]]},
        {"problems": ["something"]},
        {"exit": None, "signal": 11},
    ],
)
def test_a_story_that_does_not_fit_together_has_a_problem(changed: dict[str, Any]) -> None:
    assert report_of_stories("pytest", [{**STORY, **changed}]).problems


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("f.py::a", ""),
        ("f.py::a", "g.py"),
        ("f.py::a", "xf.py"),
        ("g/f.py::a", "h/f.py"),
        ("::a", ""),
        ("x", ""),
    ],
)
def test_a_test_that_is_not_in_the_file_of_its_id_is_a_problem(name: str, file: str) -> None:
    story = {**STORY, "plan": [[name, file]], "results": [[0, "passed", ""]]}
    assert report_of_stories("pytest", [story]).problems
    assert not report_of_stories("unittest", [story]).problems


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("f.py::a", "sub/f.py"),
        ("../work/f.py::a", "f.py"),
        ("../usr/lib/x.py::a", ""),
        ("sub/f.py::a", "f.py"),
    ],
)
def test_the_root_of_pytest_may_be_another_than_the_workspace(name: str, file: str) -> None:
    story = {**STORY, "plan": [[name, file]], "results": [[0, "passed", ""]]}
    assert not report_of_stories("pytest", [story]).problems


def test_a_test_that_was_planned_and_never_ended_is_an_error() -> None:
    reported = report_of_stories("pytest", [{**STORY, "results": [[0, "passed", ""]], "end": 1, "exit": 1}])
    assert [one.outcome for one in reported.results] == ["passed", "error"]


def test_of_one_id_reported_twice_the_worst_counts() -> None:
    twice = {
        **STORY,
        "plan": [["f.py::a", "f.py"], ["f.py::a", "f.py"]],
        "results": [[0, "failed", "no"], [1, "passed", ""]],
    }
    assert [one.outcome for one in report_of_stories("pytest", [{**twice, "end": 1, "exit": 1}]).results] == [
        "failed"
    ]


@pytest.mark.parametrize("data", [b"", b"8 passed", b"[]", b"null", b'{"stories": []}', b'{"nonce": 1}'])
def test_without_the_nonce_no_report_is_read(data: bytes) -> None:
    assert read_stories(data, "secret") is None


def test_with_the_nonce_its_stories_are_read() -> None:
    assert read_stories(json.dumps({"nonce": "secret", "stories": [STORY]}).encode(), "secret") == [STORY]

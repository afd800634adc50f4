"""Minutes of people are found while a study runs, and a large study is not looked through all the time."""

from __future__ import annotations

from pathlib import Path

import pytest
from fake_study import FakeStudy
from small_study import MakeContract, folders

from steelyard.evidence.folder.annotations import append_annotation
from steelyard.evidence.folder.folder import RunFolder
from steelyard.plan.trial import Trial
from steelyard.study.protocol.reviews import ReviewCharge, Reviews


class Clock:
    def __init__(self) -> None:
        self.s = 0.0

    def __call__(self) -> float:
        return self.s


def review(run: Path, minutes: float) -> None:
    append_annotation(RunFolder(run), {"kind": "annotation", "annotation": {}, "minutes": minutes})


@pytest.fixture
def trial(fake_study: FakeStudy, contract: MakeContract) -> Trial:
    one = Trial(contract(), "noop")
    list(fake_study.engine().run([one]))
    return one


def test_minutes_are_found_once_and_again_when_more_are_recorded(fake_study: FakeStudy, trial: Trial) -> None:
    reviews = Reviews(fake_study.out, 2.0)
    (run,) = folders(fake_study.out)
    assert reviews.changed(at_once=True) == []
    review(run, 1.5)
    assert reviews.changed(at_once=True) == [ReviewCharge(run.name, trial.id, 3.0)]
    assert reviews.changed(at_once=True) == []
    review(run, 1.0)
    assert reviews.changed(at_once=True) == [ReviewCharge(run.name, trial.id, 5.0)]


def test_a_study_looks_at_most_once_a_minute(fake_study: FakeStudy, trial: Trial) -> None:
    clock = Clock()
    reviews = Reviews(fake_study.out, 2.0, clock)
    reviews.changed()
    (run,) = folders(fake_study.out)
    review(run, 1.5)
    clock.s = 59.0
    assert reviews.changed() == []
    clock.s = 61.0
    assert [one.trial for one in reviews.changed()] == [trial.id]


def test_without_a_price_nothing_is_read(fake_study: FakeStudy, trial: Trial) -> None:
    del trial
    (run,) = folders(fake_study.out)
    review(run, 1.5)
    assert Reviews(fake_study.out, 0.0).changed(at_once=True) == []


def test_a_folder_that_is_not_there_has_no_reviews(tmp_path: Path) -> None:
    assert Reviews(tmp_path / "none", 1.0).changed(at_once=True) == []

"""What is shown while trials run: how they ended so far, and a guess of the time left."""

from __future__ import annotations

import pytest

from steelyard.report.progress import Underway, seconds_left, tally


def test_the_time_left_is_unknown_before_a_trial_has_ended() -> None:
    assert seconds_left(Underway(ended_s=[], running_s=[5.0], waiting=3, jobs=2)) is None


@pytest.mark.parametrize(
    ("underway", "left_s"),
    [
        (Underway([10.0, 20.0], [], 4, 1), 60.0),
        (Underway([10.0, 20.0], [], 4, 2), 30.0),
        (Underway([10.0], [4.0], 0, 1), 6.0),
        (Underway([10.0], [400.0], 1, 1), 10.0),
        (Underway([10.0], [], 0, 1), 0.0),
    ],
)
def test_every_trial_is_expected_to_take_as_long_as_those_that_ended(
    underway: Underway, left_s: float
) -> None:
    assert seconds_left(underway) == left_s


def test_a_tally_has_only_the_verdicts_that_occur() -> None:
    assert tally([{"verdict": "fail"}, {"verdict": "pass"}, {"verdict": "fail"}]) == "1 passed, 2 failed"
    assert tally([{"verdict": "error"}, {"verdict": "invalid"}]) == "1 not decided, 1 invalid"
    assert not tally([])

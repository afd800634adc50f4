"""Room on a disk that is kept for what must be written last."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from steelyard.filesystem.disk_reserve import Reserves
from steelyard.filesystem.plain_file import open_nameless


def test_room_that_a_run_did_not_need_is_kept_for_the_next_run(tmp_path: Path) -> None:
    reserves = Reserves(tmp_path)
    with reserves.one() as first:
        pass
    with reserves.one() as second:
        assert second is first
    reserves.close()


def test_runs_at_the_same_time_have_room_of_their_own(tmp_path: Path) -> None:
    reserves = Reserves(tmp_path)
    with reserves.one() as first, reserves.one() as second:
        assert first is not second
    reserves.close()


def test_room_that_was_given_up_is_taken_again_for_the_next_run(tmp_path: Path) -> None:
    reserves = Reserves(tmp_path)
    with reserves.one() as first:
        first.give_up()
    with reserves.one() as second:
        assert second is not first
        assert second.is_whole
    reserves.close()


@pytest.mark.parametrize("when", ["between runs", "during a run"])
def test_no_room_is_kept_after_the_last_run(tmp_path: Path, when: str) -> None:
    reserves = Reserves(tmp_path)
    with reserves.one() as one:
        if when == "during a run":
            reserves.close()
            assert one.is_whole
    reserves.close()
    assert not one.is_whole
    assert list(tmp_path.iterdir()) == []


def test_a_file_without_a_name_can_be_written_and_read_and_leaves_nothing(tmp_path: Path) -> None:
    descriptor = open_nameless(tmp_path)
    os.write(descriptor, b"text")
    assert os.pread(descriptor, 9, 0) == b"text"
    assert not os.get_inheritable(descriptor)
    os.close(descriptor)
    assert list(tmp_path.iterdir()) == []

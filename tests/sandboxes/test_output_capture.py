"""A stream of any length in, a bounded view out."""

from __future__ import annotations

import hashlib

import pytest

from steelyard.sandboxes.capture import Capture


@pytest.mark.parametrize("size", [0, 1, 9, 10, 11, 500])
@pytest.mark.parametrize("step", [1, 3, 1000])
def test_head_and_tail_are_what_a_slice_would_give(size: int, step: int) -> None:
    data = bytes(index % 251 for index in range(size))
    capture = Capture(10)
    for at in range(0, size, step):
        capture.feed(data[at : at + step])
    captured = capture.captured()
    kept = data if size <= 10 else data[:5] + data[-5:]
    assert captured.head + captured.tail == kept
    assert captured.size == size
    assert captured.sha256 == hashlib.sha256(data).hexdigest()


def test_what_is_left_out_is_said() -> None:
    capture = Capture(4)
    capture.feed(b"abcdefgh")
    assert capture.captured().text == "ab\n... 4 bytes left out ...\ngh"


def test_keeping_nothing_still_counts() -> None:
    capture = Capture(0)
    capture.feed(b"abc")
    assert (capture.captured().head, capture.captured().tail, capture.captured().size) == (b"", b"", 3)

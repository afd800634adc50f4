"""A stream of any length in, a bounded view out."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from steelyard.sandboxes.init.capture import Capture, join_streams


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


def test_a_stream_longer_than_memory_is_kept_from_its_beginning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STEELYARD_CACHE", str(tmp_path))
    data = bytes(index % 251 for index in range(1000))
    capture = Capture(10, 600)
    for at in range(0, 1000, 7):
        capture.feed(data[at : at + 7])
    captured = capture.captured()
    assert captured.head + captured.tail == data[:5] + data[-5:]
    assert b"".join(captured.chunks()) == data[:600]
    assert list(tmp_path.rglob("*")) == [tmp_path / "tmp"]  # the file has no name


def test_a_short_stream_needs_no_file() -> None:
    capture = Capture(10, 600)
    capture.feed(b"0123456789")
    assert capture.captured().spool is None


def test_streams_after_one_another_have_the_digest_of_them_all() -> None:
    one, two = Capture(10), Capture(10)
    one.feed(b"abc")
    two.feed(b"defg")
    both = join_streams([one.captured(), two.captured()], 4, 0)
    assert (both.view, both.size) == (b"ab\n... 3 bytes left out ...\nfg", 7)
    assert both.sha256 == hashlib.sha256(b"abcdefg").hexdigest()

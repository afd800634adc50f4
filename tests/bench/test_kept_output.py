"""What a run keeps of outputs has a limit, for one stream and for all of them."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from steelyard.bench.kept_output import OutputStore, StoredStream
from steelyard.evidence.folder.blobs import Blobs
from steelyard.sandboxes.base import CapturedOutput
from steelyard.sandboxes.init.capture import Capture


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STEELYARD_CACHE", str(tmp_path / "cache"))


def printed(data: bytes, keep_bytes: int = 10, whole_bytes: int = 100) -> CapturedOutput:
    capture = Capture(keep_bytes, whole_bytes)
    capture.feed(data)
    return capture.captured()


def test_what_is_shown_whole_needs_no_blob(tmp_path: Path) -> None:
    assert OutputStore(Blobs(tmp_path)).keep(printed(b"short"), 8) == StoredStream(None, 0)
    assert list(tmp_path.iterdir()) == []


def test_a_stream_within_its_limit_is_whole(tmp_path: Path) -> None:
    kept = OutputStore(Blobs(tmp_path)).keep(printed(b"x" * 90), 8)
    assert kept == StoredStream(hashlib.sha256(b"x" * 90).hexdigest(), 0)


def test_a_stream_over_its_limit_is_kept_from_its_beginning(tmp_path: Path) -> None:
    blobs = Blobs(tmp_path)
    kept = OutputStore(blobs).keep(printed(bytes(range(130))), 8)
    assert (blobs.read(str(kept.blob)), kept.cut) == (bytes(range(100)), 30)


def test_all_streams_of_a_run_have_one_limit(tmp_path: Path) -> None:
    store = OutputStore(Blobs(tmp_path), run_bytes=150)
    assert store.keep(printed(b"x" * 90), 8).blob is not None
    assert store.keep(printed(b"y" * 90), 8) == StoredStream(None, 82)
    assert store.keep(printed(b"z" * 50), 8).blob is not None  # there is still room for this one


def test_a_disk_that_cannot_be_written_costs_the_middle_and_not_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("STEELYARD_CACHE", str(tmp_path / "file"))  # no folder can be made in it
    blobs = Blobs(tmp_path / "blobs")
    kept = OutputStore(blobs).keep(printed(b"a" * 5 + b"b" * 80 + b"c" * 5), 8)
    assert (kept.cut, blobs.read(str(kept.blob))) == (80, b"aaaaa\n... 80 bytes left out ...\nccccc")

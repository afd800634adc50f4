"""Blobs are whole, named by their bytes, and take no more room than they must."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from steelyard.evidence.folder.blobs import Blobs


@pytest.fixture
def blobs(tmp_path: Path) -> Blobs:
    return Blobs(tmp_path / "blobs")


@pytest.mark.parametrize(
    "data", [b"", b"x", bytes(1 << 20), b"x" + bytes(1 << 19), bytes(1 << 18) + b"x", os.urandom(700_000)]
)
def test_bytes_and_streams_are_stored_alike(blobs: Blobs, tmp_path: Path, data: bytes) -> None:
    (tmp_path / "file").write_bytes(data)
    with (tmp_path / "file").open("rb") as stream:
        streamed = blobs.put_stream(stream.fileno())
    assert streamed == Blobs(tmp_path / "others").put_bytes(data)
    assert streamed[:2] == (hashlib.sha256(data).hexdigest(), len(data))
    assert blobs.read(streamed.sha256) == data


def test_a_blob_is_private_and_not_writable(blobs: Blobs) -> None:
    path = blobs.path(blobs.put_bytes(b"x").sha256)
    assert path.stat().st_mode & 0o777 == 0o400
    assert blobs.root.stat().st_mode & 0o777 == 0o700


def test_storing_twice_stores_once_and_leaves_nothing_else(blobs: Blobs) -> None:
    blobs.put_bytes(b"x")
    blobs.put_bytes(b"x")
    assert len([path for path in blobs.root.rglob("*") if path.is_file()]) == 1


@pytest.mark.parametrize("name", ["..", "A" * 64, "0" * 63, "../" * 21 + "x"])
def test_a_name_that_is_no_digest_leads_nowhere(blobs: Blobs, name: str) -> None:
    with pytest.raises(ValueError, match="64 hex"):
        blobs.path(name)


def test_content_that_was_not_carried_is_not_among_the_blobs(blobs: Blobs) -> None:
    assert "" not in blobs
    assert not blobs.path("").exists()
    assert "0" * 64 not in blobs


def test_a_link_planted_in_place_of_a_blob_is_not_followed(blobs: Blobs, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    path = blobs.path("0" * 64)
    path.parent.mkdir(parents=True)
    path.symlink_to(tmp_path / "secret")
    with pytest.raises(OSError, match="symbolic links"):
        blobs.open("0" * 64)

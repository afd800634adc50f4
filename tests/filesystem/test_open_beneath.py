"""A directory below another is opened without following a link, however deep it is."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from steelyard.filesystem import open_beneath as module
from steelyard.filesystem.open_beneath import open_beneath


@pytest.fixture(params=["one call", "each component"])
def root(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """A descriptor of `tmp_path`, on a kernel with openat2 and on one without."""
    if request.param == "each component":
        monkeypatch.setattr(module, "_kernel_walks", lambda: False)
    opened = os.open(tmp_path, os.O_RDONLY)
    yield opened
    os.close(opened)


@contextmanager
def opened_at(root: int, path: str) -> Iterator[int]:
    opened = open_beneath(root, path)
    try:
        yield opened
    finally:
        os.close(opened)


@pytest.mark.parametrize("path", ["", "a", "a/b", "a/b/c"])
def test_the_directory_at_the_path_is_opened(root: int, tmp_path: Path, path: str) -> None:
    (tmp_path / "a/b/c").mkdir(parents=True)
    with opened_at(root, path) as opened:
        assert os.path.samestat(os.fstat(opened), (tmp_path / path).stat())


@pytest.mark.parametrize("path", ["link", "link/b", "a/up/a", "a/file", "a/none", "none/b"])
def test_a_link_a_file_and_a_missing_directory_are_refused(root: int, tmp_path: Path, path: str) -> None:
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "a/file").touch()
    (tmp_path / "a/up").symlink_to("..")
    (tmp_path / "link").symlink_to("a")
    with pytest.raises(OSError, match=r"."):
        open_beneath(root, path)


def test_a_path_longer_than_the_kernel_takes_at_once_is_opened(root: int) -> None:
    names = [f"{number:04}{'x' * 200}" for number in range(60)]
    folder = os.dup(root)
    for name in names:
        os.mkdir(name, dir_fd=folder)
        inner = os.open(name, os.O_RDONLY, dir_fd=folder)
        os.close(folder)
        folder = inner
    with opened_at(root, "/".join(names)) as opened:
        assert os.path.samestat(os.fstat(opened), os.fstat(folder))
    os.close(folder)

"""A directory below another is opened without following a link, however deep it is."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from steelyard.filesystem.open_beneath import open_beneath

Open = Callable[[str], int]


@pytest.fixture
def root(tmp_path: Path) -> Iterator[int]:
    opened = os.open(tmp_path, os.O_RDONLY)
    yield opened
    os.close(opened)


@pytest.fixture(params=[None, False], ids=["as this kernel can", "each component alone"])
def open_path(request: pytest.FixtureRequest, root: int) -> Open:
    """Below `tmp_path`, on this kernel and on one without openat2."""
    return lambda path: open_beneath(root, path, in_one_call=request.param)


@contextmanager
def opened_at(open_path: Open, path: str) -> Iterator[int]:
    opened = open_path(path)
    try:
        yield opened
    finally:
        os.close(opened)


@pytest.mark.parametrize("path", ["", "a", "a/b", "a/b/c"])
def test_the_directory_at_the_path_is_opened(open_path: Open, tmp_path: Path, path: str) -> None:
    (tmp_path / "a/b/c").mkdir(parents=True)
    with opened_at(open_path, path) as opened:
        assert os.path.samestat(os.fstat(opened), (tmp_path / path).stat())


@pytest.mark.parametrize("path", ["link", "link/b", "a/up/a", "a/file", "a/none", "none/b"])
def test_a_link_a_file_and_a_missing_directory_are_refused(
    open_path: Open, tmp_path: Path, path: str
) -> None:
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "a/file").touch()
    (tmp_path / "a/up").symlink_to("..")
    (tmp_path / "link").symlink_to("a")
    with pytest.raises(OSError, match=r"."):
        open_path(path)


def test_a_path_longer_than_the_kernel_takes_at_once_is_opened(root: int, open_path: Open) -> None:
    names = [f"{number:04}{'x' * 200}" for number in range(60)]
    folder = os.dup(root)
    for name in names:
        os.mkdir(name, dir_fd=folder)
        inner = os.open(name, os.O_RDONLY, dir_fd=folder)
        os.close(folder)
        folder = inner
    with opened_at(open_path, "/".join(names)) as opened:
        assert os.path.samestat(os.fstat(opened), os.fstat(folder))
    os.close(folder)

"""A symlink may lead anywhere inside the tree, even to nothing; never out, never round."""

from __future__ import annotations

import errno
import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.filesystem.links import bad_links
from steelyard.filesystem.tree import Entry

FILE = Entry("file", "644", 0, "0" * 64)


def link(target: str) -> Entry:
    return Entry("symlink", target=target)


@pytest.mark.parametrize("target", ["b", "./d/c", "d/../b", "gone", "d", "d/up", ".", "d/./c", "d/up/b"])
def test_a_link_inside_is_fine(target: str) -> None:
    assert bad_links({"a": link(target), "b": FILE, "d/c": FILE, "d/up": link("..")}) == []


@pytest.mark.parametrize(
    ("target", "why"),
    [
        ("/etc/passwd", "is absolute"),
        ("..", "leads out of the repository"),
        ("../x", "leads out of the repository"),
        ("d/../../x", "leads out of the repository"),
        ("d/up/../x", "leads out of the repository"),
        ("a", "is part of a loop"),
        ("./d/back", "is part of a loop"),
    ],
)
def test_a_link_out_or_round_is_named_with_its_reason(target: str, why: str) -> None:
    entries = {"a": link(target), "d/up": link(".."), "d/back": link("../a")}
    assert ("a", why) in bad_links(entries)


@given(
    st.dictionaries(
        st.sampled_from(["a", "b", "d/a", "d/b", "d/e/a"]),
        st.lists(st.sampled_from(["a", "b", "d", "e", ".."]), min_size=1, max_size=4).map("/".join),
        max_size=5,
    )
)
def test_what_the_kernel_follows_out_or_round_is_always_named(links: dict[str, str]) -> None:
    bad = {path for path, _ in bad_links({path: link(target) for path, target in links.items()})}
    with tempfile.TemporaryDirectory() as folder:
        for path, target in links.items():
            place = Path(folder, path)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.symlink_to(target)
        for path in links:
            try:
                harmless = Path(os.path.realpath(Path(folder, path), strict=True)).is_relative_to(folder)
            except OSError as error:
                harmless = error.errno != errno.ELOOP
            assert harmless or path in bad

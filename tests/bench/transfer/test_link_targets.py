"""Where links lead is what the kernel would say, and none leads to what only the bench has."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steelyard.bench.transfer.link_targets import led_to, shows_hidden

NAMES = st.sampled_from(["a", "b", "c"])
PATHS = st.lists(NAMES, min_size=1, max_size=3).map("/".join)
TARGETS = st.lists(st.sampled_from(["a", "b", "c", "..", "."]), min_size=1, max_size=5).map("/".join)


@settings(max_examples=150)
@given(links=st.dictionaries(PATHS, TARGETS, max_size=5), path=PATHS)
def test_a_path_leads_where_the_kernel_says(
    tmp_path_factory: pytest.TempPathFactory, links: dict[str, str], path: str
) -> None:
    root = tmp_path_factory.mktemp("tree")
    made: dict[str, str] = {}
    for at, target in links.items():
        parent = (root / at).parent
        if not any(other == up for other in made for up in _above(at)) and not os.path.lexists(root / at):
            parent.mkdir(parents=True, exist_ok=True)
            (root / at).symlink_to(target)
            made[at] = target
    try:
        wanted = os.path.realpath(root / path, strict=True)
    except OSError:
        return  # nothing is there, or it leads in circles
    if not Path(wanted).is_relative_to(root):
        return  # here `..` of the root is another folder
    assert led_to(path, made) == os.path.relpath(wanted, root).removeprefix(".")


def _above(path: str) -> list[str]:
    names = path.split("/")
    return ["/".join(names[:count]) for count in range(1, len(names))]


def test_a_circle_leads_nowhere() -> None:
    assert led_to("a", {"a": "b", "b": "a"}) is None


HIDDEN = ("tests/expected.txt", "golden/one.txt")
BASELINE = ("tests/guard.py", "src/x.py")


@pytest.mark.parametrize(
    "links",
    [
        {"out": "tests/expected.txt"},
        {"out": "./tests//expected.txt"},
        {"out": "a/expected.txt", "a": "tests"},
        {"out": "golden"},
    ],
)
def test_a_link_to_what_is_hidden_shows_it(links: dict[str, str]) -> None:
    assert shows_hidden("out", links, HIDDEN, BASELINE)


@pytest.mark.parametrize(
    "target", ["tests", "tests/guard.py", "src/x.py", ".", "nowhere", "expected.txt", "out"]
)
def test_other_links_show_nothing_hidden(target: str) -> None:
    assert not shows_hidden("out", {"out": target}, HIDDEN, BASELINE)

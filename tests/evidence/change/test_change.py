"""A change survives its JSON exactly, whatever its paths are made of."""

from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.evidence.change.change import Change, ChangeEntry, GeneratedFiles
from steelyard.evidence.change.renames import fold_exact, with_renames
from steelyard.evidence.finding import Finding
from steelyard.filesystem.tree import Entry

paths = st.binary(min_size=1, max_size=30).map(lambda raw: os.fsdecode(raw.replace(b"\0", b"x")))
files = st.builds(
    Entry, st.just("file"), st.sampled_from(["644", "755"]), st.integers(0, 2**40), st.just("ab" * 32)
)
links = st.builds(lambda target: Entry("symlink", target=target), paths)
sides = st.none() | files | links | st.just(Entry("dir"))
entries = st.builds(ChangeEntry, paths, sides, sides, st.none() | paths)
words = st.text(st.characters(exclude_categories=["Cs"]))
findings = st.builds(Finding, words, st.sampled_from(["info", "warning", "violation"]), words, words)
changes = st.builds(
    Change,
    st.just("0" * 64),
    st.lists(entries).map(tuple),
    st.builds(GeneratedFiles, st.integers(0, 9), st.integers(0, 9), st.just("cd" * 32)),
    st.lists(findings).map(tuple),
    st.booleans(),
)


@given(change=changes)
def test_a_change_is_read_back_as_it_was_written(change: Change) -> None:
    again = Change.from_bytes(change.to_bytes())
    assert again == change
    assert again.digest == change.digest


def test_another_schema_is_refused() -> None:
    with pytest.raises(ValueError, match=r"steelyard\.change/1"):
        Change.from_bytes(b'{"schema": "steelyard.change/2"}')


def file(sha: str, size: int = 3) -> Entry:
    return Entry("file", "644", size, sha * 64)


def test_an_exact_rename_is_folded_into_one_entry() -> None:
    [entry] = fold_exact([ChangeEntry("a", file("1"), None), ChangeEntry("b", None, file("1"))])
    assert (entry.path, entry.renamed_from, entry.paths) == ("b", "a", ("a", "b"))


@pytest.mark.parametrize(
    "entries",
    [
        [
            ChangeEntry("a", file("1"), None),
            ChangeEntry("b", None, file("1")),
            ChangeEntry("c", None, file("1")),
        ],
        [
            ChangeEntry("a", file("1"), None),
            ChangeEntry("a2", file("1"), None),
            ChangeEntry("b", None, file("1")),
        ],
        [ChangeEntry("a", file("1", 0), None), ChangeEntry("b", None, file("1", 0))],
        [ChangeEntry("a", file(""), None), ChangeEntry("b", None, file(""))],
        [ChangeEntry("a", file("1"), file("2")), ChangeEntry("b", None, file("1"))],
    ],
    ids=["copied twice", "deleted twice", "empty", "not carried", "still there"],
)
def test_what_is_not_certainly_a_rename_is_not_folded(entries: list[ChangeEntry]) -> None:
    assert fold_exact(entries) == sorted(entries, key=lambda entry: entry.path)


def test_renames_that_git_sees_are_folded_too() -> None:
    change = Change("0", (ChangeEntry("a", file("1"), None), ChangeEntry("b", None, file("2"))))
    [entry] = with_renames(change, {"b": "a"}).entries
    assert (entry.path, entry.renamed_from) == ("b", "a")


def test_a_rename_of_a_path_that_is_still_there_is_not_believed() -> None:
    change = Change("0", (ChangeEntry("a", file("1"), file("3")), ChangeEntry("b", None, file("2"))))
    assert with_renames(change, {"b": "a", "x": "y"}) == change

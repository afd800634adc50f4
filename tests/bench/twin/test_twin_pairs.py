"""Which result of a control run belongs to which real one, however the tests ended and in whatever order they ran."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.bench.suite.reported import Result, ResultOutcome
from steelyard.bench.twin.pairs import MAX_PARTS, pairs
from steelyard.bench.twin.python.twin import twin_python

SECRET = b"drawn for this grading"
FILE = "tests/test_x.py"
# Rows with whatever is awkward in an id: empty, dashes, brackets, unprintable, other alphabets, swapped.
PARAMETERS = r"""
import pytest


@pytest.mark.parametrize("text, want", [
    ("", ""), ("a-b", "a-b"), ("b", "-"), ("c", "]"), ("d", "x["), ("e", "é\n"), ("f", "\\"), ("g", "\x00"), ("h", 7),
    ("i", -7), ("j", 1.5), ("k", 1e3), ("l", True), ("m", False), ("n", None), ("o", b"raw"), ("p", b"\xff\n"),
    ("q", [1, 2]), ("r", {}), pytest.param("s", "t", id="named"), ("7", 7), ("v", 0x10),
])
def test_cells(text, want):
    assert f(text) == want


@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("want, text", [(1, "a"), (2, "b"), (3, "c")])
@pytest.mark.parametrize("flag", [True, False])
def test_crossed(text, want, size, flag):
    assert f(text, size) == want


@pytest.mark.parametrize("ok", [True, False])
def test_swapped(ok):
    assert f() == ok


@pytest.mark.parametrize("text, want", [("a", 1), ("b", 2)], ids=["one", "two"])
def test_named(text, want):
    assert f(text) == want


class TestBase:
    @pytest.mark.parametrize("text, want", [("a", 1), ("b", 2)])
    def test_inherited(self, text, want):
        assert f(text) == want


class TestHeir(TestBase):
    pass
"""


def results(*names: str, outcomes: str = "", file: str = FILE) -> list[Result]:
    """One for each name, passed unless a letter says that it failed."""
    ends: dict[str, ResultOutcome] = {"p": "passed", "f": "failed"}
    shown = outcomes or "p" * len(names)
    return [Result(f"{file}::{name}", ends[how], file=file) for name, how in zip(names, shown, strict=True)]


def partners(real: list[Result], twin: list[Result], *words: tuple[str, str]) -> dict[str, str]:
    found = pairs(real, twin, {(FILE, "test_a"): words})
    return {name.partition("::")[2]: one.id.partition("::")[2] for name, one in found.items()}


def collected(folder: Path, source: bytes) -> list[str]:
    folder.mkdir()
    (folder / "test_x.py").write_bytes(source)
    result = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", "test_x.py"],
        cwd=folder,
        env={name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")},
        capture_output=True,
        check=True,
        text=True,
    )
    return [line.partition("::")[2] for line in result.stdout.split("\n") if "::" in line]


def test_each_row_is_paired_with_its_own_twin_in_whatever_order_pytest_ran_them(tmp_path: Path) -> None:
    source = PARAMETERS.encode()
    made = twin_python(source, FILE, SECRET)
    assert made is not None
    real, twin = collected(tmp_path / "real", source), collected(tmp_path / "twin", made.source)
    assert len(real) == len(twin) == 22 + 18 + 2 + 2 + 4
    shuffled = results(*twin)
    random.Random(5).shuffle(shuffled)  # an order, not a secret
    found = pairs(results(*real), shuffled, {(FILE, key): rows for key, rows in made.rows.items()})
    assert {name: one.id for name, one in found.items()} == {
        f"{FILE}::{one}": f"{FILE}::{other}" for one, other in zip(real, twin, strict=True)
    }


def test_rows_that_nothing_foretells_are_paired_in_order_whatever_became_of_them() -> None:
    real = results("test_a[4]", "test_a[9]", "test_a[x0]", outcomes="pfp")
    twin = results("test_a[5]", "test_a[10]", "test_a[x1]", outcomes="pfp")
    assert partners(real, twin) == {
        "test_a[4]": "test_a[5]",
        "test_a[9]": "test_a[10]",
        "test_a[x0]": "test_a[x1]",
    }


def test_twins_that_pass_beyond_the_number_of_failed_rows_belong_to_rows_that_passed() -> None:
    real = results("test_a[4]", "test_a[9]", "test_a[16]", outcomes="pfp")
    found = pairs(real, results("test_a[5]", "test_a[10]", outcomes="pp"), {})
    assert [(name, one.outcome) for name, one in found.items()] == [(real[0].id, "passed")]


def test_twins_that_pass_as_often_as_rows_failed_belong_to_no_row() -> None:
    real = results("test_a[4]", "test_a[9]", "test_a[16]", outcomes="pfp")
    assert not pairs(real, results("test_a[5]", "test_a[10]", outcomes="pf"), {})


def test_an_id_that_two_rows_may_have_is_no_proof() -> None:
    """Then the order decides."""
    real, twin = results("test_a[1-1]", "test_a[7-1]"), results("test_a[1-7]", "test_a[7-7]")
    assert partners(real, twin, ("1", "7")) == {"test_a[1-1]": "test_a[1-7]", "test_a[7-1]": "test_a[7-7]"}


def test_an_id_of_very_many_parts_is_not_taken_apart() -> None:
    long = "-".join("x" * (MAX_PARTS + 1))
    real, twin = results(f"test_a[{long}-1]"), results(f"test_a[{long}-7]")
    assert partners(real, twin, ("1", "7")) == {real[0].id.partition("::")[2]: twin[0].id.partition("::")[2]}


words = st.text("ab1-[]", max_size=3)
ended = st.lists(st.tuples(words, st.sampled_from("pf")), unique_by=lambda one: one[0], max_size=6)


@given(ours=ended, others=ended, changes=st.lists(st.tuples(words, words), max_size=4))
def test_no_row_of_as_many_is_without_a_twin_and_no_twin_has_two_owners(
    ours: list[tuple[str, str]], others: list[tuple[str, str]], changes: list[tuple[str, str]]
) -> None:
    """So more twins that pass than rows that fail are a forged row, whatever the rows are called."""
    size = min(len(ours), len(others))
    real, twin = (
        results(*(f"test_a[{word}]" for word, _ in side), outcomes="".join(how for _, how in side))
        for side in (ours[:size], others[:size])
    )
    found = pairs(real, twin, {(FILE, "test_a"): changes})
    assert found.keys() == {one.id for one in real}
    assert {one.id for one in found.values()} == {one.id for one in twin}


@pytest.mark.parametrize("ends", ["ppp", "fpp", "ffp", "fff"])
def test_how_the_rows_ended_does_not_choose_their_twins(ends: str) -> None:
    real = results("test_a[x-1]", "test_a[y-2]", "test_a[z-2]", outcomes=ends)
    twin = results("test_a[z-9]", "test_a[y-9]", "test_a[x-7]")
    assert partners(real, twin, ("1", "7"), ("2", "9")) == {
        "test_a[x-1]": "test_a[x-7]",
        "test_a[y-2]": "test_a[y-9]",
        "test_a[z-2]": "test_a[z-9]",
    }


def test_rows_of_the_same_words_are_paired_in_order(tmp_path: Path) -> None:
    """Pytest numbers what has the same words, and spells out what was computed."""
    source = (
        b"import pytest\n"
        b'@pytest.mark.parametrize("text, want", [("a", 7), ("a", "7"), ("b", "x" * 3), ("c", 2 ** 3), ("d", 1)])\n'
        b"def test_a(text, want):\n    assert f(text) == want\n"
    )
    made = twin_python(source, FILE, SECRET)
    assert made is not None
    real, twin = collected(tmp_path / "real", source), collected(tmp_path / "twin", made.source)
    assert partners(results(*real), results(*twin), *made.rows["test_a"]) == dict(
        zip(real, twin, strict=True)
    )

"""`--require-assurance` on the verbs that print verdicts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from authoring import FIX, Author, Steelyard


@pytest.fixture
def contract(author: Author) -> Path:
    """One whose only check is an exit code: `oracle: in_process`."""
    folder: Path = author.write()
    return folder


@pytest.fixture
def fix(tmp_path: Path) -> str:
    path = tmp_path / "fix.sh"
    path.write_text(FIX)
    return f"script:{path}"


def test_a_pass_that_is_worth_less_is_not_reported_as_one(
    steelyard: Steelyard, contract: Path, fix: str
) -> None:
    result = steelyard("run", contract, "--agent", fix, "--json", "--require-assurance", "twin")
    assert result.code == 1
    assert (result.line["verdict"], result.line["reward"]) == ("ungraded", None)
    assert result.line["refused"] == "assurance: oracle in_process < twin"
    assert result.line["checks"] == "PASS"  # what was measured stays


def test_the_same_run_passes_where_nothing_is_required(
    steelyard: Steelyard, contract: Path, fix: str
) -> None:
    result = steelyard(
        "run", contract, "--agent", fix, "--json", "--require-assurance", "in_process,tree=fresh"
    )
    assert (result.code, result.line["verdict"], result.line["refused"]) == (0, "pass", None)


def test_an_old_run_can_be_held_against_it(steelyard: Steelyard, contract: Path, fix: str) -> None:
    steelyard("run", contract, "--agent", fix)
    assert steelyard("show").code == 0
    result = steelyard("show", "--require-assurance", "twin")
    assert result.code == 1
    assert "ungraded" in result.out
    assert "refused: assurance: oracle in_process < twin" in result.out


def test_one_run_shows_what_is_missing(steelyard: Steelyard, contract: Path, fix: str) -> None:
    line: dict[str, Any] = steelyard("run", contract, "--agent", fix, "--json").line
    result = steelyard("show", line["run"], "--require-assurance", "runner=reporter")
    assert result.code == 1
    assert "refused: assurance: runner exit_code < reporter" in result.out


def test_a_patch_is_held_against_it(steelyard: Steelyard, contract: Path) -> None:
    patch = contract / "reference.patch"
    result = steelyard("grade", contract, "--patch", patch, "--json", "--require-assurance", "split")
    assert (result.code, result.line["verdict"]) == (1, "ungraded")


@pytest.mark.parametrize("verb", ["run", "grade", "show"])
def test_a_wrong_word_is_found_before_anything_is_spent(
    steelyard: Steelyard, contract: Path, verb: str
) -> None:
    words = {"run": [contract, "--agent", "noop"], "grade": [contract, "--patch", "gone.patch"], "show": []}[
        verb
    ]
    result = steelyard(verb, *words, "--require-assurance", "twins")
    assert result.code == 2
    assert "oracle is one of in_process, twin, split" in result.err

"""`steelyard check`: every mistake before anything is spent."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from authoring import Author, Steelyard


def test_a_sound_contract_is_ok_with_its_digest(steelyard: Callable[..., Any], author: Any) -> None:
    folder = author.write()
    said = steelyard("check", folder)
    assert said.code == 0
    assert said.out.split() == ["ok", "sum", steelyard("check", folder, "--json").line["digest"]]


def test_every_mistake_is_printed_and_the_exit_code_is_2(steelyard: Callable[..., Any], author: Any) -> None:
    said = steelyard("check", author.write(budget={"wal_s": 1}, reward="most"))
    assert said.code == 2
    first, *problems = said.out.splitlines()
    assert first.startswith("wrong")
    assert "budget.wal_s: unknown key (did you mean wall_s?)" in problems[0]
    assert "reward: expected" in problems[1]


def test_a_suite_is_checked_contract_by_contract(
    steelyard: Callable[..., Any], author: Any, tmp_path: Path
) -> None:
    folder = author.write()
    suite = tmp_path / "suite"
    suite.mkdir()
    folder.rename(suite / "good")
    (suite / "bad").mkdir()
    (suite / "bad/contract.yaml").write_bytes(b"\xff")
    said = steelyard("check", suite, "--json")
    assert said.code == 2
    bad, good = said.lines
    assert (bad["ok"], bad["id"], bad["digest"]) == (False, None, None)
    assert bad["problems"] == [
        {
            "where": f"{suite}/bad/contract.yaml:1:1",
            "field": "",
            "message": "not UTF-8 text",
            "fix": "save the file as UTF-8",
            "severity": "error",
        }
    ]
    assert (good["schema"], good["ok"], good["id"]) == ("steelyard.check/1", True, "sum")


def test_a_warning_is_shown_and_is_no_failure(steelyard: Callable[..., Any], author: Any) -> None:
    oracle = {"checks": [{"id": "adds", "cmd": "sh check.sh"}]}
    said = steelyard("check", author.write(oracle=oracle), "--json")
    assert said.code == 0
    (problem,) = said.line["problems"]
    assert problem["severity"] == "warning"
    assert "no reference" in problem["message"]


def test_a_folder_that_is_not_there_is_told_and_hides_no_other(
    steelyard: Callable[..., Any], author: Any, tmp_path: Path
) -> None:
    said = steelyard("check", tmp_path / "gone", author.write())
    assert said.code == 2
    assert "gone: does not exist\n" in said.out
    assert "ok     sum" in said.out


def test_nothing_in_a_contract_reaches_the_terminal_raw(steelyard: Callable[..., Any], author: Any) -> None:
    said = steelyard("check", author.write(**{"\x1b[2Jkey": 1}))
    assert said.code == 2
    assert "\x1b" not in said.out


@pytest.mark.parametrize(
    ("check", "warned"),
    [
        ({"id": "c", "cmd": "true"}, "always passes"),
        (
            {"id": "c", "cmd": "python3 t/a.py", "inject": [{"src": "hidden/a.py", "dest": "t/a.py"}]},
            "stand in for",
        ),
        ({"id": "c", "cmd": "python3 -I t/a.py", "inject": [{"src": "hidden/a.py", "dest": "t/a.py"}]}, ""),
        ({"id": "c", "cmd": "python3 t/a.py"}, ""),
    ],
)
def test_a_check_that_asks_nothing_or_can_be_stood_in_for_is_warned_about(
    steelyard: Steelyard, author: Author, check: dict[str, object], warned: str
) -> None:
    oracle = {"checks": [check], "reference": "reference.patch"}
    said = steelyard("check", author.write(files={"hidden/a.py": "1"}, oracle=oracle), "--json")
    messages = [problem["message"] for problem in said.line["problems"]]
    assert said.code == 0
    assert [warned in message for message in messages] == ([True] if warned else [])


def test_a_frozen_file_that_counts_as_generated_is_warned_about(steelyard: Steelyard, author: Author) -> None:
    frozen = {"type": "tests_unmodified", "paths": ["check.sh"]}
    said = steelyard("check", author.write(graders=[frozen], generated=["*.sh"]), "--json")
    assert ["check.sh matches `generated`" in problem["message"] for problem in said.line["problems"]] == [
        True
    ]

"""docs/verdict.md follows one run through every number; here that run is made and every line compared."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from authoring import DEFAULT_FILES, FIX, ROOT, Author, Steelyard
from steelyard.report.explanation.schema import explanation_schema

PAGE = (ROOT / "docs" / "verdict.md").read_text()


def block(language: str) -> str:
    found = re.search(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    assert found
    return found[1]


def without_seq(text: str) -> str:
    """How many events a run has is not the page's concern."""
    return re.sub(r"events\.jsonl#\d+", "events.jsonl#N", text)


@pytest.fixture
def example(tmp_path: Path, script: Callable[[str], str], steelyard: Steelyard) -> dict[str, Any]:
    folder = tmp_path / "example"
    for name, text in DEFAULT_FILES.items():
        if name.startswith("repo/"):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)
    (folder / "contract.yaml").write_text(block("yaml"))
    line: dict[str, Any] = steelyard("run", folder, "--agent", script(block("sh")), "--json").line
    return line


def test_the_page_shows_what_the_command_prints(example: dict[str, Any], steelyard: Steelyard) -> None:
    assert example["reward"] == 0.6644
    printed = without_seq(steelyard("show", "last", "--why").out).splitlines()
    expected = without_seq(block("text")).splitlines()
    assert printed[1 : 1 + len(expected)] == expected


def test_the_explanation_is_valid_json_of_its_schema(example: dict[str, Any], steelyard: Steelyard) -> None:
    result = steelyard("show", "last", "--why", "--json").line
    jsonschema.validate(result, explanation_schema())
    assert (result["consistent"], result["tree"]["value"]) == (True, example["reward"])
    assert example["quality"]["weights"] == {"minimal": 0.5, "trace": 0.25, "maintainability": 0.25}


def test_a_review_stands_beside_the_result_and_the_record_still_holds(
    author: Author, script: Callable[[str], str], steelyard: Steelyard
) -> None:
    run = steelyard("run", author.write(), "--agent", script(FIX), "--json").line
    result = steelyard("review", "last", "--verdict", "fail", "--by", "ada", "--minutes", "2", "--json")
    assert (result.code, result.line["judgment"], result.line["minutes"]) == (0, "fail", 2.0)
    shown = steelyard("show", "last", "--json").line
    assert (shown["verdict"], shown["reward"]) == (run["verdict"], run["reward"]) == ("pass", 1.0)
    assert (shown["review"]["decision"], shown["review"]["minutes"]) == ("fail", 2.0)
    assert steelyard("verify", "last").code == 0
    listed = steelyard("review", "--disagreements", "--json").line
    assert listed["kinds"] == ["people_fail_checks_pass"]


@pytest.mark.parametrize(
    ("words", "described"),
    [
        (("review",), "name a RUN"),
        (("review", "last"), "give --verdict"),
        (("review", "last", "--verdict", "pass"), "give --by"),
        (
            ("review", "last", "--verdict", "pass", "--by", "ada", "--minutes", "nan"),
            "minutes is a number",
        ),
        (
            ("review", "last", "--verdict", "pass", "--by", "ada", "--adjudicate"),
            "nothing to adjudicate",
        ),
        (("show", "--why"), "--why needs a RUN"),
        (("judge", "calibrate", "absent.jsonl"), "cannot be read"),
    ],
)
def test_a_command_that_cannot_be_carried_out_says_why(
    steelyard: Steelyard, reviewed: Path, words: tuple[str, ...], described: str
) -> None:
    result = steelyard(*words, cwd=reviewed)
    assert (result.code, described in result.err) == (2, True)


@pytest.fixture(scope="module")
def reviewed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one graded run, made by hand: no agent is needed to refuse a command."""
    from sealed_run import make_grading, make_sealed_run

    from steelyard.evidence.folder.gradings import append_grading

    where: Path = tmp_path_factory.mktemp("reviewed")
    append_grading(make_sealed_run(where / ".steelyard" / "runs"), make_grading())
    return where


def test_the_contract_of_the_page_has_every_new_key() -> None:
    keys = yaml.safe_load(block("yaml"))
    assert {"quality", "contract_score", "reward", "policy"} <= keys.keys()

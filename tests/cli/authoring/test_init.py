"""`steelyard init`: a contract to start from, that `check` accepts."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml


@pytest.fixture
def upstream(tmp_path: Path) -> Path:
    folder = tmp_path / "upstream"
    folder.mkdir()
    (folder / "a").write_text("1\n")
    git(folder, "init", "-q")
    git(folder, "add", "a")
    git(folder, "commit", "-q", "-m", "one")
    return folder


def git(folder: Path, *arguments: str) -> str:
    own = ["-c", "user.name=Ann", "-c", "user.email=ann@example.org"]
    done = subprocess.run(["git", *own, "-C", folder, *arguments], check=True, capture_output=True, text=True)
    return done.stdout.strip()


def test_a_new_contract_of_a_repository_is_accepted(
    steelyard: Callable[..., Any], tmp_path: Path, upstream: Path
) -> None:
    folder = tmp_path / "new contract!"
    result = steelyard("init", folder, "--git", upstream, "--json")
    wrote = [f"{folder}/{name}" for name in ("contract.yaml", "brief.md", "hidden/test_acceptance.py")]
    assert (result.code, result.line["wrote"]) == (0, wrote)
    written = yaml.safe_load((folder / "contract.yaml").read_text())
    assert written["id"] == "new-contract"
    assert written["repository"]["commit"] == git(upstream, "rev-parse", "HEAD")
    assert steelyard("check", folder).code == 0


def test_a_new_contract_of_a_folder_is_accepted(steelyard: Callable[..., Any], tmp_path: Path) -> None:
    folder = tmp_path / "new"
    (folder / "files").mkdir(parents=True)
    assert steelyard("init", folder, "--tree", folder / "files", "--id", "mine").code == 0
    assert steelyard("check", folder, "--json").line["id"] == "mine"


def test_a_new_contract_of_nothing_is_accepted(steelyard: Callable[..., Any], tmp_path: Path) -> None:
    result = steelyard("init", tmp_path / "new")
    assert result.out.splitlines()[-2:] == [
        f"made  {tmp_path / 'new/repo'}; put the files there that the agent starts from",
        f"next: fill them in, then steelyard check {tmp_path / 'new'}",
    ]
    assert steelyard("check", tmp_path / "new").code == 0


def test_a_new_contract_asks_for_something_and_tells_each_test(
    steelyard: Callable[..., Any], tmp_path: Path
) -> None:
    steelyard("init", tmp_path / "new")
    (tmp_path / "new/repo/a").write_text("1\n")
    line = steelyard("run", tmp_path / "new", "--agent", "noop", "--json").line
    grade = next(grade for grade in line["grades"] if grade["name"] == "acceptance")
    assert (line["verdict"], grade["outcome"]) == ("fail", "fail")
    assert "0 of 1 passed" in grade["why"]


def test_nothing_is_ever_overwritten(steelyard: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "brief.md").write_text("mine\n")
    result = steelyard("init", tmp_path)
    assert result.code == 2
    assert "brief.md exists; nothing was written" in result.err
    assert (tmp_path / "brief.md").read_text() == "mine\n"
    assert not (tmp_path / "contract.yaml").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--git", "gone"], "gone does not exist"),
        (["--tree", "gone"], "gone is not a folder"),
        (["--commit", "0" * 40], "--commit needs --git"),
        (["--git", ".", "--tree", "."], "not both"),
        (["--tree", "/usr"], "must be a folder inside"),
        (["--git", "/usr"], "is not a git repository"),
        (["--git", "/etc/passwd"], "`git bundle list-heads /etc/passwd` names some"),
    ],
)
def test_what_cannot_be_a_source_is_refused(
    steelyard: Callable[..., Any], tmp_path: Path, arguments: list[str], message: str
) -> None:
    result = steelyard("init", tmp_path / "new", *arguments)
    assert result.code == 2
    assert message in result.err
    assert not (tmp_path / "new").exists()


def test_a_commit_that_is_not_there_is_refused(
    steelyard: Callable[..., Any], tmp_path: Path, upstream: Path
) -> None:
    result = steelyard("init", tmp_path / "new", "--git", upstream, "--commit", "0" * 40)
    assert result.code == 2
    assert "no commit" in result.err


def test_a_file_is_not_a_place_for_a_contract(steelyard: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("mine\n")
    for place in (tmp_path / "taken", tmp_path / "taken/new"):
        result = steelyard("init", place)
        assert result.code == 2
        assert "Traceback" not in result.err
    assert (tmp_path / "taken").read_text() == "mine\n"


@pytest.mark.parametrize("name", ["a b", "", "../a", ".a", "a\n"])
def test_an_id_that_check_would_refuse_is_not_written(
    steelyard: Callable[..., Any], tmp_path: Path, name: str
) -> None:
    result = steelyard("init", tmp_path / "new", "--id", name)
    assert result.code == 2
    assert "cannot be an id" in result.err
    assert not (tmp_path / "new").exists()


PROJECTS = {
    "python": {"pyproject.toml": "[project]\nname = 'x'\n"},
    "javascript": {"package.json": "{}"},
    "typescript": {"package.json": "{}", "tsconfig.json": "{}"},
    "go": {"go.mod": "module example.org/x\n\ngo 1.19\n"},
    "rust": {"Cargo.toml": "[package]\nname = 'x'\n"},
    "c": {"Makefile": "all:\n", "x.c": "int x;\n"},
}


@pytest.mark.parametrize("language", PROJECTS)
def test_the_contract_is_for_the_language_of_the_repository(
    steelyard: Callable[..., Any], tmp_path: Path, language: str
) -> None:
    folder = tmp_path / "new"
    (folder / "repo").mkdir(parents=True)
    for name, text in PROJECTS[language].items():
        (folder / "repo" / name).write_text(text)
    assert steelyard("init", folder, "--tree", folder / "repo", "--json").line["language"] == language


@pytest.mark.parametrize("language", PROJECTS)
def test_a_chosen_language_gives_a_contract_that_loads(
    steelyard: Callable[..., Any], tmp_path: Path, language: str
) -> None:
    from steelyard.api import load_contract

    assert steelyard("init", tmp_path / "new", "--language", language).code == 0
    (tmp_path / "new/repo/a").write_text("1\n")
    assert load_contract(tmp_path / "new").id == "new"


@pytest.mark.parametrize(
    ("language", "files"),
    [
        ("javascript", {"index.js": "module.exports = 1;\n"}),
        ("c", {"Makefile": "all:\n\ttrue\n"}),
    ],
)
def test_the_first_hidden_test_of_each_language_fails_by_name(
    steelyard: Callable[..., Any], tmp_path: Path, language: str, files: dict[str, str]
) -> None:
    steelyard("init", tmp_path / "new", "--language", language)
    for name, text in files.items():
        (tmp_path / "new/repo" / name).write_text(text)
    line = steelyard("run", tmp_path / "new", "--agent", "noop", "--json").line
    why = next(grade["why"] for grade in line["grades"] if grade["name"] == "acceptance")
    assert "0 of 1 passed" in why
    assert "what must hold once the task is done" in why


def test_a_committed_file_decides_the_language(
    steelyard: Callable[..., Any], tmp_path: Path, upstream: Path
) -> None:
    (upstream / "Cargo.toml").write_text("[package]\nname = 'x'\n")
    assert steelyard("init", tmp_path / "before", "--git", upstream, "--json").line["language"] == "python"
    git(upstream, "add", "Cargo.toml")
    git(upstream, "commit", "-q", "-m", "two")
    assert steelyard("init", tmp_path / "after", "--git", upstream, "--json").line["language"] == "rust"


def test_a_new_question_is_answered_by_its_reference(steelyard: Callable[..., Any], tmp_path: Path) -> None:
    assert steelyard("init", tmp_path / "new", "--question").code == 0
    lines = steelyard("run", tmp_path / "new", "--agent", "reference", "--agent", "noop", "--json").lines
    assert [line["verdict"] for line in lines] == ["pass", "fail"]


def test_a_question_has_no_repository(steelyard: Callable[..., Any], tmp_path: Path, upstream: Path) -> None:
    result = steelyard("init", tmp_path / "new", "--question", "--git", upstream)
    assert result.code == 2
    assert "a question has no repository" in result.err


@pytest.mark.parametrize(
    ("files", "places"),
    [
        (
            {"package.json": "{}", "lib/a.js": "1\n", "test/a.test.js": "1\n", "vite.config.js": "1\n"},
            '["lib/**", "test/**"]',
        ),
        (
            {"go.mod": "module x\n", "main.go": "package main\n", "internal/a/a.go": "package a\n"},
            '["internal/**", "main.go"]',
        ),
        ({"package.json": "{}", "node_modules/a/a.js": "1\n", "docs/a.js": "1\n"}, '["src/**", "tests/**"]'),
    ],
    ids=["javascript", "go", "no sources"],
)
def test_the_paths_that_a_contract_could_allow_are_those_of_the_repository(
    steelyard: Callable[..., Any], tmp_path: Path, files: dict[str, str], places: str
) -> None:
    for name, text in files.items():
        path = tmp_path / "new/repo" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert steelyard("init", tmp_path / "new", "--tree", tmp_path / "new/repo").code == 0
    assert f"#   allowed_paths: {places}\n" in (tmp_path / "new/contract.yaml").read_text()


def test_check_warns_of_a_question_that_is_still_that_of_init(
    steelyard: Callable[..., Any], tmp_path: Path
) -> None:
    steelyard("init", tmp_path / "new", "--question")
    text = steelyard("check", tmp_path / "new").out
    assert "is still the text that `init` wrote" in text
    assert "is still the verifier that `init` wrote" in text
    for name in ("brief.md", "tests/test.sh"):
        path = tmp_path / "new" / name
        path.write_text(path.read_text().replace("1000", "2000").replace("76127", "277050"))
    assert "still" not in steelyard("check", tmp_path / "new").out

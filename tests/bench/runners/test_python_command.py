"""Which commands are Python test commands, and which of their words lead to the change."""

from __future__ import annotations

import shlex
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.bench.runners.catalogue import runner_for
from steelyard.bench.runners.python_command import python_command
from steelyard.bench.suite.command_words import command_words
from steelyard.bench.suite.suite import Suite
from steelyard.bench.transfer.paths_from_change import changed_words, python_modules
from steelyard.filesystem.tree import Entry
from steelyard.sandboxes.base import FileOverlay


@pytest.mark.parametrize(
    ("command", "module", "arguments"),
    [
        ("python -m pytest", "pytest", ()),
        ("python3 -m pytest -q tests", "pytest", ("-q", "tests")),
        ("python3.11 -X dev -W error -u -m pytest -x", "pytest", ("-x",)),
        (".venv/bin/python -m pytest", "pytest", ()),
        ("A=1 PYTHONPATH=. python3 -m pytest -k 'a and b'", "pytest", ("-k", "a and b")),
        ("pytest tests/test_a.py::test_b[1-2]", "pytest", ("tests/test_a.py::test_b[1-2]",)),
        (".venv/bin/pytest -q", "pytest", ("-q",)),
        ("python3 -m unittest discover -s tests", "unittest", ("discover", "-s", "tests")),
        ("python3 -munittest", "unittest", ()),
        ("cd backend && python3 -m pytest", "pytest", ()),
    ],
)
def test_a_python_test_command_is_understood(command: str, module: str, arguments: tuple[str, ...]) -> None:
    found = python_command(command_words(command).argv)
    assert found is not None
    assert (found.module, found.arguments) == (module, arguments)


@pytest.mark.parametrize("command", ["python3 -W error tests/run.py -v", "./tests/run.py -v"])
def test_a_program_is_taken_for_unittest_when_ids_have_the_form_of_its_cases(command: str) -> None:
    suite = suite_of_command(command)
    assert runner_for(suite).NAME == "exit_code"
    assert runner_for(replace(suite, declared=("tests/x.py::test_x",))).NAME == "exit_code"
    assert runner_for(replace(suite, declared=("test_x (pkg.mod.Case)",))).NAME == "unittest"


def suite_of_command(command: str) -> Suite:
    return Suite(command, command_words(command).argv)


@pytest.mark.parametrize(
    "command",
    [
        "python3 tests/run",
        "run.py",
        "python3 -c 'import pytest; pytest.main()'",
        "python3 -m coverage run -m pytest",
        "python3 -m pytest | tee log",
        "python3 -m pytest; true",
        "python3 -m pytest || true",
        "python3 -m pytest $ARGS",
        "python3 -m pytest `cat list`",
        "python3 -m pytest tests/*.py",
        "python3 -m pytest > log",
        "python3 -m pytest # all",
        "cd /etc && python3 -m pytest",
        "cd ../other && python3 -m pytest",
        "make test",
        "pytest-watch",
        "python3 -m",
        "node --test",
        "",
    ],
)
def test_anything_else_is_left_to_others(command: str) -> None:
    assert python_command(command_words(command).argv) is None


def test_the_folder_of_a_command_is_its_own() -> None:
    env, argv, cwd = command_words("cd ./a/b && X='1 2' python3 -m pytest 'it''s'")
    assert (dict(env), argv, cwd) == ({"X": "1 2"}, ("python3", "-m", "pytest", "its"), "a/b")


@given(
    st.lists(
        st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="$`"), min_size=1),
        min_size=1,
    )
)
def test_words_that_were_quoted_come_back_whole(words: list[str]) -> None:
    assert command_words(f"python3 -m pytest {shlex.join(words)}").argv[3:] in ((), tuple(words))


FILE = Entry("file", mode="755")


def link(target: str) -> Entry:
    return Entry("symlink", target=target)


@pytest.mark.parametrize(
    ("overlays", "is_theirs"),
    [
        (FileOverlay(".venv/bin/python", "file"), True),
        (FileOverlay(".venv/bin/python", "gone"), True),
        (FileOverlay(".venv/bin", "symlink", target="../evil"), True),
        (FileOverlay(".venv", "symlink", target="evil"), True),
        (FileOverlay("tools/python3", "file"), True),
        (FileOverlay("shop.py", "file"), False),
        (FileOverlay(".venv/bin/python4", "file"), False),
    ],
)
def test_an_interpreter_that_the_change_touched_is_found_out(
    overlays: FileOverlay, *, is_theirs: bool
) -> None:
    tree = [{"tools/python3": FILE}, {".venv/bin/python": link("../../tools/python3")}]
    found = changed_words([".venv/bin/python", "-m", "pytest"], "", tree, [overlays])
    assert (".venv/bin/python" in found) == is_theirs


def test_a_name_on_path_is_looked_for_in_the_tree() -> None:
    overlays = [FileOverlay("bin/python3", "file", mode="755")]
    assert changed_words(["python3"], "/workspace/bin:/usr/bin", [], overlays) == {"python3"}
    assert changed_words(["python3"], "/usr/bin:/workspace/other", [], overlays) == frozenset()
    assert changed_words(["python3"], "", [], overlays) == frozenset()


def test_links_in_a_circle_are_not_trusted() -> None:
    tree = [{"a": link("b"), "b": link("a")}]
    assert changed_words(["./a/python"], "", tree, []) == {"./a/python"}


def test_the_modules_of_a_tree_are_those_that_can_be_imported() -> None:
    paths = ["setup.py", "src/attr/__init__.py", "lib/old.py", "pkg/sub/deep.py", "ns/mod.py", "docs/a.md"]
    assert python_modules(paths) == {"setup", "attr", "old", "ns"}

"""Hidden test files get unpredictable names, unless something depends on their own."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from steelyard.bench.runners.base import RunnerResult
from steelyard.bench.suite.randomise_names import RandomisedNames, randomise_names
from steelyard.bench.suite.reported import Result, SuiteReport
from steelyard.bench.suite.suite import Suite
from steelyard.sandboxes.base import CommandResult, FileOverlay


def hidden(folder: Path, texts: Mapping[str, str]) -> list[FileOverlay]:
    overlays = []
    for number, (path, text) in enumerate(texts.items()):
        (folder / str(number)).write_text(text)
        overlays.append(FileOverlay(path, "file", source=folder / str(number)))
    return overlays


def made(tmp_path: Path, texts: Mapping[str, str], *others: str) -> RandomisedNames:
    return randomise_names(hidden(tmp_path, texts), others)


def test_a_hidden_test_gets_another_name_in_the_same_folder(tmp_path: Path) -> None:
    names = made(tmp_path, {"tests/test_hidden.py": "def test_x(): pass\n"})
    new = names.path("tests/test_hidden.py")
    assert new.startswith("tests/test_h")
    assert new.endswith(".py")
    assert "hidden" not in new


@pytest.mark.parametrize("path", ["test/cart.test.js", "test/cart.spec.ts", "pkg/cart_test.py"])
def test_a_name_still_says_that_it_is_a_test(tmp_path: Path, path: str) -> None:
    new = made(tmp_path, {path: "x\n"}).path(path)
    assert new != path
    assert new.endswith(path.rpartition("cart")[2])


def test_two_runs_have_different_names(tmp_path: Path) -> None:
    texts = {"test_hidden.py": "x = 1\n"}
    assert made(tmp_path, texts).words != made(tmp_path, texts).words


@pytest.mark.parametrize(
    "text",
    [
        "HERE = __file__\n",
        "from . import helpers\n",
        "from .helpers import x\n",
        "import linecache\n",
        "import inspect; inspect.getsource(x)\n",
        "def test_hidden(): pass\n",  # a result's id could not be distinguished from a file's
        "patch('test_hidden.now')\n",
        "const here = __filename;\n",
    ],
)
def test_a_file_that_asks_for_its_name_keeps_it(tmp_path: Path, text: str) -> None:
    assert not made(tmp_path, {"tests/test_hidden.py": text}).words


def test_a_file_that_others_import_keeps_its_name(tmp_path: Path) -> None:
    texts = {"tests/test_hidden.py": "x = 1\n", "tests/test_others.py": "from test_hidden import x\n"}
    assert set(made(tmp_path, texts).words) == {"test_others"}


def test_a_file_of_the_snapshot_and_its_companions_keep_their_names(tmp_path: Path) -> None:
    texts = {"tests/test_cart.py": "x = 1\n"}
    assert not made(tmp_path, texts, "tests/test_cart.py").words
    assert not made(tmp_path, texts, "tests/data/test_cart.json").words


def test_other_hidden_files_keep_their_names(tmp_path: Path) -> None:
    assert not made(tmp_path, {"tests/conftest.py": "", "tests/helpers.py": "", "data.json": ""}).words


def test_the_words_of_a_command_follow(tmp_path: Path) -> None:
    names = made(tmp_path, {"tests/test_hidden.py": "x = 1\n"})
    new = names.words["test_hidden"]
    suite = names.suite(
        Suite(
            "python3 -m unittest tests.test_hidden.Cls",
            (
                "python3",
                "-m",
                "unittest",
                "tests.test_hidden.Cls",
                "tests/test_hidden.py::test_x",
                "test_hidden2",
            ),
            declared=("tests/test_hidden.py::test_x",),
        )
    )
    assert suite.command == f"python3 -m unittest tests.{new}.Cls"
    assert suite.argv[3:] == (f"tests.{new}.Cls", f"tests/{new}.py::test_x", "test_hidden2")
    assert suite.declared == (f"tests/{new}.py::test_x",)


def test_results_have_their_own_names_again(tmp_path: Path) -> None:
    names = made(tmp_path, {"tests/test_hidden.py": "x = 1\n"})
    new = names.words["test_hidden"]
    shown = SuiteReport(
        "pytest",
        "reporter",
        (Result(f"tests/{new}.py::test_x", "failed", f"in tests.{new}", f"tests/{new}.py"),),
        (f"could not collect tests/{new}.py",),
        (f"the code of tests/{new}.py::test_x was replaced",),
    )
    back = names.restore(RunnerResult(CommandResult(1), shown)).reported
    assert back.results == (
        Result("tests/test_hidden.py::test_x", "failed", "in tests.test_hidden", "tests/test_hidden.py"),
    )
    assert new not in "".join((*back.problems, *back.tampering))

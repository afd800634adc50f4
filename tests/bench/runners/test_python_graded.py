"""A contract with Python tests, from the command line to the verdict."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from authoring import PYTHON_FILES, PYTHON_FIX, Author, Steelyard
from offline_pytest import ARCHIVE, SETUP, pytest_archive

FILES = {
    **PYTHON_FILES,
    "repo/tests/test_calc.py": "from calc import add\n\n\ndef test_adds():\n    assert add(2, 3) == 5\n",
}
Script = Callable[[str], str]


@pytest.fixture
def contract(author: Author, tmp_path: Path) -> Callable[..., Path]:
    """A contract whose setup brings pytest, unless it says otherwise."""

    def write(cmd: str = "python3 -m pytest -q", **keys: object) -> Path:
        tools = author.folder / "repo" / "tools"
        tools.mkdir(parents=True, exist_ok=True)
        shutil.copy(pytest_archive(tmp_path), author.folder / "repo" / ARCHIVE)
        checks = [{"id": "adds", "type": "pytest", "cmd": cmd, "timeout_s": 60}]
        oracle = {"mode": "in_process", "checks": checks, "reference": "reference.patch"}
        folder: Path = author.write(FILES, **{"setup": [SETUP], "oracle": oracle, **keys})
        return folder

    return write


def test_a_fix_passes_and_each_test_is_on_record(
    contract: Callable[..., Path], steelyard: Steelyard, script: Script
) -> None:
    result = steelyard("run", contract(), "--agent", script(PYTHON_FIX), "--json")
    assert result.line["verdict"] == "pass", result
    assert result.line["assurance"]["runner"] == "reporter"


def test_settings_in_a_changed_pyproject_do_not_choose_the_tests(
    contract: Callable[..., Path], steelyard: Steelyard, script: Script
) -> None:
    narrow = "printf '[tool.pytest.ini_options]\\npython_functions = [\"smoke_*\"]\\n' > pyproject.toml\n"
    narrow += "printf 'def smoke_ok(): pass\\n' > smoke_test.py\n"
    folder = contract()
    assert steelyard("run", folder, "--agent", script(narrow), "--json").line["verdict"] == "fail"
    assert (
        steelyard("run", folder, "--agent", script(narrow + PYTHON_FIX), "--json").line["verdict"] == "pass"
    )


def test_an_interpreter_that_the_change_brings_is_never_asked(
    contract: Callable[..., Path], steelyard: Steelyard, script: Script
) -> None:
    fake = (
        "mkdir -p venv/bin && printf '#!/bin/sh\\nexit 0\\n' > venv/bin/python && chmod +x venv/bin/python\n"
    )
    result = steelyard(
        "run", contract("venv/bin/python -m pytest -q"), "--agent", script(fake + PYTHON_FIX), "--json"
    )
    assert result.line["verdict"] == "fail"
    assert "`venv/bin/python` comes from the change" in json.dumps(result.line)


def test_a_bench_without_pytest_is_the_contracts_trouble(
    contract: Callable[..., Path], steelyard: Steelyard, script: Script
) -> None:
    result = steelyard("run", contract(setup=[]), "--agent", script(PYTHON_FIX), "--json")
    (grade,) = [one for one in result.line["grades"] if one["name"] == "adds"]
    assert grade["outcome"] == "error"
    assert "pytest is not installed for `python3` on the bench" in grade["why"]

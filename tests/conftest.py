"""What end-to-end tests share: the command as a user types it, and small contracts to type it on.

A module that says `SANDBOXES = ["bubblewrap", "docker"]` has its tests that ask for `kind`, or for a bench, run in each;
the second is skipped where no engine answers.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from contract_folders import ordinary_user, repository, store, writer  # noqa: F401

from authoring import Author, Said, Steelyard
from command_line import run_command
from offline_pytest import home_with_pytest
from python_bench import PythonBench

# Each test process admits its own sandboxes: it does not wait for those of other processes on this machine.
os.environ["STEELYARD_RUNTIME"] = tempfile.mkdtemp(prefix="steelyard-tests-")
atexit.register(shutil.rmtree, os.environ["STEELYARD_RUNTIME"], ignore_errors=True)
for key in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY"):
    os.environ.pop(key, None)  # no test spends anybody's money


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def steelyard(tmp_path: Path, cache: Path) -> Steelyard:
    """Run `steelyard ...` in an empty folder with a cache of the tests' own."""
    where = tmp_path / "cwd"
    where.mkdir(exist_ok=True)

    def run(*arguments: object, env: Mapping[str, str] | None = None, cwd: Path = where) -> Said:
        done = run_command(*arguments, cwd=cwd, env={"STEELYARD_CACHE": str(cache), **(env or {})})
        return Said(done.returncode, done.stdout.decode(), done.stderr.decode())

    return run


@pytest.fixture
def author(tmp_path: Path) -> Author:
    folder = tmp_path / "contract"
    folder.mkdir()
    return Author(folder)


@pytest.fixture
def script(tmp_path: Path) -> Callable[[str], str]:
    """Text -> `script:PATH`, an agent."""

    def write(text: str, name: str = "agent.sh") -> str:
        path = tmp_path / name
        path.write_text(text)
        return f"script:{path}"

    return write


@pytest.fixture(scope="session")
def home_of_pytest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A HOME that has pytest, as setup would leave it."""
    home: Path = home_with_pytest(tmp_path_factory.mktemp("home"))
    return home


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    sandboxes = getattr(metafunc.module, "SANDBOXES", None)
    if sandboxes is not None and "kind" in metafunc.fixturenames:
        metafunc.parametrize("kind", sandboxes, indirect=True, scope="module")


@pytest.fixture(scope="module")
def kind(request: pytest.FixtureRequest) -> str:
    """Which sandbox a test is about: bubblewrap, unless its module says otherwise."""
    return str(getattr(request, "param", "bubblewrap"))


@pytest.fixture
def python_bench(
    tmp_path: Path, home_of_pytest: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> PythonBench:
    """Run the tests of a small tree in a sandbox, as the bench does."""
    monkeypatch.setenv("STEELYARD_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "tree"
    folder.mkdir()
    return PythonBench(folder, home_of_pytest, kind)

from __future__ import annotations

from pathlib import Path

import pytest
from python_bench import PythonBench

from offline_pytest import home_with_pytest


@pytest.fixture(scope="session")
def home_of_pytest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A HOME that has pytest, as setup would leave it."""
    home: Path = home_with_pytest(tmp_path_factory.mktemp("home"))
    return home


@pytest.fixture
def python_bench(tmp_path: Path, home_of_pytest: Path, monkeypatch: pytest.MonkeyPatch) -> PythonBench:
    monkeypatch.setenv("STEELYARD_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "tree"
    folder.mkdir()
    return PythonBench(folder, home_of_pytest)

"""Contracts and a fake study for tests that start no sandbox."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fake_study import FakeStudy

from authoring import Author
from steelyard.api import load_contract
from steelyard.contract.contract import Contract


@pytest.fixture
def fake_study(tmp_path: Path, cache: Path) -> FakeStudy:
    return FakeStudy(tmp_path / "runs", cache)


@pytest.fixture
def contract(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Contract]:
    """An id and keys of a contract -> the contract, loaded."""
    monkeypatch.setenv("STEELYARD_CACHE", str(cache))

    def make(name: str = "sum", **keys: Any) -> Contract:
        folder = tmp_path / name
        folder.mkdir()
        return load_contract(Author(folder).write(id=name, **keys))

    return make

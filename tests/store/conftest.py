"""Stores of either kind."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from shelf import Shelf

from postgres_server import PostgresServer, postgres_server
from steelyard.store.store import Store


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    with postgres_server() as server:
        yield server


@pytest.fixture(params=["sqlite", "postgres"])
def shelf(request: pytest.FixtureRequest, tmp_path: Path) -> Shelf:
    root = tmp_path / "runs"
    root.mkdir()
    url = request.getfixturevalue("postgres").url if request.param == "postgres" else None
    return Shelf(root, url)


@pytest.fixture
def store(shelf: Shelf) -> Iterator[Callable[[], Store]]:
    """Opens and synchronises the store of `shelf`."""
    opened: list[Store] = []

    def make() -> Store:
        opened.append(shelf.open())
        opened[-1].sync()
        return opened[-1]

    yield make
    for one in opened:
        one.close()

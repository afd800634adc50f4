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


@pytest.fixture(scope="session")
def s3() -> Iterator[str]:
    """The address of an S3-compatible server of this process."""
    server = pytest.importorskip("moto.server", reason="moto is not installed")
    one = server.ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    one.start()
    host, port = one.get_host_and_port()
    yield f"http://{host}:{port}"
    one.stop()


@pytest.fixture(params=["file", "s3"])
def url(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "file":
        return f"file://{tmp_path}/blobs"
    import fsspec

    address = request.getfixturevalue("s3")
    monkeypatch.setenv("AWS_ENDPOINT_URL", address)
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    fsspec.filesystem("s3", client_kwargs={"endpoint_url": address}).makedirs("runs", exist_ok=True)
    return f"s3://runs/{tmp_path.name}"

"""Copies of run folders elsewhere: complete or not there, and never trusted by name."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest

from steelyard.errors import InfraFault, OperatorFault
from steelyard.store.blobs import COMPLETE, fetch_run, list_runs, put_run

RUN = "20260307T120000000Z-sum-noop-abcdef"


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
    fsspec.filesystem("s3", client_kwargs={"endpoint_url": address}).mkdir("runs")
    return f"s3://runs/{tmp_path.name}"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    folder = tmp_path / "runs" / RUN
    (folder / "checks/unit").mkdir(parents=True)
    (folder / "seal.json").write_text("{}")
    (folder / "checks/unit/output.bin").write_bytes(bytes(range(256)))
    return folder


@pytest.mark.filterwarnings("ignore")
def test_a_run_comes_back_as_it_was(url: str, run: Path, tmp_path: Path) -> None:
    put_run(url, run)
    put_run(url, run)
    assert list(list_runs(url)) == [RUN]
    fetched = fetch_run(url, RUN, tmp_path / "other")
    assert (fetched / "checks/unit/output.bin").read_bytes() == bytes(range(256))
    assert [path.name for path in (tmp_path / "other").iterdir()] == [RUN]


def test_a_copy_that_is_not_complete_is_not_listed(run: Path, tmp_path: Path) -> None:
    url = f"file://{tmp_path}/blobs"
    put_run(url, run)
    (tmp_path / "blobs" / RUN / COMPLETE).unlink()
    assert list(list_runs(url)) == []
    with pytest.raises(InfraFault):
        fetch_run(url, RUN, tmp_path / "other")


def test_a_damaged_copy_is_refused(run: Path, tmp_path: Path) -> None:
    url = f"file://{tmp_path}/blobs"
    put_run(url, run)
    (tmp_path / "blobs" / RUN / "seal.json").write_text("{ }")
    with pytest.raises(InfraFault, match="damaged"):
        fetch_run(url, RUN, tmp_path / "other")
    assert list((tmp_path / "other").iterdir()) == []


@pytest.mark.parametrize("name", ["../../evil", "/etc/evil", "a/../../evil"])
def test_a_name_that_leaves_the_folder_is_refused(run: Path, tmp_path: Path, name: str) -> None:
    """A worker of a cluster writes what the controller fetches."""
    url = f"file://{tmp_path}/blobs"
    put_run(url, run)
    (tmp_path / "blobs" / RUN / COMPLETE).write_bytes(orjson.dumps({"files": {name: "0" * 64}}))
    with pytest.raises(InfraFault):
        fetch_run(url, RUN, tmp_path / "other")


def test_an_unknown_place_is_the_operators_mistake(run: Path) -> None:
    with pytest.raises(OperatorFault, match="--blobs"):
        put_run("nowhere://x", run)

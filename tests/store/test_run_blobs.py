"""Copies of run folders elsewhere: complete or not there, and never trusted by name."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from steelyard.errors import InfraFault, OperatorFault
from steelyard.store.blobs import COMPLETE, fetch_run, is_complete, put_run
from steelyard.store.place import open_place

RUN = "20260307T120000000Z-sum-noop-abcdef"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    folder = tmp_path / "runs" / RUN
    (folder / "checks/unit").mkdir(parents=True)
    (folder / "seal.json").write_text("{}")
    (folder / "patch.diff").write_bytes(b"")
    (folder / "checks/unit/output.bin").write_bytes(bytes(range(256)))
    return folder


@pytest.mark.filterwarnings("ignore")
def test_a_run_comes_back_as_it_was(url: str, run: Path, tmp_path: Path) -> None:
    put_run(url, run)
    put_run(url, run)
    assert is_complete(open_place(url), RUN)
    fetched = fetch_run(url, RUN, tmp_path / "other")
    assert (fetched / "checks/unit/output.bin").read_bytes() == bytes(range(256))
    assert (fetched / "patch.diff").read_bytes() == b""
    assert [path.name for path in (tmp_path / "other").iterdir()] == [RUN]


def test_a_copy_that_is_not_complete_is_not_fetched(run: Path, tmp_path: Path) -> None:
    url = f"file://{tmp_path}/blobs"
    put_run(url, run)
    (tmp_path / "blobs" / RUN / COMPLETE).unlink()
    assert not is_complete(open_place(url), RUN)
    with pytest.raises(InfraFault, match="not complete"):
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

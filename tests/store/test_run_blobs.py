"""Copies of run folders elsewhere: complete or not there, and never trusted by name."""

from __future__ import annotations

import errno
import hashlib
import os
from pathlib import Path

import orjson
import pytest

from steelyard.errors import InfraFault, OperatorFault
from steelyard.evidence.folder.folder import find_runs
from steelyard.evidence.in_use import InUse
from steelyard.report.stored.open_store import open_store
from steelyard.store.blobs import COMPLETE, RUN_BYTES, fetch_run, is_complete, put_run, sweep_fetches
from steelyard.store.place import Unreachable, open_place

EMPTY = hashlib.sha256(b"").hexdigest()
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
    (tmp_path / "blobs" / RUN / COMPLETE).write_bytes(
        orjson.dumps({"files": {name: EMPTY}, "sizes": {name: 0}})
    )
    with pytest.raises(InfraFault, match="not a name"):
        fetch_run(url, RUN, tmp_path / "other")


def test_a_copy_that_is_larger_than_a_run_is_refused(run: Path, tmp_path: Path) -> None:
    url = f"file://{tmp_path}/blobs"
    put_run(url, run)
    large = {"files": {"blobs/a": EMPTY}, "sizes": {"blobs/a": RUN_BYTES + 1}}
    (tmp_path / "blobs" / RUN / COMPLETE).write_bytes(orjson.dumps(large))
    with pytest.raises(InfraFault, match="8 GB"):
        fetch_run(url, RUN, tmp_path / "other")


def test_a_link_in_a_shared_folder_is_not_followed(run: Path, tmp_path: Path) -> None:
    url = f"file://{tmp_path}/blobs"
    put_run(url, run)
    copied = tmp_path / "blobs" / RUN / "checks/unit/output.bin"
    copied.rename(tmp_path / "elsewhere")
    copied.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InfraFault, match="damaged"):
        fetch_run(url, RUN, tmp_path / "other")


def test_files_are_fetched_in_pieces(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("steelyard.store.blobs._PIECE_BYTES", 100)
    url = f"file://{tmp_path}/blobs"
    put_run(url, run)
    fetched = fetch_run(url, RUN, tmp_path / "other")
    assert (fetched / "checks/unit/output.bin").read_bytes() == bytes(range(256))


def test_a_machine_that_cannot_store_a_copy_says_nothing_of_the_copy(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run counts when there is room; it is not taken for a run that was lost."""

    def fail(*_: object) -> bool:
        raise OSError(errno.ENOSPC, "No space left on device")

    url = f"file://{tmp_path}/blobs"
    put_run(url, run)
    with monkeypatch.context() as patch:
        patch.setattr("steelyard.store.blobs._fetch_file", fail)
        with pytest.raises(Unreachable, match="No space left"):
            fetch_run(url, RUN, tmp_path / "other")
    assert fetch_run(url, RUN, tmp_path / "other").is_dir()


def test_what_a_killed_process_had_fetched_is_no_run_and_is_removed(tmp_path: Path) -> None:
    root = tmp_path / "other"
    left, busy = root / ".fetch-aa", root / ".fetch-bb"
    for folder in (left, busy):
        folder.mkdir(parents=True)
        (folder / "manifest.json").write_text("{}")
        (folder / "seal.json").write_text("{}")
        os.utime(folder, (1, 1))
    with open_store(root) as store:
        store.sync()
        assert store.count() == 0
    assert find_runs(root) == []
    with InUse(busy):
        sweep_fetches(root)
    assert (left.exists(), busy.exists()) == (False, True)


def test_an_unknown_place_is_the_operators_mistake(run: Path) -> None:
    with pytest.raises(OperatorFault, match="--blobs"):
        put_run("nowhere://x", run)

"""Runs that are under way on another machine: what arrives of them, and what is never believed."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path
from typing import Any

import orjson
import pytest

from steelyard.errors import InfraFault
from steelyard.evidence.folder.folder import RunFolder
from steelyard.evidence.unfinished import unfinished_state
from steelyard.report.stored.open_store import read_entry
from steelyard.store import live_part
from steelyard.store.blobs import fetch_run, put_run
from steelyard.store.live_copy import LiveCopies, LiveCopy, forget_parts
from steelyard.store.live_part import Part, Piece, part_name
from steelyard.store.place import StoreFolder, open_place
from steelyard.store.run_stream import RunStream
from steelyard.study.cluster.worker import deliver

RUN = "20260307T120000000Z-sum-mine-abcdef"
KEY = "9f3c/t01-1-aa"
PATIENCE_S = 300.0


class Worker:
    """A run on another machine, and the stream that sends it; each `send` is one look of its thread."""

    def __init__(self, folder: Path, place: StoreFolder) -> None:
        self.folder = RunFolder.create(folder / "worker", RUN)
        self.folder.write_json("manifest.json", {"run": RUN, "trial": {"id": "t01", "attempt": 1}})
        self.stream = RunStream(place, KEY, folder / "worker", pace_s=0.001)

    def log(self, *lines: bytes) -> None:
        with self.folder.events.open("ab") as stream:
            stream.writelines(line + b"\n" for line in lines)

    def seal(self) -> None:
        self.folder.write_json("seal.json", {})
        self.folder.write_json("report.json", {})


class Failing:
    """A file system that fails, or does not answer, until `is_well` is set."""

    def __init__(self, system: Any, *, hangs: bool = False) -> None:
        self._system, self._hangs = system, hangs
        self.is_well, self.is_asked = threading.Event(), threading.Event()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._system, name)

    def pipe_file(self, name: str, data: bytes) -> None:
        self.is_asked.set()
        if self._hangs:
            self.is_well.wait(PATIENCE_S)
        elif not self.is_well.is_set():
            raise ConnectionError(name)
        self._system.pipe_file(name, data)


@pytest.fixture
def place(tmp_path: Path) -> StoreFolder:
    return open_place(f"file://{tmp_path}/store")


@pytest.fixture
def worker(tmp_path: Path, place: StoreFolder) -> Worker:
    return Worker(tmp_path, place)


@pytest.fixture
def copy(tmp_path: Path, place: StoreFolder) -> LiveCopy:
    return LiveCopy(place, KEY, tmp_path / "here")


@pytest.fixture
def here(tmp_path: Path) -> RunFolder:
    return RunFolder(tmp_path / "here" / RUN)


@pytest.mark.filterwarnings("ignore")
def test_a_run_under_way_is_followed_and_then_sealed(url: str, tmp_path: Path, here: RunFolder) -> None:
    place = open_place(url)
    worker, copy = Worker(tmp_path, place), LiveCopy(place, KEY, tmp_path / "here")
    worker.log(b"one")
    assert worker.stream.send()
    copy.read_all()
    assert here.read_bytes("events.jsonl") == b"one\n"
    assert (read_entry(here).state, read_entry(here).trial) == ("running", "t01")
    worker.log(b"two")
    worker.folder.write_bytes("agent/stdout.txt", b"hello")
    assert worker.stream.send()
    copy.read_all()
    assert here.read_bytes("events.jsonl") == b"one\ntwo\n"
    assert here.read_bytes("agent/stdout.txt") == b"hello"
    worker.log(b"three")
    worker.seal()
    put_run(url, worker.folder.path)
    fetch_run(url, RUN, tmp_path / "here")
    copy.release()
    forget_parts(place, KEY)
    assert here.state == "sealed"
    assert here.read_bytes("events.jsonl") == b"one\ntwo\nthree\n"
    assert place.list("live/9f3c") == []
    assert [path.name for path in (tmp_path / "here").iterdir()] == [RUN]


def test_a_run_whose_worker_is_lost_is_interrupted(worker: Worker, copy: LiveCopy, here: RunFolder) -> None:
    worker.log(b"one")
    assert worker.stream.send()
    copy.read_all()
    assert unfinished_state(here) == "running"
    copy.release()
    assert unfinished_state(here) == "interrupted"


def test_a_file_is_sent_in_parts_of_bounded_size(
    worker: Worker, copy: LiveCopy, here: RunFolder, place: StoreFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("steelyard.store.run_stream.PART_BYTES", 1000)
    worker.log(b"x" * 2500)
    sent = 0
    while worker.stream.send() and len(place.list(f"live/{KEY}")) > sent:
        sent += 1
    assert sent == 3
    copy.read_all()
    assert here.read_bytes("events.jsonl") == b"x" * 2500 + b"\n"


def test_the_log_is_sent_before_other_files(worker: Worker, place: StoreFolder) -> None:
    worker.folder.write_bytes("agent/stdout.txt", b"hello")
    worker.folder.write_bytes("blobs/ab", b"b")
    worker.log(b"one")
    assert worker.stream.send()
    part = live_part.read_part(place.read(part_name(KEY, 1), 1 << 20) or b"")
    assert part is not None
    names = [piece.name for piece in part.pieces]
    assert names == ["manifest.json", "events.jsonl", "agent/stdout.txt", "blobs/ab"]


def test_a_file_that_was_replaced_is_sent_again(worker: Worker, copy: LiveCopy, here: RunFolder) -> None:
    for text in (b"first, and long", b"second"):
        worker.folder.write_bytes("final_response.txt", text)
        assert worker.stream.send()
    copy.read_all()
    assert here.read_bytes("final_response.txt") == b"second"


def test_seal_gradings_and_report_are_not_sent_before_the_run_is_whole(
    worker: Worker, copy: LiveCopy, here: RunFolder
) -> None:
    worker.seal()
    worker.folder.write_json("gradings/0001.json", {})
    assert worker.stream.send()
    copy.read_all()
    assert {path.name for path in here.path.rglob("*") if path.is_file()} == {"manifest.json"}


@pytest.mark.parametrize(
    "name",
    ["seal.json", "./seal.json", "gradings/0001.json", "report.json", "../x", "/etc/x", "a/../../x", ""],
)
def test_a_part_with_a_name_that_no_running_run_has_is_refused(
    worker: Worker, place: StoreFolder, copy: LiveCopy, here: RunFolder, name: str
) -> None:
    """A hostile worker makes no result, and writes to no place but the folder of its run."""
    assert worker.stream.send()
    place.write(part_name(KEY, 2), Part(RUN, (Piece(name, 0, b"{}"),)).to_bytes())
    assert copy.advance()
    with pytest.raises(InfraFault):
        copy.advance()
    assert {path.name for path in here.path.rglob("*") if path.is_file()} == {"manifest.json"}


@pytest.mark.parametrize("name", ["studies", "index.sqlite-wal", ".fetch-x", "..", "x/y", ""])
def test_a_part_of_a_run_whose_name_no_run_has_is_refused(
    place: StoreFolder, copy: LiveCopy, here: RunFolder, name: str
) -> None:
    place.write(part_name(KEY, 1), Part(name, (Piece("events.jsonl", 0, b"one\n"),)).to_bytes())
    with pytest.raises(InfraFault):
        copy.advance()
    assert not here.path.parent.exists()


def test_a_log_that_is_sent_anew_is_refused(place: StoreFolder, copy: LiveCopy, here: RunFolder) -> None:
    """Else a worker could rewrite what happened, here and in what it seals."""
    for number, line in enumerate((b"stopped\n", b"ended\n"), 1):
        place.write(part_name(KEY, number), Part(RUN, (Piece("./events.jsonl", 0, line),)).to_bytes())
    copy.read_all()
    assert here.read_bytes("events.jsonl") == b"stopped\n"


def test_a_worker_that_sends_files_without_end_is_not_followed(
    place: StoreFolder, copy: LiveCopy, here: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("steelyard.store.live_copy.LIVE_FILES", 3)
    pieces = tuple(Piece(f"blobs/{number}", 0, b"x") for number in range(9))
    place.write(part_name(KEY, 1), Part(RUN, pieces).to_bytes())
    with pytest.raises(InfraFault, match="more than 3 files"):
        copy.advance()
    assert len(list((here.path / "blobs").iterdir())) == 3


def test_a_file_without_bytes_is_refused(place: StoreFolder, copy: LiveCopy) -> None:
    place.write(part_name(KEY, 1), Part(RUN, (Piece("blobs/a", 0, b""),)).to_bytes())
    with pytest.raises(InfraFault, match="0 bytes"):
        copy.advance()


@pytest.mark.filterwarnings("ignore")
def test_an_empty_part_does_not_look_like_a_store_that_is_away(url: str, tmp_path: Path) -> None:
    """S3 refuses a range of an empty file."""
    place = open_place(url)
    place.write(part_name(KEY, 1), b"")
    assert not LiveCopy(place, KEY, tmp_path / "here").advance()


@pytest.mark.parametrize("odd", ["link", "fifo", "folder"])
def test_what_is_no_plain_file_is_no_part(
    tmp_path: Path, place: StoreFolder, copy: LiveCopy, odd: str
) -> None:
    """In a folder that all machines share; opening a FIFO would wait for ever."""
    path = Path(place.root) / part_name(KEY, 1)
    path.parent.mkdir(parents=True)
    if odd == "link":
        secret = tmp_path / "secret"
        secret.write_bytes(Part(RUN, (Piece("events.jsonl", 0, b"one\n"),)).to_bytes())
        path.symlink_to(secret)
    elif odd == "fifo":
        os.mkfifo(path)
    else:
        path.mkdir()
    assert not copy.advance()


def test_one_run_does_not_keep_the_thread_from_the_others(place: StoreFolder, copy: LiveCopy) -> None:
    for number in range(1, 100):
        piece = Piece("events.jsonl", number - 1, b"x")
        place.write(part_name(KEY, number), Part(RUN, (piece,)).to_bytes())
    assert copy.read_some()
    copy.read_all()
    assert not copy.read_some()


def test_a_worker_cannot_write_to_the_folder_of_another_run(
    worker: Worker, copy: LiveCopy, here: RunFolder
) -> None:
    here.path.mkdir(parents=True)
    assert worker.stream.send()
    with pytest.raises(InfraFault, match="could not be created"):
        copy.advance()
    assert list(here.path.iterdir()) == []


def test_a_worker_that_sends_without_end_is_not_followed(
    place: StoreFolder, copy: LiveCopy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("steelyard.store.live_copy.LIVE_BYTES", 1000)
    place.write(part_name(KEY, 1), Part(RUN, (Piece("events.jsonl", 0, b"x" * 2000),)).to_bytes())
    with pytest.raises(InfraFault, match="sends more"):
        copy.advance()


def test_a_worker_that_sends_parts_without_bytes_is_not_followed(place: StoreFolder, copy: LiveCopy) -> None:
    """Else a store full of them would hold up a resumed study without end. The first part may only name the run."""
    for number in (1, 2):
        place.write(part_name(KEY, number), Part(RUN).to_bytes())
    assert copy.advance()
    with pytest.raises(InfraFault, match="without bytes"):
        copy.advance()


def test_a_run_has_a_bounded_number_of_parts(
    place: StoreFolder, copy: LiveCopy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("steelyard.store.live_copy.LIVE_BYTES", 2048)
    for number in (1, 2, 3):
        piece = Piece("events.jsonl", number - 1, b"x")
        place.write(part_name(KEY, number), Part(RUN, (piece,)).to_bytes())
    assert copy.advance()
    assert copy.advance()
    with pytest.raises(InfraFault, match="sends more"):
        copy.advance()


def test_the_first_part_is_sent_as_soon_as_the_run_is_there(worker: Worker, place: StoreFolder) -> None:
    """A run whose worker is lost a moment later is known, and what it may have cost is charged."""
    stream = RunStream(place, KEY, worker.folder.path.parent, pace_s=PATIENCE_S * 10)
    until, wait = time.monotonic() + PATIENCE_S, threading.Event()
    with stream:
        while not place.exists(part_name(KEY, 1)) and time.monotonic() < until:
            wait.wait(0.01)
    assert place.exists(part_name(KEY, 1))


def test_a_part_that_is_half_written_is_read_later(place: StoreFolder, copy: LiveCopy) -> None:
    """A shared folder shows a file while it is being written."""
    data = Part(RUN, (Piece("events.jsonl", 0, b"one\n"),)).to_bytes()
    for end in (5, len(data) - 1):
        place.write(part_name(KEY, 1), data[:end])
        assert not copy.advance()
    place.write(part_name(KEY, 1), data)
    assert copy.advance()


def test_a_run_that_sealed_another_log_than_it_sent_is_refused(
    worker: Worker, copy: LiveCopy, here: RunFolder, place: StoreFolder
) -> None:
    worker.log(b"the agent was stopped")
    assert worker.stream.send()
    copy.read_all()
    worker.folder.write_bytes("events.jsonl", b"the agent has ended\n")
    worker.seal()
    put_run(place.url, worker.folder.path)
    with pytest.raises(InfraFault, match="another log"):
        fetch_run(place.url, RUN, here.path.parent)
    assert here.state == "incomplete"


def test_a_part_that_is_read_after_the_run_has_ended_changes_nothing(
    worker: Worker, copy: LiveCopy, here: RunFolder
) -> None:
    """The sealed folder takes the place of the copy, and a late part must not touch it."""
    assert worker.stream.send()
    copy.read_all()
    worker.folder.write_bytes("manifest.json", b"{}")
    assert worker.stream.send()
    copy.end()
    assert not copy.advance()
    assert here.read_bytes("manifest.json") != b"{}"
    assert unfinished_state(here) == "running"


def test_a_store_that_fails_gets_every_byte_when_it_is_back(
    tmp_path: Path, place: StoreFolder, copy: LiveCopy, here: RunFolder
) -> None:
    failing = Failing(place.system)
    worker = Worker(tmp_path, StoreFolder(place.url, failing, place.root))
    for line in (b"one", b"two"):
        worker.log(line)
        assert not worker.stream.send()
    failing.is_well.set()
    assert worker.stream.send()
    assert worker.stream.send()
    copy.read_all()
    assert here.read_bytes("events.jsonl") == b"one\ntwo\n"


def test_a_run_does_not_wait_for_a_store_that_does_not_answer(tmp_path: Path, place: StoreFolder) -> None:
    """The block ends while a request of the stream hangs; that the request ends is up to this test."""
    hanging = Failing(place.system, hangs=True)
    worker = Worker(tmp_path, StoreFolder(place.url, hanging, place.root))
    with worker.stream:
        assert hanging.is_asked.wait(PATIENCE_S)
        worker.log(b"one")
    assert not hanging.is_well.is_set()
    hanging.is_well.set()


def test_a_sealed_run_is_copied_when_the_store_is_back(
    tmp_path: Path, place: StoreFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing = Failing(place.system)
    worker = Worker(tmp_path, StoreFolder(place.url, failing, place.root))
    worker.seal()
    monkeypatch.setattr("steelyard.store.place.time.sleep", lambda _: failing.is_well.set())
    deliver(worker.stream, place.url, worker.folder.path, waits_s=(1.0,))
    assert orjson.loads(place.read(f"{RUN}/steelyard-run.json", 1 << 20) or b"")["files"]
    assert live_part.read_part(place.read(part_name(KEY, 1), 1 << 20) or b"") == Part(RUN)


def test_the_runs_of_one_process_are_followed_by_one_thread(
    worker: Worker, place: StoreFolder, here: RunFolder
) -> None:
    worker.log(b"one")
    copies = LiveCopies(place, here.path.parent, look_s=0.001)
    copies.expect(KEY)
    copies.expect("9f3c/t02-1-aa")
    copies.start()
    with worker.stream:
        until = threading.Event()
        while not here.events.exists():
            until.wait(0.01)
    assert unfinished_state(here) == "running"
    copies.close()
    assert unfinished_state(here) == "interrupted"

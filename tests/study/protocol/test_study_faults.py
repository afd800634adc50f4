"""Faults of the machine in the middle of a study: no result is lost, none is counted twice."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, tzinfo
from pathlib import Path
from typing import Self

import pytest
import sqlalchemy as sa
from fake_study import FakeStudy
from small_study import MakeContract, SmallStudy, folders

from authoring import Author, Steelyard
from postgres_server import PostgresServer, postgres_server
from steelyard.contract.contract import Contract
from steelyard.errors import InfraFault, OperatorFault
from steelyard.report.stored.open_store import entries_of, open_store
from steelyard.store.database import open_database
from steelyard.store.entry import Entry
from steelyard.store.query import Query
from steelyard.store.study_lock import StudyLock
from steelyard.study.observer import TrialResult

EACH = 3  # one agent, noop and reference


@pytest.fixture(scope="module")
def postgres() -> Iterator[PostgresServer]:
    with postgres_server() as server:
        yield server


def test_postgresql_restarted_in_the_middle_of_a_study_loses_nothing(
    fake_study: FakeStudy, contract: MakeContract, postgres: PostgresServer
) -> None:
    """The lock that keeps other machines from the study is lost with the server, and taken again."""
    restarted = threading.Event()
    is_free: list[bool] = []  # for another machine, at each result after the restart

    def watch(result: TrialResult) -> tuple[Entry, ...]:
        if restarted.is_set():
            is_free.append(bool(is_free) and can_lock(postgres.url, small.plan.identity))
        return entries_of(result)

    def restart(_: Contract) -> None:
        if not restarted.is_set() and len(folders(fake_study.out)) >= EACH:
            restarted.set()
            postgres.stop()
            postgres.start()

    fake_study.on_prepare = restart
    small = SmallStudy.of(fake_study, [contract("one"), contract("two"), contract("three")])
    small.read = watch
    fake_study.out.mkdir()
    with open_store(fake_study.out, postgres.url) as store:
        assert small.study(store).run().how == "complete"
        assert (restarted.is_set(), store.count(Query(study=small.plan.identity))) == (True, 3 * EACH)
    assert len(folders(fake_study.out)) == 3 * EACH
    assert (len(is_free) > 1, any(is_free)) == (True, False)


def can_lock(url: str, study: str) -> bool:
    """Whether no controller holds the study at this moment."""
    engine = open_database(Path(), url)
    lock = StudyLock(engine, study)
    try:
        lock.take()
    except OperatorFault:
        return False
    else:
        return True
    finally:
        lock.release()
        engine.dispose()


def test_a_second_machine_with_the_same_store_is_refused(
    fake_study: FakeStudy, contract: MakeContract, postgres: PostgresServer, tmp_path: Path
) -> None:
    """It has another folder of runs, so only the store can tell."""
    small = SmallStudy.of(fake_study, [contract()])
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    with open_store(elsewhere, postgres.url) as other:
        lock = other.lock_study(small.plan.identity)
        lock.take()
        fake_study.out.mkdir()
        with (
            open_store(fake_study.out, postgres.url) as store,
            pytest.raises(Exception, match="another process"),
        ):
            small.study(store).run()
        lock.release()
        with open_store(fake_study.out, postgres.url) as store:
            assert small.study(store).run().how == "complete"


def test_a_server_that_was_away_for_long_gives_the_lock_back_to_its_controller(
    postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each result asks for the lock; the first one waits for the server, and the others only try."""
    monkeypatch.setattr("steelyard.store.study_lock.WAIT_S", 0.0)
    study = "ab" * 32
    engine = open_database(Path(), postgres.url)
    lock = StudyLock(engine, study)
    lock.take()
    postgres.stop()
    try:
        for _ in range(2):
            with pytest.raises(InfraFault, match="does not answer"):
                lock.renew()
    finally:
        postgres.start()
    lock.renew()
    assert not can_lock(postgres.url, study)
    lock.release()
    assert can_lock(postgres.url, study)
    engine.dispose()


def test_the_lock_of_a_study_that_has_ended_is_free_before_its_connection_ends(
    postgres: PostgresServer,
) -> None:
    """The server sees the end of a connection a moment later: who starts the study again at once would be refused."""
    engine = open_database(Path(), postgres.url)
    statements: list[str] = []
    sa.event.listen(engine, "before_cursor_execute", lambda *event: statements.append(event[2]))
    lock = StudyLock(engine, "cd" * 32)
    lock.take()
    lock.release()
    engine.dispose()
    assert "pg_advisory_unlock" in statements[-1]


def test_a_clock_that_goes_back_repeats_nothing(fake_study: FakeStudy, contract: MakeContract) -> None:
    """The runs so far seem to lie in the future."""
    small = SmallStudy.of(fake_study, [contract("one"), contract("two")])
    small.run(stages=("shakedown",))
    before = folders(fake_study.out)
    for path in before:
        os.utime(path, (4_000_000_000, 4_000_000_000))
    assert small.run().how == "complete"
    assert (len(before), len(folders(fake_study.out))) == (EACH, 2 * EACH)


class ShiftedClock(datetime):
    """The time of day, two days earlier from the moment when it is set back."""

    shift = timedelta()

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> Self:
        return super().now(tz) + cls.shift


def test_a_clock_that_jumps_back_while_a_study_runs_loses_and_doubles_nothing(
    fake_study: FakeStudy, contract: MakeContract, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Later runs have earlier names and times than the first ones."""
    monkeypatch.setattr("steelyard.evidence.folder.folder.datetime", ShiftedClock)
    monkeypatch.setattr("steelyard.execution.manifest.datetime", ShiftedClock)
    monkeypatch.setattr("steelyard.study.protocol.folder.datetime", ShiftedClock)

    def set_back(_: Contract) -> None:
        if folders(fake_study.out):
            monkeypatch.setattr(ShiftedClock, "shift", timedelta(days=-2))

    fake_study.on_prepare = set_back
    small = SmallStudy.of(fake_study, [contract("one"), contract("two")])
    assert small.run().how == "complete"
    days = {path.name[:8] for path in folders(fake_study.out)}
    assert (len(days), len(folders(fake_study.out))) == (2, 2 * EACH)
    assert small.run().how == "complete"
    assert len(folders(fake_study.out)) == 2 * EACH
    assert len({(contract, agent) for contract, agent, _ in small.verdicts()}) == 2 * EACH


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def _in_the_way(path: Path) -> None:
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    path.write_bytes(b"in the way") if path.suffix == "" else path.mkdir()


def _empty(run: Path) -> None:
    shutil.rmtree(run)
    run.mkdir()


DAMAGES: dict[str, Callable[[Path], object]] = {
    "manifest.json is cut": lambda run: _cut(run / "manifest.json"),
    "manifest.json is another type": lambda run: (run / "manifest.json").write_bytes(b'["trial"]'),
    "manifest.json is gone": lambda run: (run / "manifest.json").unlink(),
    "seal.json is cut": lambda run: _cut(run / "seal.json"),
    "seal.json is another type": lambda run: (run / "seal.json").write_bytes(b"[]"),
    "seal.json is a folder": lambda run: _in_the_way(run / "seal.json"),
    "events.jsonl is cut": lambda run: _cut(run / "events.jsonl"),
    "events.jsonl is gone": lambda run: (run / "events.jsonl").unlink(),
    "a grading is no text": lambda run: (run / "gradings/0001.json").write_bytes(b"\xff\xfe\x00"),
    "gradings is a file": lambda run: _in_the_way(run / "gradings"),
    "the folder is empty": _empty,
    "the folder is a file": _in_the_way,
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_corrupt_run_folder_costs_its_own_run_and_stops_nothing(
    fake_study: FakeStudy, contract: MakeContract, damage: str
) -> None:
    small = SmallStudy.of(fake_study, [contract("one"), contract("two")])
    small.run()
    lost, kept = folders(fake_study.out)[0], folders(fake_study.out)[1:]
    DAMAGES[damage](lost)
    assert small.run().how == "complete"
    after = [path for path in folders(fake_study.out) if path != lost]
    assert (set(kept) < set(after), len(after)) == (True, 2 * EACH)
    again = [path.name for path in after]
    assert small.run().how == "complete"
    assert [path.name for path in folders(fake_study.out) if path != lost] == again


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a small disk")
def test_a_disk_that_fills_up_stops_the_study_and_the_rest_is_run_when_there_is_room(
    steelyard: Steelyard, author: Author, tmp_path: Path, cache: Path
) -> None:
    """The runs themselves fill it: room for grading takes 1 MB, and twelve runs take another."""
    study, disk = tmp_path / "study.yaml", tmp_path / "disk"
    disk.mkdir()
    steelyard("plan", author.write(), "--agent", "mine=command:true", "--repeats", 4, "--out", study)
    script = f"""
mount -t tmpfs -o size=1500k none {disk} || exit 77
export STEELYARD_CACHE={cache}
study() {{ verb=$1; shift; $python -m steelyard study $verb {study} --runs {disk}/runs "$@"; }}
python=$1
study run > {tmp_path}/first 2>&1; echo $? > {tmp_path}/code
mount -o remount,size=64m {disk}
study status --json > {tmp_path}/full
(cd {disk}/runs && ls -d */gradings/0001.json) > {tmp_path}/graded
study resume > {tmp_path}/second 2>&1
study status --json > {tmp_path}/status
$python -m steelyard runs --runs {disk}/runs --json > {tmp_path}/runs
cd {disk}/runs && $python -m steelyard verify $(dirname $(dirname $(cat {tmp_path}/graded))) > {tmp_path}/verified && echo all >> {tmp_path}/verified
"""
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", script, "sh", sys.executable], check=False, capture_output=True
    )
    if done.returncode == 77:
        pytest.skip("nothing can be mounted here")
    full, whole = (json.loads((tmp_path / name).read_text()) for name in ("full", "status"))
    assert (tmp_path / "code").read_text().strip() == "1", (tmp_path / "first").read_text()
    assert 0 < full["trials"]["finished"] < 12, (tmp_path / "first").read_text()
    assert (whole["state"], whole["trials"]["finished"]) == ("complete", 12), (
        tmp_path / "second"
    ).read_text()
    results = [json.loads(line) for line in (tmp_path / "runs").read_text().splitlines()]
    ended = [one["trial"] for one in results if one["state"] in {"pass", "fail"}]
    assert (len(ended), len(set(ended))) == (12, 12)
    assert len((tmp_path / "graded").read_text().split()) == full["trials"]["finished"]
    assert (tmp_path / "verified").read_text().splitlines()[-1] == "all"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a read-only disk")
def test_a_read_only_store_is_refused_in_one_line_and_can_still_be_read(
    steelyard: Steelyard, author: Author, tmp_path: Path, cache: Path
) -> None:
    study, disk = tmp_path / "study.yaml", tmp_path / "disk"
    disk.mkdir()
    steelyard("plan", author.write(), "--agent", "mine=command:true", "--out", study)
    script = f"""
mount -t tmpfs -o size=64m none {disk} || exit 77
export STEELYARD_CACHE={cache}
$1 -m steelyard run {author.folder} --agent noop --out {disk}/runs > /dev/null
mount -o remount,ro {disk}
$1 -m steelyard study run {study} --runs {disk}/runs > {tmp_path}/out 2> {tmp_path}/err; echo $? > {tmp_path}/code
$1 -m steelyard runs --runs {disk}/runs --json > {tmp_path}/runs
"""
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", script, "sh", sys.executable], check=False, capture_output=True
    )
    if done.returncode == 77:
        pytest.skip("nothing can be mounted here")
    errors = (tmp_path / "err").read_text()
    assert (tmp_path / "code").read_text().strip() in {"2", "3"}, errors
    assert ("Traceback" in errors, len(errors.splitlines())) == (False, 1), errors
    assert json.loads((tmp_path / "runs").read_text())["agent"] == "noop"


def test_a_store_that_cannot_be_written_is_one_line(
    steelyard: Steelyard, author: Author, tmp_path: Path
) -> None:
    study, runs = tmp_path / "study.yaml", tmp_path / "runs"
    steelyard("plan", author.write(), "--agent", "mine=command:true", "--out", study)
    runs.write_text("a file, where the folder of runs should be")
    result = steelyard("study", "run", study, "--runs", runs)
    assert (result.code, "is not a folder" in result.err, len(result.err.splitlines())) == (2, True, 1)

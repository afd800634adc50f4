"""The index answers as the folders would, and is never believed over them."""

from __future__ import annotations

import shutil
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
import sqlalchemy as sa
from shelf import LONG_AGO_NS, Shelf, at

from steelyard.errors import OperatorFault
from steelyard.store.query import Query
from steelyard.store.schema import CURRENT, VERSION
from steelyard.store.store import Store

OpenStore = Callable[[], Store]

sqlite_only = pytest.mark.parametrize("shelf", ["sqlite"], indirect=True)  # an index that is a file


def test_a_listing_is_sorted_by_time(shelf: Shelf, store: OpenStore) -> None:
    runs = [shelf.add(number) for number in (3, 1, 2)]
    assert [one.run for one in store().query()] == sorted(runs)


@pytest.mark.parametrize(
    ("query", "numbers"),
    [
        (Query(contract="wid*"), [2]),
        (Query(agent="a'; DROP TABLE steelyard_runs; --"), [1]),
        (Query(verdicts=("pass", "error")), [2, 3]),
        (Query(tag="reward_hacking*"), [3]),
        (Query(tag="flaky"), [2, 3]),
        (Query(study="ab12"), [3]),
        (Query(study="night"), [3]),
        (Query(study="ab13"), []),
        (Query(since=at(2)), [2, 3]),
        (Query(until=at(2)), [1]),
        (Query(sort="cost_usd", descending=True, limit=2), [3, 2]),
        (Query(sort="cost_usd", limit=1, offset=1), [3]),
        (Query(contract="no*match"), []),
    ],
)
def test_a_query_finds_the_runs_that_match(
    shelf: Shelf, store: OpenStore, query: Query, numbers: list[int]
) -> None:
    study = {"digest": "ab12" + "0" * 60, "name": "night", "stage": "main", "stratum": "python"}
    shelf.add(1, agent="a'; DROP TABLE steelyard_runs; --", cost={"usd": None})
    shelf.add(
        2, verdict="pass", contract={"id": "widgets", "digest": "e" * 64}, tags=["flaky"], cost={"usd": 1}
    )
    shelf.add(3, verdict="error", tags=["flaky", "reward_hacking.forged"], study=study, cost={"usd": 2})
    assert [int(one.run[-6:], 16) for one in store().query(query)] == numbers


def test_a_sort_by_an_unknown_column_is_refused(shelf: Shelf, store: OpenStore) -> None:
    shelf.add(1)
    with pytest.raises(OperatorFault, match="--sort run;"):
        store().query(Query(sort="run; DROP TABLE steelyard_runs"))


def test_names_that_no_database_stores_are_replaced(shelf: Shelf, store: OpenStore) -> None:
    shelf.add(
        1, agent="a\x00b\ud800", tags=["t\x00"], repeat=10**40, score=float("nan"), cost={"usd": 10**400}
    )
    (entry,) = store().query()
    assert (entry.agent, entry.tags, entry.repeat) == (
        "a\N{REPLACEMENT CHARACTER}b?",
        ("t\N{REPLACEMENT CHARACTER}",),
        None,
    )
    assert (entry.score, entry.cost_usd) == (None, None)


def test_a_run_that_did_not_change_is_read_once(shelf: Shelf, store: OpenStore) -> None:
    shelf.add(1)
    store()
    store()
    assert len(shelf.reads) == 1


def test_a_run_folder_that_changed_is_read_again(shelf: Shelf, store: OpenStore) -> None:
    run = shelf.add(1)
    store()
    shelf.lines[run]["verdict"] = "pass"
    shelf.touch(run, LONG_AGO_NS + 1)
    assert [one.state for one in store().query()] == ["pass"]


def test_a_folder_that_is_gone_leaves_the_index(shelf: Shelf, store: OpenStore) -> None:
    run = shelf.add(1, tags=["flaky"])
    store()
    shutil.rmtree(shelf.root / run)
    fresh = store()
    assert (fresh.query(), list(fresh.results()), fresh.count(Query(tag="flaky"))) == ([], [], 0)


def test_a_folder_that_was_emptied_leaves_the_index(shelf: Shelf, store: OpenStore) -> None:
    run = shelf.add(1)
    store()
    (shelf.root / run / "manifest.json").unlink()
    assert store().query() == []


@pytest.mark.parametrize("state", ["running", "interrupted", "not graded"])
def test_a_run_that_may_still_change_is_read_each_time(shelf: Shelf, store: OpenStore, state: str) -> None:
    run = shelf.add(1, verdict=state)
    store()
    shelf.lines[run]["verdict"] = "pass"
    assert [one.state for one in store().query()] == ["pass"]


def test_a_time_of_change_in_the_future_is_not_believed(shelf: Shelf, store: OpenStore) -> None:
    """A clock that was set back leaves such times, and later changes may get the same one again."""
    run = shelf.add(1)
    shelf.touch(run, 4_000_000_000_000_000_000)
    store()
    shelf.lines[run]["verdict"] = "pass"
    assert [one.state for one in store().query()] == ["pass"]


def test_results_are_the_lines_of_a_study_with_the_present_folder(shelf: Shelf, store: OpenStore) -> None:
    study = {"digest": "ab12" + "0" * 60, "name": "night", "stage": "main", "stratum": "python"}
    shelf.add(1, study=study, folder="/elsewhere")
    shelf.add(2)
    (line,) = store().results(study=study["digest"])
    assert (line["study"], Path(line["folder"]).parent) == (study, shelf.root)


def test_a_tally_counts_runs_and_adds_what_is_known(shelf: Shelf, store: OpenStore) -> None:
    shelf.add(1)
    shelf.add(2, cost={"usd": None})
    shelf.add(3, verdict="pass")
    rows = store().tally(("agent", "state"))
    assert [(row["state"], row["runs"], row["cost_usd"], row["costs"]) for row in rows] == [
        ("fail", 2, 0.5, 1),
        ("pass", 1, 0.5, 1),
    ]


def test_a_rebuild_reads_every_folder_again(shelf: Shelf, store: OpenStore) -> None:
    run = shelf.add(1)
    opened = store()
    shelf.lines[run]["verdict"] = "pass"
    assert (opened.rebuild().read, [one.state for one in opened.query()]) == (1, ["pass"])


def test_one_run_can_be_indexed_alone(shelf: Shelf, store: OpenStore) -> None:
    opened = store()
    run = shelf.add(1)
    opened.index_run(shelf.root / run)
    opened.index_run(shelf.root / run)
    assert [one.run for one in opened.query()] == [run]


def test_a_removed_run_is_gone_with_its_folder(shelf: Shelf, store: OpenStore) -> None:
    run = shelf.add(1)
    opened = store()
    opened.remove_run(run)
    assert (opened.query(), (shelf.root / run).exists()) == ([], False)


@pytest.mark.parametrize("name", ["..", ".", "", "../runs", "index.sqlite", "no-such-run"])
def test_a_name_that_is_no_run_is_not_removed(store: OpenStore, name: str) -> None:
    with pytest.raises(OperatorFault, match="is not a run"):
        store().remove_run(name)


def test_several_writers_at_once_index_each_run_once(shelf: Shelf, store: OpenStore) -> None:
    runs = [shelf.add(number) for number in range(20)]
    faults: list[BaseException] = []

    def index() -> None:
        try:
            opened = shelf.open()
            for run in runs:
                opened.index_run(shelf.root / run)
            opened.close()
        except BaseException as error:
            faults.append(error)
            raise

    store()
    threads = [threading.Thread(target=index) for _ in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert (faults, [one.run for one in store().query()]) == ([], runs)


@pytest.mark.parametrize("version", [1, 2])
def test_an_older_index_becomes_the_present_one_and_is_filled_from_the_folders(
    shelf: Shelf, store: OpenStore, version: int
) -> None:
    run = shelf.add(1, tags=["flaky"])
    with store()._engine.begin() as connection:
        if version == 1:
            connection.execute(sa.text("ALTER TABLE steelyard_runs DROP COLUMN is_unsafe"))
        connection.execute(sa.update(VERSION).values(version=version))
    opened = store()
    assert [(one.run, one.is_unsafe) for one in opened.query(Query(tag="flaky"))] == [(run, False)]
    with opened._engine.connect() as connection:
        assert connection.execute(sa.select(VERSION.c.version)).scalars().all() == [CURRENT]
    assert len(shelf.reads) == 2


@sqlite_only
def test_an_index_of_a_newer_version_is_refused(shelf: Shelf, store: OpenStore) -> None:
    with store()._engine.begin() as connection:
        connection.execute(sa.update(VERSION).values(version=99))
    with pytest.raises(OperatorFault, match="version 99"):
        shelf.open()


@sqlite_only
@pytest.mark.parametrize("damage", [b"no database at all", b"SQLite format 3\x00" + b"\xff" * 4096])
def test_a_damaged_index_is_built_again(shelf: Shelf, store: OpenStore, damage: bytes) -> None:
    run = shelf.add(1)
    store().close()
    (shelf.root / "index.sqlite").write_bytes(damage)
    assert [one.run for one in store().query()] == [run]


@sqlite_only
def test_a_row_that_no_folder_has_is_forgotten(shelf: Shelf, store: OpenStore) -> None:
    """Somebody writes a run into the index that passed, without a folder."""
    run = shelf.add(1)
    store().close()
    with sqlite3.connect(shelf.root / "index.sqlite") as connection:
        connection.execute("UPDATE steelyard_runs SET run = 'invented', state = 'pass'")
    connection.close()
    assert [(one.run, one.state) for one in store().query()] == [(run, "fail")]


def test_folders_that_share_a_database_see_their_own_runs(
    shelf: Shelf, store: OpenStore, tmp_path: Path
) -> None:
    other = Shelf(tmp_path / "other", shelf.url)
    other.root.mkdir()
    shelf.add(1)
    other.add(2)
    store()
    with other.open() as opened:
        opened.sync()
        assert [one.run[-6:] for one in opened.query()] == ["000002"]
    assert [one.run[-6:] for one in store().query()] == ["000001"]


@sqlite_only
def test_an_index_that_cannot_be_written_is_kept_in_memory(shelf: Shelf, store: OpenStore) -> None:
    run = shelf.add(1)
    (shelf.root / "index.sqlite").mkdir()  # no user, not even root, can open this as a file
    assert [one.run for one in store().query()] == [run]

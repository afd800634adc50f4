"""`steelyard view` over an index in PostgreSQL: the same pages as over the file beside the runs, also while the server restarts."""

from __future__ import annotations

import http.client
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from made_records import made_store
from sealed_run import make_grading, make_sealed_run
from viewer import Viewer, viewing

from postgres_server import PostgresServer, postgres_server
from steelyard.cli.reading.view import _store
from steelyard.errors import OperatorFault
from steelyard.evidence.folder.gradings import append_grading
from steelyard.report.stored.open_store import open_store
from steelyard.web.records import Records

PAGES = (
    "/",
    "/?page=2",
    "/?q=CAUTIOUS&sort=cost_usd&order=asc",
    "/?agent=care*&verdict=pass&verdict=fail&judge=PASS&sort=judge",
    "/?judge=none&since=2026-03-07&until=2026-03-08&sort=contract",
    "/contracts",
    "/agents",
    "/studies",
    f"/study/{'5' * 64}",
    "/contract/task-003",
    "/agent/careful",
    "/compare?a=quick&b=careful",
    "/export?agent=quick&format=csv",
)


@pytest.fixture(scope="module")
def postgres() -> Iterator[PostgresServer]:
    with postgres_server() as server:
        yield server


@pytest.fixture(scope="module")
def viewers(
    postgres: PostgresServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Viewer, Viewer]]:
    """The same 60 runs twice: indexed by PostgreSQL, and by SQLite."""
    pair = tmp_path_factory.mktemp("postgres"), tmp_path_factory.mktemp("sqlite")
    with (
        viewing(pair[0], Records(pair[0], made_store(pair[0], 12, 1, postgres.url))) as ours,
        viewing(pair[1], Records(pair[1], made_store(pair[1], 12, 1))) as reference,
    ):
        yield ours, reference


def plain(viewer: Viewer, path: str) -> str:
    """A page without what differs between two servers: the folder."""
    answer = viewer.ask(path)
    assert answer.status == 200
    return answer.text.replace(str(viewer.site.root), "ROOT")


@pytest.mark.parametrize("path", PAGES)
def test_a_page_is_the_same_over_either_index(viewers: tuple[Viewer, Viewer], path: str) -> None:
    ours, reference = viewers
    assert plain(ours, path) == plain(reference, path)


def test_a_server_that_restarts_is_said_and_then_forgotten(
    postgres: PostgresServer, viewers: tuple[Viewer, Viewer]
) -> None:
    ours, _ = viewers
    postgres.stop()
    try:
        answer = ours.ask("/?q=careful")
        assert answer.status == 503
        assert "does not answer" in answer.text
        assert "SELECT" not in answer.text
        ours.site.records.sync()
        assert ours.site.records.fault
    finally:
        postgres.start()
    assert ours.ask("/?q=careful").status == 200
    ours.site.records.sync()
    assert ours.site.records.fault == ""


def test_the_database_alone_names_its_folder(
    postgres: PostgresServer, viewers: tuple[Viewer, Viewer], tmp_path: Path
) -> None:
    ours, _ = viewers
    assert _store(postgres.url, None) == (ours.site.root, postgres.url)
    append_grading(make_sealed_run(tmp_path), make_grading())
    with open_store(tmp_path, postgres.url) as other:
        other.sync()
    with pytest.raises(OperatorFault, match="runs of several folders"):
        _store(postgres.url, None)


def test_the_command_serves_an_index_of_postgresql(postgres: PostgresServer, tmp_path: Path) -> None:
    folder = make_sealed_run(tmp_path)
    append_grading(folder, make_grading())
    with open_store(tmp_path, postgres.url) as store:
        store.sync()
    command = [sys.executable, "-m", "steelyard", "view", str(tmp_path), "--store", postgres.url]
    with subprocess.Popen(
        [*command, "--port", "0", "--no-browser"], stdout=subprocess.PIPE, text=True
    ) as viewer:
        try:
            assert viewer.stdout is not None
            home = urlsplit(viewer.stdout.readline().split()[-1])
            connection = http.client.HTTPConnection("127.0.0.1", home.port or 0, timeout=240)
            connection.request("GET", "/", headers={"Authorization": f"Bearer {home.query.split('=')[1]}"})
            page = connection.getresponse().read().decode()
            connection.close()
        finally:
            viewer.terminate()
    assert folder.run_id in page
    assert not (tmp_path / "index.sqlite").exists()

"""Who read what: a line for each request, and nothing is shown that cannot be logged."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from sealed_run import make_sealed_run
from viewer import viewing

from authoring import Steelyard


def test_each_request_is_a_line_without_its_query(tmp_path: Path) -> None:
    """Also one without the token, and a missing page; style is the same for everyone."""
    log, runs = tmp_path / "access.jsonl", tmp_path / "runs"
    run = make_sealed_run(runs).run_id
    with viewing(runs, log=log) as viewer:
        viewer.ask(f"/run/{run}/diff?x=1")
        viewer.ask(f"/?token={viewer.access.token}", token=False)
        viewer.ask("/", token=False)
        viewer.ask("/static/style.css")
        viewer.ask("/run/nothing")
        token = viewer.access.token
    text = log.read_text()
    assert token not in text
    lines = [json.loads(line) for line in text.splitlines()]
    assert [(one["path"], one["status"]) for one in lines] == [
        (f"/run/{run}/diff", 200),
        ("/", 200),
        ("/", 403),
        ("/run/nothing", 404),
    ]
    assert {(one["from"], one["method"]) for one in lines} == {("127.0.0.1", "GET")}
    assert log.stat().st_mode & 0o777 == 0o600


def test_a_page_that_cannot_be_logged_is_not_shown(tmp_path: Path) -> None:
    log, runs = tmp_path / "folder", tmp_path / "runs"
    log.mkdir()
    run = make_sealed_run(runs).run_id
    with viewing(runs, log=log) as viewer:
        answer = viewer.ask(f"/run/{run}/diff")
    assert answer.status == 503
    assert "cannot log" in answer.text


@pytest.mark.parametrize("place", ["missing/access.jsonl", "."])
def test_a_log_that_cannot_be_written_is_refused_before_anything_listens(
    tmp_path: Path, steelyard: Steelyard, place: str
) -> None:
    make_sealed_run(tmp_path / "runs")
    result = steelyard(
        "view", str(tmp_path / "runs"), "--no-browser", "--port", "0", "--access-log", str(tmp_path / place)
    )
    assert result.code == 2
    assert "--access-log" in result.err

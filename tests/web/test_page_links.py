"""Every link of every page leads to a page: a reader who follows any of them never arrives nowhere."""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from made_records import made_store
from sealed_run import make_grading, make_sealed_run
from viewer import Viewer, viewing

from steelyard.evidence.folder.gradings import append_grading
from steelyard.web.records import Records

PER_KIND = 8  # pages of one kind, such as the page of a run or a sorted view


@pytest.fixture(params=["made", "sealed"])
def viewer(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Viewer]:
    """A study of 30 made records; and a real folder with its files, checks and gradings."""
    if request.param == "made":
        records = Records(tmp_path, made_store(tmp_path, 6, 1))
    else:
        append_grading(make_sealed_run(tmp_path), make_grading())
        records = None
    with viewing(tmp_path, records) as running:
        yield running


def kind_of(address: str) -> str:
    path, _, query = address.partition("?")
    first, *rest = path.strip("/").split("/")
    names = ",".join(sorted(re.findall(r"(\w+)=", query)))
    return f"{first} {rest[1:2]} {names}"


def test_every_link_leads_to_a_page(viewer: Viewer) -> None:
    seen: Counter[str] = Counter()
    known, waiting = {"/"}, ["/"]
    broken: list[str] = []
    while waiting:
        address = waiting.pop()
        answer = viewer.ask(address)
        if answer.status != 200:
            broken.append(f"{answer.status} {address}")
        if not answer.headers["Content-Type"].startswith("text/html"):
            continue
        for link in re.findall(r'(?:href|src)="(/[^"#]*)', answer.text):
            target = html.unescape(link)
            if target not in known and seen[kind_of(target)] < PER_KIND:
                known.add(target)
                seen[kind_of(target)] += 1
                waiting.append(target)
    assert broken == []
    assert len(known) > 20

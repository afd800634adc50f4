"""The explorer finds, sorts, pages and exports runs, and its address is the view."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from made_records import made_store
from sealed_run import make_sealed_run
from viewer import Viewer, viewing

from steelyard.web.message import Request
from steelyard.web.records import Records


@pytest.fixture(scope="module")
def viewer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Viewer]:
    """120 runs: 12 contracts, 5 agents, 2 repeats."""
    root = tmp_path_factory.mktemp("runs")
    with viewing(root, Records(root, made_store(root, 12, 2))) as running:
        yield running


def runs_of(page: str) -> list[str]:
    return re.findall(r'name="run" value="([^"]+)"', page)


def agents_of(page: str) -> set[str]:
    return set(re.findall(r'href="/agent/([^"]+)"', page))


def test_the_newest_runs_come_first_and_the_rest_on_further_pages(viewer: Viewer) -> None:
    pages = [runs_of(viewer.ask(f"/?page={number}").text) for number in (1, 2, 3)]
    found = [run for page in pages for run in page]
    assert [len(page) for page in pages] == [50, 50, 20]
    assert found == sorted(found, reverse=True)
    assert len(set(found)) == 120


def test_a_page_number_out_of_range_shows_the_nearest_page(viewer: Viewer) -> None:
    assert len(runs_of(viewer.ask("/?page=99999999999").text)) == 20
    assert len(runs_of(viewer.ask("/?page=-5").text)) == 50
    assert len(runs_of(viewer.ask("/?page=x").text)) == 50


def test_filters_hold_together(viewer: Viewer) -> None:
    page = viewer.ask("/?agent=careful&verdict=pass&verdict=fail&contract=task-00*&per=500").text
    assert agents_of(page) == {"careful"}
    assert set(re.findall(r'href="/contract/(task-\d+)"', page)) == {
        f"task-{number:03d}" for number in range(10)
    }


def test_search_finds_parts_of_names_in_any_case(viewer: Viewer) -> None:
    assert agents_of(viewer.ask("/?q=CAUTIOUS&per=500").text) == {"cautious-large"}


def test_search_takes_its_text_literally(viewer: Viewer) -> None:
    for text in ("%", "_", "*", "' OR 1=1 --", "%27", "\\"):
        assert (
            "No run matches" in viewer.ask(f"/?q={'%25' if text == '%' else text.replace(' ', '+')}zzz").text
        )


def test_the_judge_verdict_is_a_column_and_a_filter(viewer: Viewer) -> None:
    page = viewer.ask("/?judge=FAIL&per=500").text
    assert "Judge verdict" in page
    rows = re.findall(r"<tr>.*?</tr>", page.split("<tbody>")[1])
    assert rows
    assert all("FAIL" in row for row in rows)
    assert agents_of(viewer.ask("/?judge=none&per=500").text) == {"noop", "reference"}


def test_the_run_badge_is_a_column(viewer: Viewer) -> None:
    """Whether a run ended normally is not its verdict: runs that failed have finished."""
    page = viewer.ask("/?verdict=fail&per=500").text
    assert "Run badge" in page
    badges = re.findall(r'data-label="run">(.*?)</td>', page)
    assert len(badges) == len(runs_of(page))
    assert all("finished" in one for one in badges)


def test_the_filter_counts_the_runs_of_each_choice(viewer: Viewer) -> None:
    page = viewer.ask("/").text
    for name, values in (("verdict", ("pass", "fail")), ("judge", ("PASS", "FAIL", "none"))):
        for value in values:
            counted = re.search(rf'name="{name}" value="{value}">.*?class="dim">([0-9,]+)<', page)
            assert counted is not None
            assert int(counted[1]) == len(runs_of(viewer.ask(f"/?{name}={value}&per=500").text)) > 0


def test_a_column_sorts_both_ways_with_unknown_values_last(viewer: Viewer) -> None:
    def costs(order: str) -> list[float]:
        page = viewer.ask(f"/?sort=cost_usd&order={order}&agent=careful&per=500").text
        return [float(text) for text in re.findall(r'data-label="cost">\$([0-9.]+)<', page)]

    assert costs("desc") == sorted(costs("asc"), reverse=True)
    assert len(costs("asc")) == 24


def test_a_view_that_matches_nothing_says_so(viewer: Viewer) -> None:
    assert "No run matches." in viewer.ask("/?agent=nobody-here").text


def test_unknown_parameters_are_ignored(viewer: Viewer) -> None:
    assert (
        len(runs_of(viewer.ask("/?verdict=nonsense&sort=password&order=sideways&since=yesterday").text)) == 50
    )


def test_the_selection_is_exported_as_json_lines(viewer: Viewer) -> None:
    answer = viewer.ask("/export?agent=quick&format=jsonl")
    lines = [json.loads(line) for line in answer.text.splitlines()]
    assert len(lines) == 24
    assert {line["agent"] for line in lines} == {"quick"}
    assert "attachment" in answer.headers["Content-Disposition"]


def test_the_selection_is_exported_as_csv(viewer: Viewer) -> None:
    rows = list(csv.DictReader(io.StringIO(viewer.ask("/export?agent=quick&verdict=pass&format=csv").text)))
    assert rows
    assert {row["verdict"] for row in rows} == {"pass"}


def test_contracts_and_agents_have_pages_with_all_their_runs(viewer: Viewer) -> None:
    assert "task-003" in viewer.ask("/contracts").text
    assert "cautious-large" in viewer.ask("/agents").text
    contract = viewer.ask("/contract/task-003").text
    assert all(name in contract for name in ("careful", "quick", "noop", "Repeats", "Versions"))
    agent = viewer.ask("/agent/careful").text
    assert "task-011" in agent
    assert viewer.ask("/contract/unknown").status == 404
    assert viewer.ask("/agent/car*").status == 404
    assert viewer.ask(f"/run/{'a' * 5000}").status == 404


def test_a_study_has_a_page_with_the_numbers_of_its_report(viewer: Viewer) -> None:
    assert "pilot" in viewer.ask("/studies").text
    page = viewer.ask(f"/study/{'5' * 64}").text
    for part in (
        "The answer",
        "Disclosure 1",
        "Disclosure 2",
        "Disclosure 3",
        "Disclosure 4",
        "<svg",
        "Failure modes",
    ):
        assert part in page
    assert viewer.ask("/study/unknown").status == 404


def test_two_agents_are_compared_in_a_sentence(viewer: Viewer) -> None:
    page = viewer.ask("/compare?a=quick&b=careful").text
    assert "12 contracts, 2 repeats" in page or "contracts, 1 to 2 repeats" in page
    assert "Choose two different agents" in viewer.ask("/compare?a=quick&b=quick").text
    assert viewer.ask("/compare?a=quick&b=nobody").status == 404


def test_an_empty_store_says_what_to_do(tmp_path: Path) -> None:
    with viewing(tmp_path) as viewer:
        for path in ("/", "/contracts", "/agents", "/studies", "/compare", "/study/all"):
            answer = viewer.ask(path)
            assert answer.status == 200
            assert "no run" in answer.text.lower() or "No run" in answer.text or "no result" in answer.text


def test_a_store_whose_index_cannot_be_written_is_read_by_many_at_once(tmp_path: Path) -> None:
    """The index is then in memory, with one connection for all threads."""
    (tmp_path / "index.sqlite").mkdir()
    for number in range(20):
        make_sealed_run(tmp_path, f"20260307T1200{number:02d}000Z-c-noop-{number:06x}")
    with viewing(tmp_path) as viewer, ThreadPoolExecutor(8) as pool:
        assert viewer.site.records._store.is_in_memory
        comparing = [pool.submit(viewer.site.records.sync) for _ in range(4)]
        statuses = set(pool.map(lambda _: viewer.ask("/").status, range(24)))
        for one in comparing:
            one.result()
        assert statuses == {200}
        assert viewer.site.records.fault == ""
        assert len(runs_of(viewer.ask("/").text)) == 20


def test_a_number_of_the_query_is_bounded() -> None:
    request = Request("/", query={"a": "7", "b": "-3", "c": "x", "d": "9" * 40, "e": "²"})
    assert [request.number(name, 5, 1, 100) for name in "abcde"] == [7, 1, 5, 5, 5]

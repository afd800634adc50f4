"""The pages of one run show its three results, its trace, its change, its grades and its evidence, whatever its state."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sealed_run import make_run, make_sealed_run
from viewer import Viewer, viewing

from authoring import FIX, Author, Steelyard
from scripted_judge import judged_by
from steelyard.evidence.in_use import InUse
from steelyard.evidence.trace.events import EventLog
from steelyard.gateway.scripted import FAIL
from steelyard.web.run.diff import parse_patch
from steelyard.web.run.event_index import EventIndex, EventIndexes, kind_of
from steelyard.web.run.event_words import event_words


def test_a_run_is_read_from_its_verdict_to_its_evidence(
    author: Author, steelyard: Steelyard, script: Any
) -> None:
    """A run that passed, a judge that says FAIL, and an advisory scorer that failed."""
    contract = author.write(graders=[{"type": "max_files_changed", "limit": 9}])
    with judged_by(steelyard, FAIL) as judged:
        agent = script(f"{FIX}echo I added it.\n")
        result = judged("run", contract, "--agent", agent, "--cost-model", _prices(author), "--json")
    line = result.line
    folder = Path(line["folder"])
    with viewing(folder.parent) as viewer:
        _check_tabs(viewer, line)
        _check_review(viewer, line["run"])
        _check_event_pages(viewer, line["run"])


def _prices(author: Author) -> Path:
    file: Path = author.folder.parent / "prices.csv"
    file.write_text("action_type,unit,unit_price\nexec,minute,6\noverhead,run,0.25\n")
    return file


def _check_tabs(viewer: Viewer, line: dict[str, Any]) -> None:
    def tab(name: str) -> str:
        answer = viewer.ask(f"/run/{line['run']}{name}")
        assert answer.status == 200, answer.text
        return answer.text

    head = tab("")
    for part in (
        "Objective and checks",
        "Judge verdict",
        "Run badge",
        "checks PASS, judge FAIL",
        "OVERALL PASS",
        "mean score",
        "Timeline",
    ):
        assert part.lower() in head.lower(), part
    assert "add.sh" in tab("/diff")
    assert "max_files_changed" in tab("/scorers")
    judge = tab("/judge")
    for part in ("task completion", "of 5", "Half of it is missing", "incomplete", "scored by"):
        assert part in judge, part
    assert "sh check.sh" in tab("/checks")
    cost = tab("/cost")
    for part in ("not known is never 0", "<dt>execution</dt>", "<dt>overhead</dt><dd>$0.25</dd>"):
        assert part in cost, part
    assert "gradings/0001.json" in tab("/files")
    evidence = tab("/evidence")
    for part in ("every file", "chain of events", line["contract"]["digest"][:12], "Sandboxed"):
        assert part in evidence, part
    assert "gate G3 acceptance" in tab("/why")


def test_only_a_scorer_without_credit_is_marked_advisory(
    author: Author, steelyard: Steelyard, script: Any
) -> None:
    """What carries credit can fail the run, so it has its weight there, and a failure of it starts open."""
    contract = author.write(
        graders=[
            {"type": "files", "name": "docs", "patterns": ["nowhere to be found"], "weight": 2},
            {"type": "max_files_changed", "limit": 0, "required": False},
        ]
    )
    line = steelyard("run", contract, "--agent", script(FIX), "--json").line
    with viewing(Path(line["folder"]).parent) as viewer:
        page = viewer.ask(f"/run/{line['run']}/scorers").text
    docs, files = (_scorer_row(page, name) for name in ("docs", "max_files_changed"))
    assert "weight 2" in docs
    assert "advisory" not in docs
    assert " open" in docs.partition(">")[0]
    assert "advisory" in files
    assert " open" not in files.partition(">")[0]


def _scorer_row(page: str, name: str) -> str:
    rows = (row.partition("</details>")[0] for row in page.split("<details")[1:])
    return next(row for row in rows if f">{name}<" in row)


def _check_review(viewer: Viewer, run: str) -> None:
    address = f"/run/{run}/review"
    wrong = viewer.post(address, {"judgment": "maybe", "by": "ada", "reason": "kept"})
    assert wrong.status == 400
    assert "Not saved" in wrong.text
    assert "kept" in wrong.text
    result = {
        "judgment": "fail",
        "by": "ada",
        "categories": "missing_test, style",
        "reason": "no test",
        "minutes": "2.5",
    }
    saved = viewer.post(address, result)
    assert saved.status == 303
    page = viewer.ask(saved.headers["Location"]).text
    for part in (
        "Your judgement was added",
        "ada",
        "missing_test, style",
        "no test",
        "2.5 minutes",
        "people reject what the checks accept",
    ):
        assert part in page, part
    alone = viewer.post(address, {"judgment": "pass", "by": "grace", "adjudicate": "yes"})
    assert "no disagreement between reviewers" in alone.text
    viewer.post(address, {"judgment": "pass", "by": "bob"})
    decided = viewer.post(address, {"judgment": "pass", "by": "grace", "adjudicate": "yes"})
    assert "3 judgements by 3 people" in viewer.ask(decided.headers["Location"]).text


def _check_event_pages(viewer: Viewer, run: str) -> None:
    answer = json.loads(viewer.ask(f"/run/{run}/events.json?kind=message").text)
    assert {row[2] for row in answer["rows"]} == {"message"}
    assert answer["shown"] < answer["total"]
    event = viewer.ask(f"/run/{run}/event/1").text
    assert "run.start" in event
    assert "Raw JSON" in event
    assert viewer.ask(f"/run/{run}/event/99999").status == 404
    assert json.loads(viewer.ask(f"/run/{run}/chain.json").text)["holds"] is True


def test_view_prints_its_address_and_serves_until_it_is_interrupted(tmp_path: Path) -> None:
    make_sealed_run(tmp_path)
    command = [sys.executable, "-m", "steelyard", "view", str(tmp_path), "--port", "0", "--no-browser"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    address, rest = process.stdout.readline(), process.stdout.readline()
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=120)
    assert address.startswith("steelyard view: http://127.0.0.1:")
    assert "token=" in address
    assert "Ctrl-C ends it" in rest
    assert process.returncode == 0


def test_view_of_no_folder_says_so(steelyard: Steelyard) -> None:
    result = steelyard("view", "nowhere", "--no-browser")
    assert result.code == 2
    assert "nowhere is not a folder of runs" in result.err


@pytest.fixture
def viewer(tmp_path: Path) -> Iterator[Viewer]:
    with viewing(tmp_path) as running:
        yield running


def test_a_running_run_shows_what_is_recorded_up_to_now(viewer: Viewer) -> None:
    folder = make_run(viewer.site.root)
    with InUse(folder.path):
        page = viewer.ask(f"/run/{folder.run_id}").text
        chain = json.loads(viewer.ask(f"/run/{folder.run_id}/chain.json").text)
        viewer.site.records.sync()
        assert "running" in viewer.ask("/").text
        assert 'data-running="yes"' in viewer.ask("/study/all").text
    assert "Running: " in page
    assert "tool.call" in page
    assert chain == {"holds": True, "words": "8 events, unbroken so far; not sealed yet"}


TABS = ("", "/diff", "/scorers", "/judge", "/why", "/checks", "/cost", "/files", "/evidence", "/review")


def test_an_interrupted_run_has_all_its_pages(viewer: Viewer) -> None:
    folder = make_run(viewer.site.root)
    pages = [viewer.ask(f"/run/{folder.run_id}{tab}") for tab in TABS]
    assert {page.status for page in pages} == {200}
    assert all("It has no result and does not count" in page.text for page in pages)


def test_an_altered_record_is_shown_with_a_warning(viewer: Viewer) -> None:
    folder = make_sealed_run(viewer.site.root)
    (folder.path / "gradings" / "0001.json").write_text('{"verdict": 1}')
    folder.events.write_bytes(folder.events.read_bytes().replace(b"execute", b"nothing"))
    pages = [viewer.ask(f"/run/{folder.run_id}{tab}") for tab in TABS]
    assert {page.status for page in pages} == {200}
    assert all("This record was altered" in page.text for page in pages)
    assert "not as it was left" in pages[TABS.index("/evidence")].text
    assert json.loads(viewer.ask(f"/run/{folder.run_id}/chain.json").text)["holds"] is False


@pytest.mark.parametrize(
    "name",
    ["manifest.json", "events.jsonl", "change.json", "seal.json", "patch.diff", "checks/unit/outcome.json"],
)
@pytest.mark.parametrize("content", [None, b"", b"\xff{", b"[1, 2]"])
def test_a_damaged_file_breaks_no_page(viewer: Viewer, name: str, content: bytes | None) -> None:
    folder = make_sealed_run(viewer.site.root)
    (folder.path / "report.json").write_text("{}")
    path = folder.path / name
    path.unlink()
    if content is not None:
        path.write_bytes(content)
    assert {viewer.ask(f"/run/{folder.run_id}{tab}").status for tab in TABS} == {200}


def test_the_kinds_of_events_cover_every_type() -> None:
    assert [
        kind_of(one) for one in ("tool.call", "model.error", "monitor.alert", "termination", "brief", "cost")
    ] == ["tool", "model", "alert", "alert", "message", "other"]


def written_log(path: Path, count: int) -> EventLog:
    log = EventLog(path)
    for number in range(count):
        log.append("tool.call" if number % 3 else "model.request", "agent", {"cmd": f"step {number}"})
    return log


def test_an_index_finds_events_by_number_kind_and_text(tmp_path: Path) -> None:
    written_log(tmp_path / "events.jsonl", 300).close()
    index = EventIndexes().of(tmp_path / "events.jsonl")
    assert len(index) == 300
    assert index.counts()["model"] == 100
    assert [event["seq"] for event in index.read([0, 299])] == [1, 300]
    assert list(index.select(["model"], ""))[:3] == [0, 3, 6]
    assert list(index.select([], "STEP 29")) == [29, *range(290, 300)]
    assert list(index.select(["model"], "step 29")) == [291, 294, 297]


def test_an_index_goes_on_where_the_log_grows_and_leaves_half_a_line_alone(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    log, indexes = written_log(path, 5), EventIndexes()
    assert len(indexes.of(path)) == 5
    log.append("cost", "harness", {"usd": 0.25})
    assert len(indexes.of(path)) == 6
    with path.open("ab") as file:
        file.write(b'{"actor":"agent"')
    index = indexes.of(path)
    assert (len(index), index.cost_usd) == (6, 0.25)
    log.close()


def test_an_index_of_a_replaced_log_is_made_again(tmp_path: Path) -> None:
    path, indexes = tmp_path / "events.jsonl", EventIndexes()
    written_log(path, 50).close()
    assert len(indexes.of(path)) == 50
    other = tmp_path / "other.jsonl"
    written_log(other, 3).close()
    other.replace(path)
    assert len(indexes.of(path)) == 3
    path.unlink()
    assert len(indexes.of(path)) == 0


def test_a_line_that_is_not_json_is_shown_as_such(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_bytes(b"nonsense\n[1]\n")
    index = EventIndex(path)
    index.extend()
    assert [event["payload"] for event in index.read([0, 1])] == [{"unreadable": "this line is not JSON"}] * 2


@pytest.mark.parametrize(
    ("type_", "payload", "words"),
    [
        ("tool.call", {"kind": "execute", "cmd": "ls -la"}, "execute · ls -la"),
        ("workspace.change", {"path": "a.py", "before": None, "after": {}}, "added a.py"),
        ("agent.message", {"prefix": ""}, "printed nothing"),
        (
            "check.run",
            {"id": "unit", "outcome": "fail", "why": "exit 1", "observed_s": 0.5},
            "unit · fail · exit 1 · 0.50 s",
        ),
        ("cost", {"usd": 0.25, "method": "gateway"}, "$0.25 · method gateway"),
        ("new.type", {"some": "member", "digest": "x"}, "some member"),
        ("brief", {"text": "one\ntwo \x1b[0m"}, "one two \\x1b[0m"),
        ("tool.call", [], ""),
    ],
)
def test_an_event_is_one_line_of_words(type_: str, payload: Any, words: str) -> None:
    assert event_words({"type": type_, "payload": payload}) == words


PATCH = """diff --git a/a.py b/a.py
index 1..2 100644
--- a/a.py
+++ b/a.py
@@ -1,2 +1,2 @@
 same
-old
+new
@@ -10 +10,2 @@ def f():
+++ looks like a header
 end
\\ No newline at end of file
diff --git a/b c.bin b/b c.bin
new file mode 100644
Binary files /dev/null and b/b c.bin differ
"""


def test_a_patch_is_read_into_files_with_line_numbers() -> None:
    first, second = parse_patch(PATCH)
    assert (first.path, first.added, first.removed) == ("a.py", 2, 1)
    assert [(line.kind, line.old, line.new) for line in first.lines] == [
        ("hunk", None, None),
        ("ctx", 1, 1),
        ("del", 2, None),
        ("add", None, 2),
        ("hunk", None, None),
        ("add", None, 10),
        ("ctx", 10, 11),
        ("note", None, None),
    ]
    assert second.path == "b c.bin"
    assert second.head[-1].startswith("Binary files")

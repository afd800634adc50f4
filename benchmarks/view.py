"""The web viewer: the explorer over 100,000 records, a run with 100,000 events, and the size of an HTML report.

Each is measured in a process of its own that does what `steelyard view` does for one reader, so that its memory is its own.
"""

from __future__ import annotations

import os
import random
import statistics
import subprocess
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from benchmarks.measure import Measured, Round
from benchmarks.workshop import Workshop
from steelyard.evidence.folder.folder import MANIFEST, RunFolder
from steelyard.evidence.folder.seal import seal
from steelyard.evidence.trace.events import EventLog
from steelyard.store.entry import Entry, entry_of_line
from steelyard.store.store import Store

RECORDS, EVENTS, REPORTED = 100_000, 100_000, 10_000
RATES = {"careful": 75, "quick": 52, "large": 66, "small": 35, "noop": 0}  # percent of success
AGENTS = tuple(RATES)
START = datetime(2026, 3, 7, tzinfo=UTC)
MARK_NS = 1_700_000_000_000_000_000  # when the folders last changed: long ago

PAGES = r"""
import re, statistics, sys, time
from pathlib import Path
from steelyard.web.message import Request
from steelyard.web.site import Site

site = Site(Path(sys.argv[1]))
site.records.sync()

def milliseconds(path, query):
    start = time.perf_counter()
    response = site.answer(Request(path, query=query, lists={name: (value,) for name, value in query.items()}))
    assert response.status == 200 and len(response.body) > 2000
    return (time.perf_counter() - start) * 1000

first = milliseconds("/", {})
usual = statistics.median(milliseconds("/", {}) for _ in range(9))
searched = statistics.median(milliseconds("/", {"q": "task-04", "verdict": "fail", "sort": "cost_usd"}) for _ in range(5))
# Not getrusage: that of a new process begins with what its parent had.
peak_kb = int(re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())[1])
print(first, usual, searched, peak_kb / 1024)
"""
RUN = """
import sys, time
from pathlib import Path
from steelyard.web.message import Request
from steelyard.web.site import Site

root = Path(sys.argv[1])
site = Site(root)
(run,) = [one.name for one in root.iterdir() if one.is_dir()]

def milliseconds(path, query):
    start = time.perf_counter()
    response = site.answer(Request(path, query=query))
    assert response.status == 200
    return (time.perf_counter() - start) * 1000

first = milliseconds(f"/run/{run}", {})
later = milliseconds(f"/run/{run}/events.json", {"from": "90000", "count": "200"})
print(first, later)
"""
REPORT = """
import sys
from steelyard.report.html.study_report import study_html
from steelyard.report.study_summary.read_results import of_lines
from steelyard.report.study_summary.summarise import summarise_study
from benchmarks.view import made_line
lines = [made_line(number) for number in range(int(sys.argv[1]))]
print(len(study_html(summarise_study(of_lines("made", lines))).encode()) / 1e6)
"""


def made_line(number: int) -> dict[str, Any]:
    """A result line with what listings and reports read of one."""
    draw = random.Random(number)  # noqa: S311  # the same records each time
    agent, contract = AGENTS[number % len(AGENTS)], f"task-{number // len(AGENTS) % 200:03d}"
    verdict = draw.choices(("pass", "fail", "error"), (RATES[agent], 98 - RATES[agent], 2))[0]
    stamp = START + timedelta(seconds=number)
    wall_s = draw.lognormvariate(4, 0.6)
    return {
        "schema": "steelyard.result/1",
        "run": f"{stamp:%Y%m%dT%H%M%S}000Z-{contract}-{agent}-{number:06x}",
        "trial": f"t{number:016x}",
        "attempt": 1,
        "contract": {"id": contract, "digest": f"{number // len(AGENTS) % 200:064x}"},
        "agent": agent,
        "repeat": number // 1000,
        "status": "scorable",
        "reason": ""
        if verdict == "pass"
        else "hidden: 3 of 7 passed; not passed: tests/test_totals.py::test_big",
        "acceptance": {"pass": "success", "fail": "failure", "error": "acceptance_error"}[verdict],
        "termination": "completed",
        "verdict": verdict,
        "gates": {"patch": "pass", "build": "pass", "acceptance": verdict, "safety": "pass"},
        "score": {"pass": 1.0, "fail": 0.0}.get(verdict),
        "reward": {"pass": 1.0, "fail": 0.0}.get(verdict),
        "judge": {"verdict": draw.choice(("PASS", "FAIL"))},
        "tags": [] if verdict == "pass" else ["acceptance_failure"],
        "grades": [],
        "findings": [],
        "cost": {"usd": round(draw.lognormvariate(-0.5, 0.5), 4)},
        "durations": {"wall_s": wall_s, "working_s": wall_s * 0.8, "acceptance_s": wall_s * 0.1},
        "folder": None,
    }


def make_records(root: Path, count: int) -> None:
    """Folders that have only a name, and the index of what they would say."""
    numbers = {str(made_line(number)["run"]): number for number in range(count)}
    root.mkdir()
    for run in numbers:
        folder = root / run
        folder.mkdir()
        (folder / MANIFEST).write_bytes(b"{}")
        os.utime(folder, ns=(MARK_NS, MARK_NS))

    def read(folder: RunFolder) -> Entry:
        return entry_of_line(folder.run_id, made_line(numbers[folder.run_id]), START)

    with Store(root, read) as store:
        store.sync()


def make_long_run(root: Path, events: int) -> None:
    folder = RunFolder.create(root, "20260307T120000000Z-long-agent-abcdef")
    folder.write_json(MANIFEST, {"run": folder.run_id})
    payload = {
        "exit_status": 0,
        "wall_ns": 1_843_211,
        "stdout": {"digest": "9f" * 32, "bytes": 5120, "prefix": "ok\n" * 20},
    }
    with EventLog(folder.events) as log:
        for number in range(events):
            log.append("tool.result" if number % 2 else "tool.call", "agent", payload)
    seal(folder)


def _numbers(program: str, *arguments: object) -> list[float]:
    command = [sys.executable, "-c", program, *map(str, arguments)]
    result = subprocess.run(
        command, capture_output=True, text=True, check=True, cwd=Path(__file__).parents[1]
    )
    return [float(word) for word in result.stdout.split()]


def view(workshop: Workshop) -> Iterator[Measured]:
    many, long = workshop.folder / "many", workshop.folder / "long"
    make_records(many, RECORDS)
    make_long_run(long, EVENTS)
    rounds: list[Round] = []
    for _ in range(workshop.rounds(3)):
        first, usual, searched, memory = _numbers(PAGES, many)
        opened, scrolled = _numbers(RUN, long)
        times = {
            "first page": first,
            "page": usual,
            "search and sort": searched,
            "long run": opened,
            "scroll": scrolled,
        }
        rounds.append({**{name: one / 1000 for name, one in times.items()}, "memory (MB)": memory})
    size = [{"report (MB)": _numbers(REPORT, REPORTED)[0]}]
    records, events = f"{RECORDS:,} records", f"{EVENTS:,} events"
    yield _row(f"first explorer page over {records}", rounds, "first page", 300)
    yield _row(f"explorer over {records}: search, filter and sort", rounds, "search and sort", None)
    yield _row(f"explorer over {records}: peak memory of the server", rounds, "memory (MB)", 300, "MB")
    yield _row(f"page of a run with {events}, as HTML", rounds, "long run", 1000)
    yield _row(f"200 rows in the middle of {events}", rounds, "scroll", None)
    yield _row(f"HTML report of {REPORTED:,} runs", size, "report (MB)", 5, "MB")


def _row(what: str, rounds: Sequence[Round], name: str, target: float | None, unit: str = "ms") -> Measured:
    shown = [{name: one[name]} for one in rounds]
    assert statistics.median(one[name] for one in shown) > 0
    return Measured.of(
        "view", what, shown, lambda one: one[name] * (1000 if unit == "ms" else 1), target=target, unit=unit
    )


ROWS = {"view": view}

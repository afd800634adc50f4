"""Addresses -> pages: one table; `Site` has what all pages share.

/                       Data Explorer          /run/RUN                one run, and its tabs
/contracts /contract/C  contracts              /agents /agent/A        agents
/studies /study/S       studies                /compare?a=RUN&b=RUN    two runs, or two agents
/export                 the chosen records     /static/NAME            style and scripts
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from urllib.parse import unquote

from steelyard.evidence.folder.folder import RunFolder
from steelyard.report.html.element import Markup
from steelyard.web import overview
from steelyard.web.compare import compare_page
from steelyard.web.contract import contract_page
from steelyard.web.explorer import explorer_page
from steelyard.web.export import export
from steelyard.web.message import NotThere, Request, Response, page
from steelyard.web.records import Records
from steelyard.web.run import checks, cost, diff, evidence, judge, review, scorers, timeline, why
from steelyard.web.run import files as run_files
from steelyard.web.run.event_index import EventIndexes
from steelyard.web.run.record import RunRecord, read_record
from steelyard.web.study import pages as study_pages
from steelyard.web.study.summaries import Summaries

STATIC = {
    "style.css": ("report.html", "text/css; charset=utf-8"),
    "timeline.js": ("web.static", "text/javascript; charset=utf-8"),
    "explorer.js": ("web.static", "text/javascript; charset=utf-8"),
    "live.js": ("web.static", "text/javascript; charset=utf-8"),
    "keys.js": ("web.static", "text/javascript; charset=utf-8"),
    "icon.svg": ("web.static", "image/svg+xml"),
}
LONGEST_NAME = 255  # bytes that a file system takes
_RUN = r"/run/(?P<run>[^/]+)"
Answer = Callable[[Request], Response]
RunPage = Callable[[RunRecord, Request], Markup]


class Site:
    """The pages of one folder of runs."""

    def __init__(self, root: Path, records: Records | None = None) -> None:
        self.root = root
        self.records = records or Records(root)
        self.summaries = Summaries(self.records)
        self.indexes = EventIndexes()
        self._static: dict[str, bytes] = {}
        self._routes: list[tuple[str, re.Pattern[str], Answer]] = [
            (method, re.compile(path), answer) for method, path, answer in self._table()
        ]

    def _table(self) -> list[tuple[str, str, Answer]]:
        tabs: dict[str, RunPage] = {
            "": lambda record, request: timeline.trace_tab(record, self.indexes, request),
            "/diff": lambda record, _: diff.diff_tab(record),
            "/scorers": lambda record, _: scorers.scorers_tab(record),
            "/judge": lambda record, _: judge.judge_tab(record),
            "/why": lambda record, _: why.why_tab(record),
            "/checks": checks.checks_tab,
            "/cost": lambda record, _: cost.cost_tab(record),
            "/files": lambda record, _: run_files.files_tab(record),
            "/evidence": lambda record, _: evidence.evidence_tab(record),
            "/review": review.review_tab,
            r"/event/(?P<seq>\d+)": lambda record, request: timeline.event_page(
                record, self.indexes, request
            ),
            r"/file/(?P<name>.+)": run_files.file_page,
        }
        return [
            ("GET", r"/static/(?P<name>[a-z.]+)", self._file),
            ("GET", "/", lambda request: page(explorer_page(self.records, request))),
            ("GET", "/export", lambda request: export(self.records, request)),
            ("GET", "/studies", lambda _: page(study_pages.studies_page(self.records))),
            (
                "GET",
                "/study/(?P<name>[^/]+)",
                lambda request: page(study_pages.study_page(self.records, self.summaries, request)),
            ),
            (
                "GET",
                "/compare",
                lambda request: page(compare_page(self.records, request, self.folder)),
            ),
            ("GET", "/contracts", lambda _: page(overview.contracts_page(self.records))),
            ("GET", "/agents", lambda _: page(overview.agents_page(self.records))),
            (
                "GET",
                "/contract/(?P<name>[^/]+)",
                lambda request: page(contract_page(self.records, request)),
            ),
            (
                "GET",
                "/agent/(?P<name>[^/]+)",
                lambda request: page(overview.agent_page(self.records, request)),
            ),
            *(("GET", f"{_RUN}{path}", self._run_page(tab)) for path, tab in tabs.items()),
            (
                "GET",
                f"{_RUN}/events\\.json",
                lambda request: timeline.events_json(self.record(request), self.indexes, request),
            ),
            (
                "GET",
                rf"{_RUN}/event/(?P<seq>\d+)\.json",
                lambda request: timeline.event_json(self.record(request), self.indexes, request),
            ),
            ("GET", f"{_RUN}/chain\\.json", lambda request: timeline.chain_json(self.record(request))),
            (
                "GET",
                rf"{_RUN}/raw/(?P<name>.+)",
                lambda request: run_files.raw_file(self.record(request), request),
            ),
            ("POST", f"{_RUN}/decide", lambda request: review.save_decision(self.record(request), request)),
            ("POST", f"{_RUN}/review", lambda request: review.save_review(self.record(request), request)),
        ]

    def _run_page(self, tab: RunPage) -> Answer:
        return lambda request: page(tab(self.record(request), request))

    def answer(self, request: Request, method: str = "GET") -> Response:
        """The page that the table names for an address."""
        for wanted, pattern, answer in self._routes:
            found = pattern.fullmatch(request.path)
            if found and wanted == method:
                parts = {
                    name: unquote(value, errors="surrogateescape")
                    for name, value in found.groupdict().items()
                }
                return answer(
                    Request(request.path, parts, request.query, request.form, request.lists, request.csrf)
                )
        raise NotThere("There is no page at this address.")

    def record(self, request: Request) -> RunRecord:
        record = read_record(self.folder(request.parts["run"]), request.number("grading", 1, 1))
        if not record.result or request.path.endswith(".json"):
            return record
        # A look at a record reads only the end of its log; what the run cost is spread over all of it.
        cost_usd = self.indexes.of(record.folder.events).cost_usd
        return replace(record, result={**record.result, "cost": {"usd": cost_usd}})

    def folder(self, run: str) -> RunFolder:
        """A run of this folder by its whole name: no path, no link."""
        path = self.root / run
        is_name = not run.startswith(".") and "/" not in run and "\x00" not in run
        if is_name and len(os.fsencode(run)) <= LONGEST_NAME and not path.is_symlink() and path.is_dir():
            return RunFolder(path)
        raise NotThere("There is no run with this name in this store.")

    def _file(self, request: Request) -> Response:
        name = request.parts["name"]
        if name not in STATIC:
            raise NotThere("There is no such file.")
        package, kind = STATIC[name]
        if name not in self._static:
            folder = files("steelyard").joinpath(*package.split("."))
            self._static[name] = folder.joinpath(name).read_bytes()
        return Response(self._static[name], kind, headers={"Cache-Control": "max-age=300"})

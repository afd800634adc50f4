"""List runs, newest last: when, what, who, and the verdict; or `running`, `interrupted`, `not graded`."""

from __future__ import annotations

import argparse
import gc
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from rich.text import Text

from steelyard.cli.console.output import console, print_json
from steelyard.cli.options.runs_option import add_runs_option
from steelyard.errors import OperatorFault
from steelyard.evidence.folder.folder import GRADINGS_HEAD, MANIFEST, REPORT, RunFolder, find_runs
from steelyard.evidence.folder.glance import glance
from steelyard.evidence.folder.gradings import grading_files
from steelyard.evidence.live_state import live_state, started_at
from steelyard.report.plain import one_line
from steelyard.report.progress import WORDS
from steelyard.report.rows import Rows
from steelyard.report.terminal import COLOURS, number, seconds

HELP = "list runs: when, contract, agent, verdict"
SCHEMA = "steelyard.runs/1"
RUNNING, INTERRUPTED, NOT_GRADED, ALTERED = "running", "interrupted", "not graded", "altered"
STATES = (*WORDS, RUNNING, INTERRUPTED, NOT_GRADED, ALTERED)
_DAMAGED = (OSError, ValueError, LookupError, TypeError, AttributeError)
_STYLES = {**COLOURS, RUNNING: "cyan", ALTERED: "bold red"}
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


class Listed(NamedTuple):
    """One run.

    {"schema": "steelyard.runs/1", "run": "...", "started": "2026-03-07T12:00:00Z", "contract": "sum", "agent": "noop",
     "state": "fail", "score": 0.0, "wall_s": 1.2, "phase": null, "folder": "..."}
    """

    folder: RunFolder
    started: datetime | None
    contract: str
    agent: str
    state: str
    score: float | None = None
    wall_s: float | None = None
    phase: str | None = None

    def to_json(self) -> dict[str, Any]:
        return {
            "schema": SCHEMA,
            "run": self.folder.run_id,
            "started": None if self.started is None else f"{self.started:%Y-%m-%dT%H:%M:%SZ}",
            **{name: value for name, value in self._asdict().items() if name not in ("folder", "started")},
            "folder": str(self.folder.path),
        }


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--contract", metavar="GLOB", help="only of contracts whose id matches")
    parser.add_argument("--agent", metavar="GLOB", help="only of agents whose name matches")
    parser.add_argument(
        "--verdict",
        action="append",
        metavar="WORD",
        help=f"only these: {', '.join(STATES)}; may be repeated",
    )
    parser.add_argument(
        "--since", metavar="WHEN", help="only runs that started since: 2026-03-07, or 30m, 12h, 7d, 2w ago"
    )
    parser.add_argument("-n", "--last", type=int, metavar="N", help="only the newest N")
    add_runs_option(parser)
    parser.add_argument("--json", action="store_true", help="one JSON line for each run")


def run(args: argparse.Namespace) -> int:
    for word in args.verdict or ():
        if word not in STATES:
            raise OperatorFault(f"--verdict {word}: there are {', '.join(STATES)}")
    if args.last is not None and args.last < 1:
        raise OperatorFault("--last is at least 1")
    gc.disable()  # thousands of small records are read and all are kept
    folders = find_runs(args.runs)
    found = list(_chosen(folders, args))
    found = found[-args.last :] if args.last else found
    if args.json:
        for one in found:
            print_json(one.to_json())
    elif not folders:
        console().print(f"no runs in {args.runs} yet; `steelyard demo` makes some")
    elif not found:
        console().print(f"none of the {len(folders)} runs in {args.runs} matches")
    else:
        console().print(_table(found))
    return 0


def _chosen(folders: list[RunFolder], args: argparse.Namespace) -> Iterator[Listed]:
    since = None if args.since is None else _moment(args.since)
    for folder in folders:
        started = started_at(folder)
        if since is not None and (started is None or started < since):
            continue
        one = listed(folder)
        if (
            fnmatchcase(one.contract, args.contract or "*")
            and fnmatchcase(one.agent, args.agent or "*")
            and (not args.verdict or one.state in args.verdict)
        ):
            yield one


def listed(folder: RunFolder) -> Listed:
    """What the folder says, verified as far as a table of many runs verifies it."""
    if folder.state == "sealed" and _is_graded(folder):
        evidence, gradings = glance(folder)
        if evidence.broken is None and gradings:
            verdict = gradings[0]["verdict"]
            wall_s = evidence.durations.get("wall_s")
            return _of(folder, evidence.manifest, str(verdict["verdict"]))._replace(
                score=verdict["score"], wall_s=wall_s
            )
        return _of(folder, evidence.manifest, ALTERED)
    live = live_state(folder)
    if live.is_running:
        return _of(folder, _manifest(folder), RUNNING)._replace(wall_s=live.elapsed_s, phase=live.phase)
    return _of(folder, _manifest(folder), NOT_GRADED if folder.state == "sealed" else INTERRUPTED)


def _is_graded(folder: RunFolder) -> bool:
    traces = (folder.file(GRADINGS_HEAD), folder.file(REPORT))
    return any(path.exists() for path in traces) or bool(grading_files(folder))


def _of(folder: RunFolder, manifest: Mapping[str, Any], state: str) -> Listed:
    contract, agent = manifest.get("contract"), manifest.get("agent")
    return Listed(
        folder,
        started_at(folder),
        str(contract.get("id")) if isinstance(contract, dict) else "?",
        str(agent.get("name")) if isinstance(agent, dict) else "?",
        state,
    )


def _manifest(folder: RunFolder) -> dict[str, Any]:
    try:
        manifest = folder.read_json(MANIFEST)
    except _DAMAGED:
        return {}
    return manifest if isinstance(manifest, dict) else {}


def _moment(text: str) -> datetime:
    now = datetime.now(UTC)
    if text[:-1].isdecimal() and text[-1] in _UNITS:
        try:
            return now - timedelta(**{_UNITS[text[-1]]: int(text[:-1])})
        except OverflowError:
            return datetime.min.replace(tzinfo=UTC)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise OperatorFault(
            f"--since {text}: write a date like {now:%Y-%m-%d}, or 30m, 12h, 7d, 2w"
        ) from None
    return moment.astimezone(UTC)


def _table(found: list[Listed]) -> Rows:
    rows = Rows(
        ("run", "started", "contract", "agent", "verdict", "score", "time", ""),
        giving=("agent", "contract"),
        right=frozenset({"score", "time"}),
    )
    for one in found:
        started = "-" if one.started is None else f"{one.started.astimezone():%Y-%m-%d %H:%M:%S}"
        rows.rows.append(
            (
                Text(one.folder.run_id.rsplit("-", 1)[-1], "dim"),
                Text(started),
                Text(one_line(one.contract, 40)),
                Text(one_line(one.agent, 40)),
                Text(one.state, _STYLES.get(one.state, "yellow")),
                Text(number(one.score)),
                Text(seconds(one.wall_s), "dim"),
                Text(one_line(one.phase or ""), "cyan"),
            )
        )
    return rows

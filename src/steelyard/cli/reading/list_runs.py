"""List runs, newest last: when, what, who, and the verdict; or `running`, `interrupted`, `not graded`.

`runs rm RUN...` removes runs; `runs gc --older-than DAYS` removes the old ones. Neither removes a run that is under way.
With `--archive FILE --by NAME --reason TEXT` outcomes, digests and numbers of each run are kept in FILE, with the approval.
"""

from __future__ import annotations

import argparse
import gc
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.text import Text

from steelyard.cli.console.output import console, print_json
from steelyard.cli.options.runs_option import add_runs_option
from steelyard.cli.options.store_option import add_store_option, synced_store
from steelyard.errors import OperatorFault
from steelyard.evidence.folder.folder import RunFolder, find_run, refuse_file
from steelyard.evidence.live_state import live_state
from steelyard.report.lines.rows import Rows
from steelyard.report.plain import one_line
from steelyard.report.progress import WORDS
from steelyard.report.stored import archive
from steelyard.report.stored.open_store import is_altered
from steelyard.report.terminal import COLOURS, number, seconds
from steelyard.store import query as store_query
from steelyard.store.entry import ACTIVE, ALTERED, INTERRUPTED, NOT_GRADED, PAUSED, RUNNING, Entry

if TYPE_CHECKING:
    from steelyard.store.store import Store

HELP = "list runs: when, contract, agent, verdict"
SCHEMA = "steelyard.runs/1"
STATES = (*WORDS, RUNNING, PAUSED, INTERRUPTED, NOT_GRADED, ALTERED)
SORTS = {"time": "started", "verdict": "state", "cost": "cost_usd"}  # and columns by their own names
VERIFIED = 200  # so many rows of a listing are compared with their folders once more
_STYLES = {**COLOURS, RUNNING: "cyan", PAUSED: "yellow", ALTERED: "bold red"}
OLDEST_DAYS = 100_000
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}

_USES = {
    "list": "it belongs to `runs gc`",
    "rm": "it removes the runs that are named; `runs gc` removes by such options",
    "gc": "`--keep-last N` keeps the newest N of each contract and agent",
}


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "action", nargs="?", choices=["list", "rm", "gc"], default="list", help="default: list"
    )
    parser.add_argument("names", nargs="*", metavar="RUN", help="rm: the runs to remove")
    parser.add_argument("--contract", metavar="GLOB", help="only of contracts whose id matches")
    parser.add_argument("--agent", metavar="GLOB", help="only of agents whose name matches")
    parser.add_argument(
        "--verdict",
        action="append",
        metavar="WORD",
        help=f"only these: {', '.join(STATES)}; may be repeated",
    )
    parser.add_argument("--tag", metavar="GLOB", help="only runs with a tag that matches")
    parser.add_argument(
        "--study", metavar="NAME", help="only of this study: its name, or how its digest begins"
    )
    parser.add_argument(
        "--since", metavar="WHEN", help="only runs that started since: 2026-03-07, or 30m, 12h, 7d, 2w ago"
    )
    parser.add_argument(
        "--sort",
        default="time",
        metavar="COLUMN",
        help="time (default), contract, agent, verdict, score, reward, cost, wall_s",
    )
    parser.add_argument("--reverse", action="store_true", help="the largest, or the newest, first")
    parser.add_argument(
        "-n", "--last", type=int, metavar="N", help="only the newest N, or the last N of the order"
    )
    parser.add_argument(
        "--older-than", type=float, metavar="DAYS", help="gc: runs that started so many days ago, or earlier"
    )
    parser.add_argument(
        "--keep-last",
        type=int,
        default=0,
        metavar="N",
        help="gc: keep the newest N of each contract and agent",
    )
    parser.add_argument("--dry-run", action="store_true", help="rm, gc: print what would be removed")
    _add_archive_options(parser)
    add_runs_option(parser)
    add_store_option(parser)
    parser.add_argument("--json", action="store_true", help="one JSON line for each run")


def _add_archive_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--archive",
        type=Path,
        metavar="FILE",
        help="rm, gc: first append outcomes, digests and numbers of each run to FILE; needs --by and --reason",
    )
    parser.add_argument("--by", default="", metavar="NAME", help="--archive: who approves the removal")
    parser.add_argument("--reason", default="", metavar="TEXT", help="--archive: why")


def run(args: argparse.Namespace) -> int:
    _check(args)
    gc.disable()  # thousands of small records are read and all are kept
    refuse_file(args.runs)
    if not args.runs.is_dir():
        if not args.json:
            console().print(f"no runs in {args.runs} yet; `steelyard demo` makes some")
        return 0
    if args.action == "rm":
        found = [find_run(args.runs, name).run_id for name in args.names]
    with synced_store(args.runs, args.store) as store:
        if args.action == "list":
            _list(store, args)
        else:
            _remove(store, found if args.action == "rm" else _old(store, args), args)
            if args.action == "gc" and args.study is None and not args.json:
                _note_studies(store, args)
    return 0


def _check(args: argparse.Namespace) -> None:
    for word in args.verdict or ():
        if word not in STATES:
            raise OperatorFault(f"--verdict {word}: there are {', '.join(STATES)}")
    if args.last is not None and args.last < 1:
        raise OperatorFault("--last is at least 1")
    if args.action == "rm" and not args.names:
        raise OperatorFault("runs rm: name at least one run")
    if args.action != "rm" and args.names:
        raise OperatorFault(f"runs {args.action} takes no names; it has options that choose runs")
    if ignored := _ignored(args):
        raise OperatorFault(f"runs {args.action} does not use {', '.join(ignored)}: {_USES[args.action]}")
    if args.action == "gc":
        _check_age(args.older_than)
    if args.archive is not None and args.action == "list":
        raise OperatorFault("--archive belongs to `runs rm` and `runs gc`")
    if args.archive is not None and not (args.by.strip() and args.reason.strip()):
        raise OperatorFault(
            "--archive: say who approves the removal and why, with --by NAME and --reason TEXT"
        )


def _check_age(days: float | None) -> None:
    if days is None:
        raise OperatorFault("runs gc: say how old with --older-than DAYS")
    if not 0 <= days <= OLDEST_DAYS:
        raise OperatorFault(f"--older-than is a number of days from 0 to {OLDEST_DAYS}")


def _ignored(args: argparse.Namespace) -> list[str]:
    """Options that say which runs are meant, and that the action would pass over."""
    chosen = {
        f"--{name}": getattr(args, name) for name in ("contract", "agent", "verdict", "tag", "study", "since")
    }
    of_gc = {"--older-than": args.older_than, "--keep-last": args.keep_last or None}
    unused = {"list": of_gc, "rm": {**chosen, "--last": args.last, **of_gc}, "gc": {"--last": args.last}}
    return [name for name, value in unused[args.action].items() if value is not None]


def _query(args: argparse.Namespace) -> store_query.Query:
    return store_query.Query(
        contract=args.contract,
        agent=args.agent,
        verdicts=tuple(args.verdict or ()),
        tag=args.tag,
        study=args.study,
        since=None if args.since is None else moment_of(args.since),
        sort=SORTS.get(args.sort, args.sort),
        descending=args.reverse,
    )


def _list(store: Store, args: argparse.Namespace) -> None:
    query = _query(args)
    if args.last:  # the end of the order, without reading what comes before
        backwards = replace(query, descending=not query.descending, limit=args.last)
        found = store.query(backwards)[::-1]
    else:
        found = store.query(query)
    found = [_now(one, is_verified=len(found) <= VERIFIED) for one in found]
    if args.json:
        for one in found:
            print_json(run_to_json(one))
    elif not found:
        total = store.count()
        console().print(
            f"no run in {args.runs} matches, of {total}"
            if total
            else f"no runs in {args.runs} yet; `steelyard demo` makes some"
        )
    else:
        console().print(_table(found, args.sort))


def _now(entry: Entry, *, is_verified: bool) -> Entry:
    """The entry with what only the folder says: where a running run is, and whether a record was altered."""
    assert entry.folder is not None
    folder = RunFolder(entry.folder)
    if entry.state in ACTIVE:
        live = live_state(folder)
        return replace(entry, wall_s=live.elapsed_s, phase=live.phase)
    if is_verified and entry.state in WORDS and is_altered(folder):
        return replace(entry, state=ALTERED, score=None)
    return entry


def run_to_json(entry: Entry) -> dict[str, Any]:
    """One run.

    {"schema": "steelyard.runs/1", "run": "...", "started": "2026-03-07T12:00:00Z", "contract": "sum", "agent": "noop",
     "state": "fail", "score": 0.0, "wall_s": 1.2, "phase": null, "study": null, "cost_usd": 0.0, "tags": [], "folder": "..."}
    """
    return {
        "schema": SCHEMA,
        "run": entry.run,
        "started": None if entry.started is None else f"{entry.started:%Y-%m-%dT%H:%M:%SZ}",
        **{name: getattr(entry, name) for name in ("contract", "agent", "state", "score", "wall_s", "phase")},
        **{
            name: getattr(entry, name) for name in ("trial", "repeat", "study", "reward", "cost_usd", "judge")
        },
        "tags": list(entry.tags),
        "folder": str(entry.folder),
    }


def _old(store: Store, args: argparse.Namespace) -> list[str]:
    """Runs that retention gives up: old enough, chosen by the options, and not of a study unless `--study` names it."""
    until = datetime.now(UTC) - timedelta(days=args.older_than)
    chosen = store.query(replace(_query(args), until=until))
    counts: dict[tuple[str, str], int] = {}
    newest = set()
    for one in reversed(store.query()) if args.keep_last else ():
        key = one.contract, one.agent
        counts[key] = counts.get(key, 0) + 1
        if counts[key] <= args.keep_last:
            newest.add(one.run)
    return [
        one.run
        for one in chosen
        if one.state not in ACTIVE and one.run not in newest and (one.study is None or args.study is not None)
    ]


def _note_studies(store: Store, args: argparse.Namespace) -> None:
    """Why old runs are still there."""
    until = datetime.now(UTC) - timedelta(days=args.older_than)
    kept = sum(one.study is not None for one in store.query(replace(_query(args), until=until)))
    if kept:
        console().print(
            f"{kept} old run{' of a study is' if kept == 1 else 's of studies are'} kept; `--study NAME` chooses those of one"
        )


def _remove(store: Store, runs: Sequence[str], args: argparse.Namespace) -> None:
    for run_id in runs:
        if not args.dry_run:
            if args.archive is not None:
                _archive(store, run_id, args)
            store.remove_run(run_id)
        if args.json:
            print_json({"schema": "steelyard.removed/1", "run": run_id, "dry_run": args.dry_run})
    if not args.json:
        would = "would remove" if args.dry_run else "removed"
        console().print(f"{would} {len(runs)} run{'' if len(runs) == 1 else 's'} of {args.runs}")


def _archive(store: Store, run_id: str, args: argparse.Namespace) -> None:
    folder = RunFolder(store.root / run_id)
    line = store.index_run(folder).line
    if line is None:
        raise OperatorFault(
            f"{run_id} is not archived: it has no verified result; `runs rm` without --archive removes it"
        )
    archive.append_record(
        args.archive,
        archive.archived_record(folder, line, archive.Approval(args.by.strip(), args.reason.strip())),
    )


def moment_of(text: str) -> datetime:
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


def _table(found: list[Entry], sort: str) -> Rows:
    """With the number that the runs are sorted by, where it is none of the usual ones."""
    extra = (sort,) if sort in ("cost", "reward") else ()
    rows = Rows(
        ("run", "started", "contract", "agent", "verdict", "score", *extra, "time", ""),
        giving=("agent", "contract"),
        right=frozenset({"score", "time", *extra}),
    )
    for one in found:
        started = "-" if one.started is None else f"{one.started.astimezone():%Y-%m-%d %H:%M:%S}"
        rows.rows.append(
            (
                Text(one.run.rsplit("-", 1)[-1], "dim"),
                Text(started),
                Text(one_line(one.contract, 40)),
                Text(one_line(one.agent, 40)),
                Text(one.state, _STYLES.get(one.state, "yellow")),
                Text(number(one.score)),
                *(Text(_sorted_by(one, name)) for name in extra),
                Text(seconds(one.wall_s), "dim"),
                Text(one_line(one.phase or ""), "cyan"),
            )
        )
    return rows


def _sorted_by(one: Entry, name: str) -> str:
    if name == "reward":
        return number(one.reward)
    return "-" if one.cost_usd is None else f"${one.cost_usd:.4f}"

"""Serve the web viewer of a folder of runs: explorer, runs, contracts, agents, studies, comparisons."""

from __future__ import annotations

import argparse
from pathlib import Path

from steelyard.cli.options.store_option import add_store_option
from steelyard.errors import OperatorFault
from steelyard.evidence.folder.folder import RUNS
from steelyard.store import database, indexed_folders
from steelyard.web import records, site, start

HELP = "read results in a browser"
PORT = 7373


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "runs",
        nargs="?",
        default=str(RUNS),
        metavar="STORE",
        help=f"a folder of runs (default {RUNS}), or postgresql://... that has the index of one",
    )
    parser.add_argument(
        "--runs", dest="runs_too", metavar="DIR", help="the same folder, named as other verbs name it"
    )
    parser.add_argument(
        "--port",
        type=int,
        default=None,
        metavar="N",
        help=f"default {PORT}, or a free one where that is taken; 0: a free one",
    )
    parser.add_argument(
        "--host",
        default="127.0.0.1",
        metavar="ADDRESS",
        help="where to listen (default 127.0.0.1: this machine only)",
    )
    add_store_option(parser)
    parser.add_argument(
        "--access-log",
        type=Path,
        metavar="FILE",
        help="append a JSON line for each request: when, from where, which page, which answer",
    )
    parser.add_argument("--no-browser", action="store_true", help="only print the address")


def run(args: argparse.Namespace) -> int:
    folder, url = _store(args.runs_too or args.runs, args.store)
    return start.start_viewer(
        site.Site(folder, records.Records(folder, url=url)),
        start.ListenOptions(args.port, PORT, args.host, browser=not args.no_browser, log=args.access_log),
    )


def _store(named: str, url: str | None) -> tuple[Path, str | None]:
    """The folder of runs and the database of its index; a database alone names its folder."""
    if not named.startswith(database.POSTGRES):
        return _folder(Path(named)), url
    folders = indexed_folders.indexed_folders(named)
    here = [folder for folder in folders if folder.is_dir()]
    if len(here) == 1:
        return here[0], named
    if RUNS.absolute() in here:
        return RUNS.absolute(), named
    if not here:
        has = f"runs of {', '.join(map(str, folders))}, not on this machine" if folders else "no runs yet"
        raise OperatorFault(f"this index has {has}; `steelyard view RUNS --store URL` reads a folder into it")
    raise OperatorFault(
        f"this index has runs of several folders: {', '.join(map(str, here))}; `steelyard view FOLDER --store URL` shows one"
    )


def _folder(runs: Path) -> Path:
    if not runs.is_dir():
        raise OperatorFault(f"{runs} is not a folder of runs; `steelyard demo` makes some in {RUNS}")
    return runs.absolute()

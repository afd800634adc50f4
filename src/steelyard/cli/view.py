"""Serve the web viewer of a folder of runs: explorer, runs, contracts, agents, studies, comparisons."""

from __future__ import annotations

import argparse
from pathlib import Path

from steelyard.cli.options.store_option import add_store_option
from steelyard.errors import OperatorFault
from steelyard.evidence.folder.folder import RUNS

HELP = "read results in a browser"
PORT = 7373


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "runs", nargs="?", type=Path, default=RUNS, metavar="STORE", help=f"a folder of runs (default {RUNS})"
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
    parser.add_argument("--no-browser", action="store_true", help="only print the address")


def run(args: argparse.Namespace) -> int:
    from steelyard.web.records import Records  # noqa: PLC0415  # the server takes longer to load than the command
    from steelyard.web.site import Site  # noqa: PLC0415
    from steelyard.web.start import Listening, start_viewer  # noqa: PLC0415

    return start_viewer(
        Site(_folder(args.runs), Records(_folder(args.runs), url=args.store)),
        Listening(args.port, PORT, args.host, browser=not args.no_browser),
    )


def _folder(runs: Path) -> Path:
    if not runs.is_dir():
        raise OperatorFault(f"{runs} is not a folder of runs; `steelyard demo` makes some in {RUNS}")
    return runs.absolute()

"""Serve the web viewer of a folder of runs: explorer, runs, contracts, agents, studies, comparisons."""

from __future__ import annotations

import argparse
from pathlib import Path

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
    parser.add_argument("--no-browser", action="store_true", help="only print the address")


def run(args: argparse.Namespace) -> int:
    from steelyard.web.start import start_viewer  # noqa: PLC0415  # the server takes longer to load than the command

    return start_viewer(
        args.runs, port=args.port, default_port=PORT, host=args.host, browser=not args.no_browser
    )

"""Show what a run changed; with two runs, show how their changes and outcomes differ."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from steelyard.cli.output import console, print_json
from steelyard.cli.runs import RUNS
from steelyard.evidence.folder import RunFolder, find_run
from steelyard.report.compare import compare_runs
from steelyard.report.plain import shown_lines
from steelyard.report.terminal import print_comparison

HELP = "show what a run changed, or how two runs differ"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", metavar="RUN", help="a run folder, or the start or the end of a run's name")
    parser.add_argument("other", nargs="?", metavar="RUN2", help="a second run, to compare with")
    parser.add_argument(
        "--runs", type=Path, default=RUNS, metavar="DIR", help=f"where runs are (default {RUNS})"
    )
    parser.add_argument("--json", action="store_true", help="the change, or the comparison, as JSON")


def run(args: argparse.Namespace) -> int:
    folder = find_run(args.runs, args.run)
    if args.other is None:
        return _show_patch(folder, as_json=args.json)
    comparison = compare_runs(folder, find_run(args.runs, args.other))
    if args.json:
        print_json(comparison.to_json())
    else:
        print_comparison(console(), comparison)
    return 0


def _show_patch(folder: RunFolder, *, as_json: bool) -> int:
    if as_json:
        print_json(folder.read_json("change.json"))
    elif sys.stdout.isatty() and not folder.read_bytes("patch.diff"):
        console().print("no change")
    elif sys.stdout.isatty():
        from rich.syntax import Syntax  # noqa: PLC0415  # pygments is slow to load

        console().print(Syntax(shown_lines(folder.read_bytes("patch.diff").decode(errors="replace")), "diff"))
    else:
        # Piped, a patch is data for `git apply`: every byte as it is.
        sys.stdout.buffer.write(folder.read_bytes("patch.diff"))
    return 0

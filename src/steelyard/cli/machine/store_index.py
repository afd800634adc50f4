"""The index of a folder of runs: `store rebuild` makes it again from the run folders, which are the truth.

{"schema": "steelyard.store/1", "runs": 120, "read": 120, "removed": 0, "seconds": 0.4}
"""

from __future__ import annotations

import argparse
import sys
import time

from steelyard.cli.console.output import print_json
from steelyard.cli.options.runs_option import add_runs_option
from steelyard.cli.options.store_option import add_store_option, print_progress
from steelyard.report.stored.open_store import open_store

HELP = "the index of runs: rebuild it from the run folders"
SCHEMA = "steelyard.store/1"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "action",
        choices=["rebuild", "sync"],
        metavar="rebuild|sync",
        help="rebuild: forget everything and read every run folder; sync: read what changed",
    )
    add_runs_option(parser)
    add_store_option(parser)
    parser.add_argument("--json", action="store_true", help="one JSON line")


def run(args: argparse.Namespace) -> int:
    begun = time.monotonic()
    with open_store(args.runs, args.store) as store:
        change = (store.rebuild if args.action == "rebuild" else store.sync)(print_progress)
        runs = store.count()
    took_s = time.monotonic() - begun
    if args.json:
        done = {"read": change.read, "removed": change.removed}
        print_json({"schema": SCHEMA, "runs": runs, **done, "seconds": round(took_s, 3)})
    else:
        sys.stdout.write(f"{runs} runs; read {change.read}, forgot {change.removed}, in {took_s:.1f} s\n")
    return 0

"""Where run folders are, unless `--runs` or `--out` says otherwise."""

from __future__ import annotations

import argparse
from pathlib import Path

from steelyard.evidence.folder.folder import RUNS


def add_runs_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--runs", type=Path, default=RUNS, metavar="DIR", help=f"where runs are (default {RUNS})"
    )

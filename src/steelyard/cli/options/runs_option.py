"""Where run folders are, unless `--runs` or `--out` says otherwise."""

from __future__ import annotations

import argparse
from pathlib import Path

from steelyard.evidence.folder.folder import RUNS


def add_runs_option(parser: argparse.ArgumentParser, *, is_written: bool = False) -> None:
    """`--runs`; for a verb that writes runs also `--out`, which `run` has."""
    names = ("--runs", "--out") if is_written else ("--runs",)
    where = "where run folders are and go" if is_written else "where runs are"
    parser.add_argument(*names, type=Path, default=RUNS, metavar="DIR", help=f"{where} (default {RUNS})")

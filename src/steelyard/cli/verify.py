"""Verify that the record of a run was not altered: every line of its trace, every file, every grading."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

import orjson

from steelyard.cli.runs import RUNS
from steelyard.contract.tree import shown
from steelyard.evidence.change import Change
from steelyard.evidence.folder import CHANGE, SEAL, RunFolder, find_run
from steelyard.evidence.gradings import grading_files
from steelyard.evidence.seal import Break, check_seal

HELP = "verify that the record of a run was not altered"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", nargs="+", metavar="RUN", help="a run folder, or the start of a run's id")
    parser.add_argument(
        "--runs", type=Path, default=RUNS, metavar="DIR", help=f"where runs are (default {RUNS})"
    )
    parser.add_argument(
        "--public-key", type=Path, metavar="PEM", help="the seal must be signed by this ed25519 key"
    )
    parser.add_argument(
        "--deep", action="store_true", help="also that every blob which the change names is there"
    )
    parser.add_argument("--json", action="store_true", help="one JSON line for each run")


def run(args: argparse.Namespace) -> int:
    worst = 0
    for wanted in args.run:
        folder = find_run(args.runs, wanted)
        breaks = check_seal(folder, args.public_key)
        if args.deep and not breaks:
            breaks = list(_absent_blobs(folder))
        sys.stdout.write(_json_line(folder, breaks) if args.json else _line(folder, breaks))
        worst = max(worst, 1 if breaks else 0)
    return worst


def _absent_blobs(folder: RunFolder) -> Iterator[Break]:
    """Contents that the change names and the folder does not hold; one over an import cap has no name."""
    change = Change.from_bytes(folder.read_bytes(CHANGE))
    for entry in change.entries:
        if entry.new is not None and entry.new.sha256 and entry.new.sha256 not in folder.blobs:
            yield Break(CHANGE, f"the contents of {shown(entry.path)} are not among the blobs")


def _line(folder: RunFolder, breaks: list[Break]) -> str:
    if breaks:
        more = f" (and {len(breaks) - 1} more)" if len(breaks) > 1 else ""
        return f"broken  {shown(folder.run_id)}  {breaks[0]}{more}\n"
    seal = folder.read_json(SEAL)
    signed = "signed" if "signature" in seal else "not signed"
    gradings = len(grading_files(folder))
    return (
        f"ok  {shown(folder.run_id)}  {seal['events']} events, {len(seal['files'])} files, {gradings} gradings, "
        f"{signed}, seal {seal['digest']}\n"
    )


def _json_line(folder: RunFolder, breaks: list[Break]) -> str:
    broken = [{"where": item.where, "why": item.why} for item in breaks]
    data = {
        "run": folder.run_id,
        "folder": str(folder.path),
        "ok": not breaks,
        "state": folder.state,
        "broken": broken,
    }
    return orjson.dumps(data).decode() + "\n"

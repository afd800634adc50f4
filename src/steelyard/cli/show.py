"""Show a run: its verdict, gates, grades, findings, and the output of what failed."""

from __future__ import annotations

import argparse
from pathlib import Path

from steelyard.cli.output import console, print_json
from steelyard.cli.runs import RUNS
from steelyard.errors import OperatorFault
from steelyard.evidence.evidence import load_evidence
from steelyard.evidence.folder import RunFolder, find_run, find_runs
from steelyard.evidence.gradings import read_gradings
from steelyard.report.plain import one_line
from steelyard.report.result import result_line
from steelyard.report.terminal import print_run, table_of_results

HELP = "show a run: verdict, gates, grades, findings"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "run", nargs="?", metavar="RUN", help="a run folder or the start of a run's name; without it, all"
    )
    parser.add_argument(
        "--runs", type=Path, default=RUNS, metavar="DIR", help=f"where runs are (default {RUNS})"
    )
    parser.add_argument("--json", action="store_true", help="the result line of the newest grading")


def run(args: argparse.Namespace) -> int:
    if args.run is None:
        return _show_all(args)
    folder = find_run(args.runs, args.run)
    result = _result(folder)
    if result is None:
        raise OperatorFault(
            f"{folder.run_id} was never finished: it has no seal and no grading, so it counts for nothing"
        )
    if args.json:
        print_json(result)
    else:
        print_run(console(), result)
    return 0


def _show_all(args: argparse.Namespace) -> int:
    folders = find_runs(args.runs)
    results = [result for result in map(_result, folders) if result is not None]
    if args.json:
        for result in results:
            print_json(result)
        return 0
    out = console()
    if not folders:
        out.print(f"no runs in {args.runs} yet; `steelyard demo` makes some")
        return 0
    if results:
        out.print(table_of_results(results))
    unfinished = len(folders) - len(results)
    if unfinished:
        out.print(one_line(f"{unfinished} never finished (killed before the seal); they count for nothing"))
    return 0


def _result(folder: RunFolder) -> dict[str, object] | None:
    gradings = read_gradings(folder)
    if folder.state != "sealed" or not gradings:
        return None
    return result_line(load_evidence(folder), gradings[-1])

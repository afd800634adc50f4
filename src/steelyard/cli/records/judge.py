"""Compare the judge with people: agreement, Cohen's kappa and Krippendorff's alpha with 95% intervals, and whether it is ready.

LABELS is a file of JSON lines ({"human": "PASS", "judge": "FAIL"} or {"human": "FAIL", "run": "runs/2026-..."}), or a folder
of runs that people annotated with `steelyard review`. Exit code 0: ready, 1: not ready.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from rich.text import Text

from steelyard.cli.console.output import console, print_json
from steelyard.cli.options.runs_option import add_runs_option
from steelyard.errors import OperatorFault
from steelyard.evidence.folder.folder import find_runs
from steelyard.judge.calibration import Calibration, LabelledPair, calibrate, read_labels
from steelyard.judge.saved_calibration import WHOLE, calibration_line, save_calibration
from steelyard.report.plain import one_line
from steelyard.review.labels import labels_of_runs

HELP = "measure how far the judge agrees with people"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=("calibrate",), help="what to do")
    parser.add_argument(
        "labels", type=Path, metavar="LABELS", help="a file of labels, or a folder of reviewed runs"
    )
    parser.add_argument(
        "--model", metavar="NAME", help="one model of the jury (default: the judge as a whole)"
    )
    parser.add_argument(
        "--save", action="store_true", help="keep the result beside the runs, so that reports print it"
    )
    add_runs_option(parser)
    parser.add_argument("--json", action="store_true", help="everything, as one JSON object")


def run(args: argparse.Namespace) -> int:
    labelled = _labels(args)
    if not labelled:
        raise OperatorFault(f"{args.labels} has no label: nothing can be compared")
    found = calibrate(labelled)
    if args.save:
        save_calibration(args.runs, args.model or WHOLE, found.to_json(), str(args.labels))
    if args.json:
        print_json(found.to_json())
    else:
        _print(found, args.model or WHOLE)
    return 0 if found.ready else 1


def _labels(args: argparse.Namespace) -> list[LabelledPair]:
    if args.labels.is_dir():
        return labels_of_runs(find_runs(args.labels), args.model)
    return read_labels(args.labels, args.model)


def _print(found: Calibration, name: str) -> None:
    out = console()
    out.print(Text(one_line(calibration_line(name, found.to_json()))), soft_wrap=True)
    table = found.table
    out.print(f"people PASS: judge PASS {table.both}, judge FAIL {table.only_one}", highlight=False)
    out.print(f"people FAIL: judge PASS {table.only_other}, judge FAIL {table.neither}", highlight=False)
    if found.unreadable.successes:
        out.print(f"unreadable: {found.unreadable.successes} of {found.unreadable.trials}", highlight=False)
    for missing in found.missing:
        out.print(Text(f"missing: {one_line(missing)}", "yellow"), soft_wrap=True)

"""Summarise a study or a folder of runs: rates with intervals, comparisons, failure modes, cost, deviations, disclosures."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path

from steelyard.cli.console.output import console, print_json
from steelyard.cli.options.runs_option import add_runs_option
from steelyard.cli.options.store_option import add_store_option
from steelyard.errors import OperatorFault
from steelyard.plan import study_plan
from steelyard.report.html import study_report
from steelyard.report.study_summary.read_results import ResultSet, read_results
from steelyard.report.study_summary.render import markdown, terminal
from steelyard.report.study_summary.render.tables import SECTIONS
from steelyard.report.study_summary.summarise import summarise_study

DIGITS = 16  # of a study's digest, which name it in messages
HELP = "summarise a study or a folder of runs: rates with intervals, comparisons, cost"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "what",
        nargs="?",
        metavar="STUDY|RUNS",
        help="a folder of runs, a file of result lines, or a study in --runs: its name, its digest or its plan; "
        "without it, all runs of --runs",
    )
    add_runs_option(parser)
    add_store_option(parser)
    parser.add_argument(
        "--rank-errors",
        choices=study_plan.ACCEPTANCE_ERRORS,
        help="rank agents by one number: acceptance errors count as failures, or are excluded (default: as planned, else no ranking)",
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="the whole summary as one JSON object")
    form.add_argument("--markdown", action="store_true", help="every table in Markdown")
    form.add_argument(
        "--html",
        type=Path,
        metavar="FILE",
        help="write one HTML file with plots, which loads nothing and prints well",
    )
    form.add_argument("--full", action="store_true", help="every table, not only what a decision needs")
    form.add_argument(
        "--section",
        action="append",
        choices=list(SECTIONS),
        metavar="NAME",
        help=f"only this part; may be given several times: {', '.join(SECTIONS)}",
    )


def run(args: argparse.Namespace) -> int:
    found = find_results(args.what, args.runs, args.store)
    summary = summarise_study(replace(found, ranking=args.rank_errors))
    if args.json:
        print_json(summary.to_json())
    elif args.html is not None:
        study_report.write_study_html(summary, args.html)
        sys.stdout.write(f"{args.html}\n")
    elif args.markdown:
        sys.stdout.write(markdown.study_markdown(summary))
    elif args.section:
        terminal.print_sections(console(), summary, args.section)
    elif args.full:
        terminal.print_study(console(), summary)
    else:
        terminal.print_brief(console(), summary)
    return 0


def find_results(what: str | None, runs: Path, store_url: str | None = None) -> ResultSet:
    """A path is a folder, a file of result lines, or the plan of a study in `runs`; any other word is a study in `runs`."""
    if what is None:
        return read_results(runs, store_url=store_url)
    study = study_of(what)
    if study == what and Path(what).exists():
        return read_results(Path(what), store_url=store_url)
    found = read_results(runs, study=study, store_url=store_url)
    if not found.lines and not found.without_result:
        if study != what:
            raise OperatorFault(
                f"{runs} has no run of the study that {what} plans; --runs names another folder"
            )
        raise OperatorFault(f"{what} is no file and no folder, and {runs} has no study of that name")
    return found


def study_of(word: str) -> str:
    """The digest of the study that a plan is the file of; any other word is itself."""
    if not (word.endswith((".yaml", ".yml")) and Path(word).is_file()):
        return word
    return study_plan.read_plan(Path(word)).identity[:DIGITS]

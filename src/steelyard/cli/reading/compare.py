"""Compare two agents on the contracts that both were tried on.

A and B are agents of --runs (or of --study in it), or two folders of runs or files of result lines. Exit codes: 0 compared;
1 with --fail-on-regression, B is worse, or cannot be shown to be good enough; 2 the conditions differ and --anyway is missing.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from steelyard.cli.console.output import console, print_json
from steelyard.cli.options.runs_option import add_runs_option
from steelyard.cli.options.store_option import add_store_option
from steelyard.cli.reading.report import study_of
from steelyard.errors import OperatorFault
from steelyard.report.study_summary.read_results import read_results
from steelyard.report.study_summary.render.comparison import print_two_agents
from steelyard.report.study_summary.two_agents import (
    TwoAgents,
    compare_named,
    compare_sets,
    equivalent_within,
    gate_of,
)

HELP = "compare two agents on the contracts that they share; an exit code for CI"
_NO_MARGIN = "shown"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "first", metavar="A", help="the agent to compare with, or a folder of runs or a file of result lines"
    )
    parser.add_argument(
        "second", metavar="B", help="the agent in question, or a folder of runs or a file of result lines"
    )
    parser.add_argument(
        "--study", metavar="S", help="only runs of this study: its name, the start of its digest, or its plan"
    )
    parser.add_argument(
        "--agent", metavar="NAME", help="which agent, where A and B are folders or files with several"
    )
    add_runs_option(parser)
    add_store_option(parser)
    parser.add_argument(
        "--fail-on-regression",
        nargs="?",
        const=_NO_MARGIN,
        metavar="MARGIN",
        help="exit 1 if B is shown to be worse than A; with MARGIN (such as 0.05 or 5%%), exit 1 unless a loss of MARGIN or "
        "more is excluded; an agent without any decided trial fails too",
    )
    parser.add_argument(
        "--equivalent-within",
        metavar="MARGIN",
        help="test the claim that A and B differ by less than MARGIN (such as 0.05 or 5%%): two one-sided tests (TOST)",
    )
    parser.add_argument(
        "--anyway",
        action="store_true",
        help="compare although conditions (budgets, environments, graders) differ",
    )
    parser.add_argument("--json", action="store_true", help="the comparison as one JSON object")


def run(args: argparse.Namespace) -> int:
    margin = _margin(args.fail_on_regression)
    found = _compared(args)
    if args.fail_on_regression is not None:
        found = replace(found, gate=gate_of(found, margin))
    if (within := _margin(args.equivalent_within, "--equivalent-within")) is not None:
        found = equivalent_within(found, within)
    if args.json:
        print_json(found.to_json())
    else:
        print_two_agents(console(), found)
    return 1 if found.gate is not None and found.gate.failed else 0


def _compared(args: argparse.Namespace) -> TwoAgents:
    study = None if args.study is None else study_of(args.study)
    paths = [Path(word) for word in (args.first, args.second)]
    if all(path.exists() for path in paths):
        one, two = (read_results(path, study=study, store_url=args.store) for path in paths)
        return compare_sets(one, two, agent=args.agent, anyway=args.anyway)
    results = read_results(args.runs, study=study, store_url=args.store)
    return compare_named(results, args.first, args.second, anyway=args.anyway)


def _margin(text: str | None, option: str = "--fail-on-regression") -> float | None:
    """`0.05` and `5%` are five points."""
    if text is None or text == _NO_MARGIN:
        return None
    try:
        margin = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        margin = -1.0
    if not 0 < margin < 1:
        raise OperatorFault(f"{option} {text}: a margin is a share such as 0.05 or 5%")
    return margin

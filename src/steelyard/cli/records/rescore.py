"""Say what recorded results would have been under other caps, weights or another threshold.

Computed from sealed evidence: no agent and no check runs, and nothing is written to a run folder. The numbers are
counterfactual: they are labelled, and never part of a report.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from rich.text import Text

from steelyard.cli.console.output import console, print_json
from steelyard.cli.options.runs_option import add_runs_option
from steelyard.cli.options.store_option import add_store_option
from steelyard.cli.reading.report import find_results
from steelyard.errors import OperatorFault
from steelyard.report.study_summary.counterfactual import CAPS, MEASURED, Counterfactual, Rescoring, rescore
from steelyard.report.study_summary.render.tables import Section
from steelyard.report.study_summary.render.terminal import print_section
from steelyard.report.study_summary.render.words import rate_of

HELP = "what the results would be under other caps or weights: counterfactual, never mixed with results"
MOST_SHOWN = 20


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "what", nargs="?", metavar="STUDY|RUNS", help="as for `report`; without it, all runs of --runs"
    )
    add_runs_option(parser)
    add_store_option(parser)
    parser.add_argument(
        "--cap",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help=f"another cap, such as wall_s=60: {', '.join(CAPS)}; may be repeated",
    )
    parser.add_argument(
        "--weight",
        action="append",
        default=[],
        metavar="GRADER=W",
        help="another weight of a grader; may be repeated",
    )
    parser.add_argument(
        "--quality-weight",
        action="append",
        default=[],
        metavar="DIMENSION=W",
        help="another weight of a dimension of quality (minimal, trace, maintainability, efficiency); may be repeated",
    )
    parser.add_argument("--threshold", type=float, metavar="T", help="another score that is enough to pass")
    parser.add_argument("--json", action="store_true", help="the rescored numbers as one JSON object")


def run(args: argparse.Namespace) -> int:
    rules = Rescoring(
        _pairs("--cap", args.cap),
        _pairs("--weight", args.weight),
        args.threshold,
        _pairs("--quality-weight", args.quality_weight),
    )
    found = rescore(find_results(args.what, args.runs, args.store), rules)
    if args.json:
        print_json(found.to_json())
    else:
        _print(found)
    return 0


def _pairs(option: str, words: list[str]) -> dict[str, float]:
    found: dict[str, float] = {}
    for word in words:
        name, _, value = word.partition("=")
        try:
            found[name] = float(value)
        except ValueError:
            raise OperatorFault(
                f"{option} {word}: a number is missing; write {option} {name or 'NAME'}=60"
            ) from None
    return found


def _rules(rules: Rescoring) -> Iterator[str]:
    """What was changed, in words."""
    for name, cap in rules.caps.items():
        yield f"cap {name}: at most {cap:g}; counted is {MEASURED[name]}"
    for name, weight in rules.weights.items():
        yield f"weight of {name}: {weight:g}"
    for name, weight in rules.quality_weights.items():
        yield f"weight of {name} in quality: {weight:g}"
    if rules.threshold is not None:
        yield f"a score of {rules.threshold:g} is enough to pass"


def _print(found: Counterfactual) -> None:
    out = console()
    out.print(Text(found.label, "bold yellow"))
    for line in _rules(found.rules):
        out.print(Text(line))
    rows = tuple(
        (one.agent, rate_of(one.primary), rate_of(one.counterfactual), f"{one.undecided} of {one.trials}")
        for one in found.agents
    )
    columns = ("agent", "result", "counterfactual", "not known")
    print_section(out, Section("Success", columns, rows))
    qualities = tuple(
        (one.agent, rate_of(one.quality), rate_of(one.counterfactual_quality))
        for one in found.agents
        if one.quality is not None and one.counterfactual_quality is not None
    )
    if qualities:
        out.print()
        title = "Quality of trials that pass all gates"
        print_section(out, Section(title, ("agent", "result", "counterfactual"), qualities))
    out.print()
    if found.changed:
        changed = tuple(
            (one.contract, one.agent, f"{one.before} -> {one.after}", one.run, one.why)
            for one in found.changed[:MOST_SHOWN]
        )
        left = len(found.changed) - len(changed)
        lines = (f"{left} more; --json lists all",) if left else ()
        print_section(
            out, Section("Trials that change", ("contract", "agent", "verdict", "run", "why"), changed, lines)
        )
    else:
        out.print("no verdict changes under these rules")
    out.print(Text(found.label, "bold yellow"))

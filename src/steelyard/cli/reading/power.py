"""Compute how likely a study is to find a difference between two agents, and how many contracts and repeats that takes.

By formula (design effect, noncentral t) and by simulation, which must agree. The correlation of repeats is assumed, or estimated
from earlier runs with --from. Exit code 1: the planned study has less than the wanted power.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import orjson
from rich.text import Text

from steelyard.cli.console.output import console, print_json
from steelyard.cli.options.runs_option import add_runs_option
from steelyard.cli.reading import report
from steelyard.errors import OperatorFault
from steelyard.report.power_plan.plan_power import Pilot, PowerPlan, pilot_of, plan_power
from steelyard.report.power_plan.render import power_lines, power_svg
from steelyard.report.study_summary.trial_record import BASELINES, by_agent, trials_of
from steelyard.stats.design.power import Design

HELP = "how many contracts and repeats a comparison needs"
ICC = 0.2
MOST_STUDIES = 100_000


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--rate",
        type=share,
        metavar="P",
        help="success rate of the agent to compare with (default: of --from)",
    )
    parser.add_argument(
        "--effect",
        type=share,
        default=0.1,
        metavar="D",
        help="difference to detect, such as 0.1 or 10%% (default 0.1)",
    )
    parser.add_argument("--contracts", type=int, default=40, metavar="N", help="contracts (default 40)")
    parser.add_argument(
        "--repeats",
        type=int,
        default=3,
        metavar="K",
        help="repeats of each agent on each contract (default 3)",
    )
    parser.add_argument(
        "--icc",
        type=float,
        metavar="R",
        help=f"correlation of two repeats of a contract (default {ICC}, or of --from)",
    )
    parser.add_argument(
        "--pairing",
        type=float,
        default=0.0,
        metavar="S",
        help="how far both agents find the same contracts hard (default 0: cautious)",
    )
    parser.add_argument(
        "--alpha", type=share, default=0.05, metavar="A", help="level of the two-sided test (default 0.05)"
    )
    parser.add_argument(
        "--power", type=share, default=0.8, metavar="W", help="power that is wanted (default 0.8)"
    )
    parser.add_argument(
        "--from",
        dest="pilot",
        metavar="RUNS",
        help="a folder of runs, a file of result lines or a study: estimate rate and correlation",
    )
    parser.add_argument(
        "--agent", metavar="NAME", help="whose runs of --from (default: the only one that is no baseline)"
    )
    add_runs_option(parser)
    parser.add_argument(
        "--simulate", type=int, default=4000, metavar="N", help="studies to simulate (default 4000)"
    )
    parser.add_argument("--svg", type=Path, metavar="FILE", help="also draw the power curve")
    parser.add_argument(
        "--out", type=Path, metavar="FILE", help="also store the calculation with its assumptions as JSON"
    )
    parser.add_argument("--json", action="store_true", help="print that JSON")


def share(text: str) -> float:
    """`0.1` and `10%` are ten points."""
    return float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)


def run(args: argparse.Namespace) -> int:
    if not 1 <= args.simulate <= MOST_STUDIES:
        raise OperatorFault(f"--simulate is between 1 and {MOST_STUDIES:,}")
    if not 0 < args.power < 1:
        raise OperatorFault(f"--power {args.power:g}: it is between 0 and 1")
    if args.rate is not None and not 0 <= args.rate <= 1:
        raise OperatorFault(f"--rate {args.rate:g}: a rate is between 0 and 1, such as 0.5 or 50%")
    if not -1 <= args.effect <= 1:
        raise OperatorFault(
            f"--effect {args.effect:g}: a difference of rates is between -1 and 1, such as 0.1 or 10%"
        )
    rate, icc, pilot = _assumed(args)
    if not (0 <= rate <= 1 and 0 <= rate + args.effect <= 1):
        raise OperatorFault(
            f"--rate {rate:g} and --effect {args.effect:g}: the rate and their sum are between 0 and 1"
        )
    try:
        design = Design(rate, rate + args.effect, args.contracts, args.repeats, icc, args.pairing, args.alpha)
    except ValueError as error:
        raise OperatorFault(str(error)) from None
    if args.effect == 0:
        raise OperatorFault("--effect is the difference to detect and is not 0")
    plan = plan_power(design, args.power, pilot, args.simulate)
    _store(args, plan)
    if args.json:
        print_json(plan.to_json())
    else:
        out = console()
        for line in power_lines(plan):
            out.print(Text(line))
    return 0 if plan.power >= args.power else 1


def _store(args: argparse.Namespace, plan: PowerPlan) -> None:
    for path, data in (
        (args.svg, power_svg(plan).encode() if args.svg else b""),
        (args.out, orjson.dumps(plan.to_json(), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)),
    ):
        if path is None:
            continue
        try:
            path.write_bytes(data)
        except OSError as error:
            raise OperatorFault(f"{path} cannot be written: {error.strerror or error}") from None


def _assumed(args: argparse.Namespace) -> tuple[float, float, Pilot | None]:
    """Rate and correlation, typed or estimated; what is typed counts."""
    rate, icc, pilot = args.rate, args.icc, None
    if args.pilot is not None:
        pilot = _pilot(args)
        rate = pilot.rate.value if rate is None else rate
        if rate is None:
            raise OperatorFault(f"--from {args.pilot}: {pilot.rate.why}; write a success rate with --rate")
        if icc is None and pilot.icc.value is None:
            raise OperatorFault(f"--from {args.pilot}: {pilot.icc.why}; write the correlation with --icc")
        icc = pilot.icc.value if icc is None else icc
    if rate is None:
        raise OperatorFault("write a success rate with --rate, or name earlier runs with --from")
    return rate, ICC if icc is None else icc, pilot


def _pilot(args: argparse.Namespace) -> Pilot:
    agents = by_agent(trials_of(report.find_results(args.pilot, args.runs)).records)
    names = [args.agent] if args.agent else [name for name in agents if name not in BASELINES]
    if len(names) != 1 or names[0] not in agents:
        raise OperatorFault(
            f"--from {args.pilot}: choose one agent with --agent; there are: {', '.join(agents) or 'none'}"
        )
    return pilot_of(agents[names[0]])

"""Options of `plan` about money, baselines, the end of a study and how it is run -> a parser that has them."""

from __future__ import annotations

import argparse
from pathlib import Path

from steelyard.plan import study_plan
from steelyard.plan.trial import PROTOCOL_SEED


def add_plan_options(parser: argparse.ArgumentParser) -> None:
    for add in (_add_budgets, _add_baselines, _add_stopping, _add_tolerances, _add_conduct):
        add(parser)


def _add_budgets(parser: argparse.ArgumentParser) -> None:
    """What runs may cost."""
    parser.add_argument("--budget", type=float, metavar="USD", help="B_total: what the whole study may cost")
    parser.add_argument(
        "--task-budget", type=float, metavar="USD", help="B_task: what all runs of one contract may cost"
    )
    parser.add_argument(
        "--run-budget",
        type=float,
        metavar="USD",
        help="B_run: what one run may cost (default: the largest of the contracts)",
    )
    parser.add_argument(
        "--no-judge",
        action="store_true",
        help="the study will be run with --no-judge: no envelope keeps money for the model judge",
    )
    parser.add_argument(
        "--review-budget",
        type=float,
        metavar="USD",
        help="of B_total, kept back for the minutes of people that are recorded after runs",
    )
    parser.add_argument(
        "--acceptance-limit",
        type=float,
        metavar="S",
        help="seconds that the checks of one run may take together (default, where `exec/minute` has a price: by their time limits)",
    )


def _add_baselines(parser: argparse.ArgumentParser) -> None:
    """What agents are compared with, and what shows that contracts and agents are sound."""
    parser.add_argument(
        "--baseline",
        action="append",
        default=[],
        metavar="AGENT",
        help="a further baseline, such as script:FILE",
    )
    parser.add_argument(
        "--honeypot",
        action="append",
        default=[],
        type=Path,
        metavar="CONTRACT",
        help="a contract that cannot be satisfied: an agent that passes it cheated; may be repeated",
    )
    parser.add_argument(
        "--noop-repeats",
        type=int,
        default=0,
        metavar="N",
        help="further repeats of noop, which show flaky checks",
    )


def _add_stopping(parser: argparse.ArgumentParser) -> None:
    """When the study or a run of it ends early."""
    parser.add_argument("--minimum-effect", type=float, default=0.1, metavar="D", help="default %(default)g")
    parser.add_argument(
        "--stop-after-violations",
        type=int,
        default=3,
        metavar="N",
        help="stop when N runs of agents failed the safety gate (default %(default)s; 0: never)",
    )
    parser.add_argument(
        "--dominance",
        type=float,
        metavar="FRACTION",
        help="stop a run that spent this part of its time without a change of its workspace",
    )
    parser.add_argument(
        "--stop-when-decided",
        action="store_true",
        help="stop the main stage when the interval of a difference excludes the minimum effect; the same for all agents",
    )
    parser.add_argument(
        "--stopping",
        choices=["obrien-fleming", "pocock", "anytime"],
        help="the rule for comparing agents before the study is complete: alpha spending, or an interval that is valid at "
        "every look; without one an unfinished study is not compared (default: obrien-fleming with --stop-when-decided)",
    )
    parser.add_argument(
        "--looks",
        type=int,
        metavar="N",
        help="equally spaced looks of --stopping obrien-fleming or pocock (default: one after each repeat)",
    )


def _add_tolerances(parser: argparse.ArgumentParser) -> None:
    """What stops the study before its main stage."""
    parser.add_argument(
        "--flaky-tolerance", type=float, default=0.05, metavar="FRACTION", help="default %(default)g"
    )
    parser.add_argument(
        "--invalid-tolerance", type=float, default=0.2, metavar="FRACTION", help="default %(default)g"
    )
    parser.add_argument(
        "--minimum-power",
        type=float,
        default=0.8,
        metavar="P",
        help="the main stage begins only with this chance to detect the minimum effect (default %(default)g)",
    )


def _add_conduct(parser: argparse.ArgumentParser) -> None:
    """How the study is run."""
    parser.add_argument(
        "--seed",
        type=int,
        default=PROTOCOL_SEED,
        help=f"of the order (default {PROTOCOL_SEED}; another is a deviation)",
    )
    parser.add_argument(
        "--sandbox", choices=["bubblewrap", "docker", "local"], help="instead of the contracts'"
    )
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="for the forecast of time")
    parser.add_argument(
        "--rank-errors",
        choices=study_plan.ACCEPTANCE_ERRORS,
        default="none",
        help="the report ranks agents by one number: acceptance errors count as failures, or are excluded (default: no ranking)",
    )
    parser.add_argument("--force", action="store_true", help="replace --out")
    parser.add_argument(
        "--certified", action="store_true", help="refuse contracts that `steelyard certify` has not certified"
    )

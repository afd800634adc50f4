"""Trials -> runs, reported as they end: what `run`, `grade` and `demo` share."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from steelyard.cli.reporter import Reporter
from steelyard.cli.require_assurance import required_by
from steelyard.cli.runs import RUNS
from steelyard.errors import InfraFault, OperatorFault
from steelyard.plan.trial import Trial
from steelyard.report.result import result_line
from steelyard.report.short_line import short_line
from steelyard.study.engine import Engine
from steelyard.study.judging import Judging
from steelyard.study.record import grading_of


def add_run_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--out", type=Path, default=RUNS, metavar="DIR", help=f"where run folders go (default {RUNS})"
    )
    parser.add_argument(
        "--sandbox",
        choices=["bubblewrap", "docker", "local"],
        help="instead of the contract's; bubblewrap runs many Harbor tasks without Docker; local has no isolation, "
        "and every result says so",
    )
    parser.add_argument(
        "--sign", type=Path, metavar="KEY", help="ed25519 private key (PEM) that signs each seal"
    )
    parser.add_argument("--no-judge", action="store_true", help="ask no model, even if a key is set")
    parser.add_argument("--json", action="store_true", help="one result line for each run")


def add_jobs(parser: argparse.ArgumentParser, default: int) -> None:
    parser.add_argument(
        "--jobs", type=int, default=default, metavar="N", help="trials at the same time (default %(default)s)"
    )


def run_trials(trials: Sequence[Trial], args: argparse.Namespace, reporter: Reporter) -> list[dict[str, Any]]:
    """Run them all, tell the reporter as they end, and return the short result of each one's last run, in order."""
    if args.jobs < 1:
        raise OperatorFault("--jobs is at least 1")
    if args.sign:
        from steelyard.evidence.folder.signature import check_private_key  # noqa: PLC0415  # heavy, and rarely needed

        check_private_key(args.sign)  # a wrong key is found before anything is spent
    least = required_by(args)
    engine = Engine(
        args.out,
        args.jobs,
        args.sandbox,
        args.sign,
        judging=None if args.no_judge else Judging(os.environ, on_ask=reporter.judging),
        on_prepare=reporter.preparing,
        on_start=reporter.started,
    )
    results: dict[int, dict[str, Any]] = {}
    try:
        for trial, records in engine.run(trials):
            lines = [least.applied(result_line(record.evidence, grading_of(record))) for record in records]
            reporter.finished(lines)
            results[id(trial)] = short_line(lines[-1])
    except (InfraFault, KeyboardInterrupt):  # what has ended is told
        if results:
            reporter.summary([results[id(trial)] for trial in trials if id(trial) in results])
        raise
    return [results[id(trial)] for trial in trials]

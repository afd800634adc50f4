"""Trials -> runs, reported as they end: what `run`, `grade` and `demo` share."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from steelyard.agents.catalogue import agent_for
from steelyard.cli.reporter import Reporter
from steelyard.cli.require_assurance import required_by
from steelyard.cli.runs import RUNS
from steelyard.errors import ContractFault, OperatorFault, SteelyardError
from steelyard.importers.direct import as_typed
from steelyard.plan.phase import Phase
from steelyard.plan.trial import Plan, Trial
from steelyard.report.fault_line import fault_line
from steelyard.report.result import result_line
from steelyard.report.short_line import short_line
from steelyard.study.engine import Engine
from steelyard.study.judging import Judging
from steelyard.study.observer import Observer, TrialResult
from steelyard.study.record import grading_of


def add_run_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--out", type=Path, default=RUNS, metavar="DIR", help=f"where run folders go (default {RUNS})"
    )
    parser.add_argument(
        "--sandbox",
        choices=["bubblewrap", "docker", "local"],
        help="instead of the contract's; bubblewrap runs many a Harbor task without its image; local has no isolation, "
        "and every result says so",
    )
    parser.add_argument(
        "--sign", type=Path, metavar="KEY", help="ed25519 private key (PEM) that signs each seal"
    )
    parser.add_argument(
        "--no-judge", action="store_true", help="ask no model for its opinion, whatever keys there are"
    )
    parser.add_argument("--json", action="store_true", help="one result line for each run")


def add_jobs(parser: argparse.ArgumentParser, default: int) -> None:
    parser.add_argument(
        "--jobs", type=int, default=default, metavar="N", help="trials at the same time (default %(default)s)"
    )


def run_trials(
    trials: Plan | Sequence[Trial],
    args: argparse.Namespace,
    reporter: Reporter,
    typed: Mapping[Path, Path] | None = None,
) -> list[dict[str, Any]]:
    """Run them all, tell the reporter as they end, and return the short result of each one's last run, in order.

    `typed` maps contract folders in the cache to what the operator typed, which messages name instead.
    """
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
        observer=_Display(reporter),
    )
    results: dict[str, dict[str, Any]] = {}
    try:
        for result in engine.run(trials):
            lines = [least.applied(result_line(one.evidence, grading_of(one))) for one in result.records]
            if result.fault is not None:
                lines.append(_fault_line(result, typed or {}))
            reporter.finished(lines)
            results[result.trial.id] = short_line(lines[-1])
            del result
    except KeyboardInterrupt:  # what has ended is told
        if results:
            reporter.summary([results[trial.id] for trial in trials if trial.id in results])
        raise
    return [results[trial.id] for trial in trials]


def _fault_line(result: TrialResult, typed: Mapping[Path, Path]) -> dict[str, Any]:
    trial, fault = result.trial, result.fault
    if isinstance(fault, ContractFault):
        fault = ContractFault([as_typed(problem, typed) for problem in fault.problems])
    try:
        agent = agent_for(trial.agent, trial.contract, trial.options).name
    except SteelyardError:
        agent = trial.agent
    return fault_line(trial, agent, fault or SteelyardError(), result.retries)


class _Display(Observer):
    """Shows the trials of a study with a `Reporter`."""

    def __init__(self, reporter: Reporter) -> None:
        self._reporter = reporter

    def started(self, trial: Trial) -> None:
        self._reporter.started(trial)

    def phase(self, trial: Trial, phase: Phase, detail: str = "") -> None:
        del detail
        if phase == "environment":
            self._reporter.preparing(trial.contract)

    def waiting(self, trial: Trial, why: str) -> None:
        self._reporter.note(f"{trial.contract.id} x {trial.agent}: {why}")

"""Trials -> runs, reported as they end: what `run`, `grade` and `demo` share."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from steelyard.agents.catalogue import agent_for
from steelyard.cli.console import RECEIVED
from steelyard.cli.console.phases import RunKey
from steelyard.cli.console.reporter import CHECKS, PlannedRows, Reporter
from steelyard.cli.options.require_assurance import required_by
from steelyard.contract.contract import Contract
from steelyard.errors import ContractFault, OperatorFault, SteelyardError
from steelyard.evidence.folder import signature
from steelyard.evidence.folder.folder import RUNS
from steelyard.importers.direct import as_typed
from steelyard.plan.agent_options import AgentOptions
from steelyard.plan.phase import Phase
from steelyard.plan.trial import Plan, Retry, Trial
from steelyard.report import fault_line
from steelyard.report.result import result_line
from steelyard.report.short_line import short_line
from steelyard.study.engine import Engine
from steelyard.study.judging import judging_by
from steelyard.study.observer import Observer, TrialResult


def add_run_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--out",
        "--runs",
        dest="out",
        type=Path,
        default=RUNS,
        metavar="DIR",
        help=f"where run folders go (default {RUNS})",
    )
    parser.add_argument(
        "--sandbox",
        choices=["bubblewrap", "docker", "local"],
        help="instead of the contract's; bubblewrap runs a Harbor task without its image where the Dockerfile allows "
        "it; local has no isolation, "
        "and every result says so",
    )
    parser.add_argument(
        "--sign", type=Path, metavar="KEY", help="ed25519 private key (PEM) that signs each seal"
    )
    parser.add_argument("--no-judge", action="store_true", help="ask no model, even if a key is set")
    parser.add_argument("--json", action="store_true", help="one result line for each run")


def add_jobs(parser: argparse.ArgumentParser, default: int) -> None:
    parser.add_argument(
        "-j",
        "--jobs",
        type=int,
        default=default,
        metavar="N",
        help="trials at the same time (default %(default)s)",
    )


def add_max_failures(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--max-failures",
        type=int,
        metavar="N",
        help="start no further trials once N have not passed; trials that have started end",
    )


def planned_rows(
    trials: Plan | Sequence[Trial], args: argparse.Namespace, *, expected: bool = False
) -> PlannedRows:
    """What the rows of these trials will show."""
    if isinstance(trials, Plan):
        options = trials.options
        pairs = [
            (contract, _name(agent, contract, options))
            for contract in trials.contracts
            for agent in trials.agents
        ]
    else:
        pairs = [(one.contract, _name(one.agent, one.contract, one.options)) for one in trials]
    specs = [contract.spec for contract, _ in pairs]
    judging = judging_by(os.environ, lambda _: None, is_off=args.no_judge)
    shown = {
        "reward": any(spec.reward != "combined" or spec.steps for spec in specs),
        "judge": judging is not None and any(judging.may_judge(contract) for contract, _ in pairs),
        "time": not expected,  # of the two, the expected verdict says more
        "expected": expected,
    }
    return PlannedRows(
        [(contract.id, name) for contract, name in pairs],
        len(trials),
        gated=any(spec.workspace != "none" for spec in specs),
        more=tuple(name for name, is_shown in shown.items() if is_shown),
        jobs=args.jobs,
        out=args.out,
    )


def _name(agent: str, contract: Contract, options: AgentOptions) -> str:
    """As result lines have it; of an agent that cannot be made, as it was typed."""
    try:
        return agent_for(agent, contract, options).name
    except SteelyardError:
        return agent


def run_trials(
    trials: Plan | Sequence[Trial],
    args: argparse.Namespace,
    reporter: Reporter,
    typed: Mapping[Path, Path] | None = None,
    *,
    expected: Mapping[str, str] | None = None,
) -> list[dict[str, Any]]:
    """Run all trials, report each as it ends, and return the short result of each one's last run, in order.

    `typed` maps contract folders in the cache to what the operator typed, which messages name instead. `expected` has the
    verdict that a trial must get, by the trial's id.
    """
    if args.jobs < 1:
        raise OperatorFault("--jobs is at least 1")
    if args.sign:
        signature.check_private_key(args.sign)  # a wrong key is found before anything is spent
    least = required_by(args)
    engine = Engine(
        args.out,
        args.jobs,
        args.sandbox,
        args.sign,
        judging=judging_by(os.environ, reporter.note, is_off=args.no_judge),
        observer=TrialDisplay(reporter),
        interrupted=lambda: RECEIVED[-1] if RECEIVED else "",
    )
    results: dict[str, dict[str, Any]] = {}
    try:
        for result in engine.run(_until(trials, lambda: _is_enough(results, args))):
            lines = [least.applied(result_line(one.evidence, one.grading)) for one in result.records]
            if result.fault is not None:
                lines.append(_fault_line(result, typed or {}))
            reporter.finished(lines, result.trial.id, expected=(expected or {}).get(result.trial.id, ""))
            results[result.trial.id] = short_line(lines[-1])
            del result
    except KeyboardInterrupt:
        reporter.interrupted()
        raise
    if skipped := len(trials) - len(results):
        reporter.note(
            f"stopped after {args.max_failures} trials that did not pass; {skipped} were not started"
        )
    return [results[trial.id] for trial in trials if trial.id in results]


def _is_enough(results: Mapping[str, Mapping[str, Any]], args: argparse.Namespace) -> bool:
    most = getattr(args, "max_failures", None)
    return most is not None and sum(one["verdict"] != "pass" for one in results.values()) >= most


def _until(trials: Iterable[Trial], is_enough: Callable[[], bool]) -> Iterator[Trial]:
    for trial in trials:
        if is_enough():
            return
        yield trial


def _fault_line(result: TrialResult, typed: Mapping[Path, Path]) -> dict[str, Any]:
    trial, fault = result.trial, result.fault
    if isinstance(fault, ContractFault):
        fault = ContractFault([as_typed(problem, typed) for problem in fault.problems])
    name = _name(trial.agent, trial.contract, trial.options)
    return fault_line.fault_line(trial, name, fault or SteelyardError(), result.retries)


# What a person reads while a trial is in a phase.
WORDS: Mapping[Phase, str] = {
    "environment": "preparing",
    "prepare": "starting",
    "agent": "agent",
    "operator": "waits for an operator",
    "capture": "reading the change",
    "checks": CHECKS,
    "seal": "sealing",
    "grade": "grading",
    "judge": "judging",
}


class TrialDisplay(Observer):
    """Shows the trials of a study with a `Reporter`."""

    def __init__(self, reporter: Reporter) -> None:
        self._reporter = reporter
        self._waited: set[str] = set()

    def started(self, trial: Trial) -> None:
        key = RunKey(trial.contract.id, _name(trial.agent, trial.contract, trial.options), trial.repeat)
        self._reporter.started(trial.id, key)

    def phase(self, trial: Trial, phase: Phase, detail: str = "") -> None:
        word = WORDS[phase]
        if phase == "operator":
            self._reporter.note(f"{trial.contract.id} x {trial.agent}: {detail}")
        in_step = f"{word} (step {detail})" if detail and phase != "operator" else word
        self._reporter.phase(trial.id, in_step)

    def retried(self, trial: Trial, retry: Retry) -> None:
        self._reporter.phase(trial.id, f"attempt {retry.attempt} in {retry.wait_s:.0f} s: {retry.why}")

    def waiting(self, trial: Trial, why: str) -> None:
        if trial.id in self._waited:
            return  # each sandbox of a trial may have to wait, and one line is enough
        self._waited.add(trial.id)
        name = _name(trial.agent, trial.contract, trial.options)
        self._reporter.note(f"{trial.contract.id} x {name}: {why}")

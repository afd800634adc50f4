"""Run a planned study, resume it, show its progress, list studies, remove a contract that turned out to be invalid.

`run` and `resume` do the same: trials that have a result are not run again. A plan that was edited, or a contract or an agent that
changed, is refused unless --accept-changes, which records a deviation.
"""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from steelyard.cli.console import RECEIVED, say, study_display, terminal_width, wrap_message
from steelyard.cli.console.output import check_out, print_json
from steelyard.cli.options import agent_options
from steelyard.cli.options.decision_options import add_decision_options, deciding_person, written_reason
from steelyard.cli.options.runs_option import add_runs_option
from steelyard.cli.options.store_option import add_store_option, print_progress
from steelyard.cli.options.task_options import add_task_options, task_options
from steelyard.contract.load import load_contract
from steelyard.errors import ContractFault, OperatorFault
from steelyard.evidence.folder.folder import RUNS
from steelyard.evidence.folder.signature import check_private_key
from steelyard.graders.catalogue import installed_catalogue
from steelyard.importers.direct import contract_at
from steelyard.plan import order, study_plan
from steelyard.report.stored.open_store import entries_of, open_store
from steelyard.report.studies.text import status_lines
from steelyard.store import query
from steelyard.study import engine as study_engine
from steelyard.study import judging as study_judging
from steelyard.study import retry_policy
from steelyard.study.cluster import ray_engine, worker, worker_runs
from steelyard.study.protocol import charges, dominance, make_plan, run_study, status
from steelyard.study.protocol import folder as study_folder
from steelyard.study.protocol import progress as study_progress

if TYPE_CHECKING:
    from collections.abc import Callable

    from steelyard.contract.contract import Contract
    from steelyard.plan.trial import Trial
    from steelyard.study.observer import TrialEngine
    from steelyard.study.protocol.envelopes import EnvelopeGate

HELP = "run a planned study, resume it, show its progress"
ACTIONS = ("run", "resume", "status", "list", "remove")
RAY_JOBS = 64  # trials under way at a cluster, at least; Ray starts as many as there are resources
CODES = {"complete": 0, "stopped": 1, "held": 1, "partial": 3}


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "action",
        choices=ACTIONS,
        metavar="|".join(ACTIONS),
        help="remove: take a contract out, with --reason",
    )
    parser.add_argument(
        "plan", nargs="?", type=Path, metavar="STUDY", help="the file that `steelyard plan` wrote"
    )
    parser.add_argument("contract", nargs="?", metavar="CONTRACT", help="remove: the id of the contract")
    add_decision_options(parser, reason="needed by remove: what makes the contract objectively invalid")
    parser.add_argument(
        "-j", "--jobs", type=int, default=1, metavar="N", help="trials at the same time (default %(default)s)"
    )
    parser.add_argument("--engine", choices=["local", "ray"], default="local", help="default %(default)s")
    parser.add_argument(
        "--ray-address",
        default="auto",
        metavar="HOST:PORT",
        help="of the cluster (default: the one of this machine)",
    )
    parser.add_argument(
        "--blobs",
        metavar="URL",
        help="copy runs there (s3://..., gs://..., file://...): each when it is sealed; workers of Ray also while it is under way",
    )
    parser.add_argument(
        "--stage", action="append", choices=["shakedown", "pilot", "main"], help="only this stage"
    )
    parser.add_argument(
        "--force-stage",
        action="append",
        default=[],
        choices=["shakedown", "pilot", "main"],
        help="begin this stage although a criterion is not met; recorded as a deviation",
    )
    parser.add_argument(
        "--accept-changes",
        action="store_true",
        help="go on with a changed plan, contract or agent; recorded as a deviation",
    )
    parser.add_argument(
        "--sign", type=Path, metavar="KEY", help="ed25519 private key (PEM) that signs each seal"
    )
    parser.add_argument("--no-judge", action="store_true", help="ask no model, even if a key is set")
    add_task_options(parser)
    add_runs_option(parser, is_written=True)
    add_store_option(parser)
    parser.add_argument("--json", action="store_true", help="JSON lines: results of runs, or the status")


def run(args: argparse.Namespace) -> int:
    if args.action == "list":
        return _list(args)
    if args.plan is None:
        raise OperatorFault(f"study {args.action}: name the file that `steelyard plan` wrote")
    if args.action == "status":
        return _status(args)
    if args.action == "remove":
        return _remove(args)
    return _run(args)


class OpenStudy:
    """A plan with its folder, its contracts as they are now, and its trials."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.args = args
        self.plan: study_plan.StudyPlan = study_plan.read_plan(args.plan).located(args.plan.parent)
        args.sandbox = self.plan.sandbox  # tasks of Harbor are imported for one sandbox
        self.folder: study_folder.StudyFolder = study_folder.StudyFolder.of(args.runs.absolute(), self.plan)
        self.contracts: dict[str, Contract] = {}
        self.lost: dict[str, str] = {}  # contracts that cannot be loaded, and why

    def load(self) -> None:
        """Contracts that are still in the study; one that cannot be loaded costs its own trials."""
        removed = self.folder.removed()
        catalogue, tasks = installed_catalogue(), task_options(self.args)
        for one in self.plan.contracts:
            if one.id in removed:
                continue
            try:
                contract = load_contract(contract_at(self.args.plan.parent / one.path, tasks), catalogue)
            except ContractFault as fault:
                self.lost[one.id] = str(fault)
                continue
            self.contracts[one.id] = contract

    def changes(self) -> list[str]:
        """What is not as it was planned."""
        found = []
        if self.plan.is_edited:
            found.append(f"{self.args.plan} was edited after it was written")
        elif self.folder.is_begun and self.folder.plan().computed_digest() != self.plan.computed_digest():
            found.append(f"{self.args.plan} is not the plan that this study began with")
        first = next(iter(self.contracts.values()), None)
        identities = {}
        if first is not None:
            options = self.plan.options.as_options()
            identities = {
                one.name: make_plan.agent_identity(one.agent, first, options) for one in self.plan.agents
            }
        found += run_study.check_identities(self.plan, self.contracts, identities)
        return [*found, *(f"contract {name} cannot be loaded: {why}" for name, why in self.lost.items())]

    def trials(self) -> list[Trial]:
        file = self.args.plan.parent / self.plan.order.file if self.plan.order is not None else None
        if file is not None and file.is_file():
            slots = order.read_order(file.read_bytes(), self.plan)
        else:
            slots = order.draw_order(self.plan)
            order.read_order(order.order_csv(slots), self.plan)  # the same order as was planned, or refused
        if self.plan.is_edited:
            order.refuse_other_trials(slots, self.plan)
        return list(run_study.planned_trials(self.plan, slots, self.contracts))


def _run(args: argparse.Namespace) -> int:
    if args.jobs < 1:
        raise OperatorFault("--jobs is at least 1")
    if args.sign:
        check_private_key(args.sign)
    check_out(args.runs)
    opened = OpenStudy(args)
    if args.action == "resume" and not opened.folder.is_begun:
        raise OperatorFault(f"{args.plan} has not begun in {args.runs}; `steelyard study run` begins it")
    opened.load()
    changes = [*opened.changes(), *_changed_judges(args, opened)]
    if not args.accept_changes:
        run_study.refuse_changes(changes)
    trials = opened.trials()
    args.runs.mkdir(parents=True, exist_ok=True)
    try:
        outcome = _run_trials(args, opened, trials, changes)
    except KeyboardInterrupt:
        say(f"`{_resume_line(args)}` continues the study")
        raise
    return CODES[outcome.how] if outcome.stages_met is None else int(not outcome.stages_met)


def _run_trials(
    args: argparse.Namespace, opened: OpenStudy, trials: list[Trial], changes: list[str]
) -> run_study.Outcome:
    with (
        open_store(args.runs, args.store) as store,
        study_display.StudyDisplay(as_json=args.json) as display,
    ):
        study = run_study.Study(
            opened.plan,
            trials,
            opened.folder,
            store,
            entries_of,
            _engine(args, opened, display),
            stages=tuple(args.stage) if args.stage else ("shakedown", "pilot", "main"),
            forced=frozenset(args.force_stage),
            on_notice=display.notice,
            judging=_judging(args),
            judges=_judges(args),
            blobs=args.blobs if args.engine == "local" else None,  # workers of Ray copy their runs themselves
            recover=lambda: _recover(args, opened),
            look_at_agents=lambda agents: _look_at_agents(args, opened, agents),
        )
        _record_changes(opened, changes)
        outcome = study.run()
        display.close()
        _conclude(args, opened, study.progress, outcome)
    return outcome


def _recover(args: argparse.Namespace, opened: OpenStudy) -> None:
    """Also before the study goes on with the engine of one machine: a sealed run of a worker is a result."""
    if args.blobs is not None:
        worker_runs.recover_runs(args.blobs, args.runs, opened.plan.identity)


def _look_at_agents(args: argparse.Namespace, opened: OpenStudy, agents: frozenset[str]) -> None:
    """A key, a client or a folder that is missing is named before anything is spent; workers of Ray have keys of their own."""
    if args.engine == "local":
        options = opened.plan.options.as_options()
        for one in opened.plan.agents:
            if one.agent in agents:
                agent_options.check_agent(one.agent, options)


def _as_typed(args: argparse.Namespace, text: str) -> str:
    """What a study says to type, with the file of its plan and its folder of runs."""
    plan = shlex.quote(str(args.plan))
    runs = "" if args.runs == RUNS else f" --runs {shlex.quote(str(args.runs))}"
    for words in (f"remove {run_study.STUDY} CONTRACT", f"resume {run_study.STUDY}"):
        typed = words.replace(run_study.STUDY, plan) + runs
        text = text.replace(f"`steelyard study {words}", f"`steelyard study {typed}")
    return text


def _resume_line(args: argparse.Namespace) -> str:
    words = ["steelyard", "study", "resume", str(args.plan)]
    words += [] if args.runs == RUNS else ["--runs", str(args.runs)]
    if args.engine != "local":
        words += ["--engine", args.engine]
        words += [] if args.ray_address == "auto" else ["--ray-address", args.ray_address]
    words += ["--no-judge"] if args.no_judge else []
    words += [] if args.blobs is None else ["--blobs", "URL"]  # a URL may have a password
    words += [] if args.store is None else ["--store", "URL"]
    return shlex.join(words)


def _record_changes(opened: OpenStudy, changes: list[str]) -> None:
    """Each change once, however often the study is resumed."""
    opened.folder.begin(opened.plan)
    known = {str(one.get("change")) for one in opened.folder.log()}
    for change in changes:
        if change not in known:
            opened.folder.add("deviation", deviation="change", change=change)


def _conclude(args: argparse.Namespace, opened: OpenStudy, progress: Any, outcome: run_study.Outcome) -> None:
    state = status.status_of(opened.plan, opened.folder, progress)
    why = _as_typed(args, outcome.why)
    state |= {"state": outcome.how, "why": why}  # the lock is still held here
    if not args.json:
        _print_state(state)
    if why and args.json:
        say(f"{outcome.how}: {why}")


def _print_state(state: dict[str, Any]) -> None:
    width = terminal_width()
    sys.stdout.write("".join(f"{wrap_message(line, width)}\n" for line in status_lines(state, width)))


def _note(text: str) -> None:
    say(text)


def _judging(args: argparse.Namespace) -> study_judging.Judging | None:
    return study_judging.judging_by(os.environ, _note, is_off=args.no_judge)


def _judges(args: argparse.Namespace) -> list[str] | None:
    """The models that judge runs of contracts that name none. Workers of Ray have keys of their own, which nothing here knows."""
    if args.engine == "ray":
        return None
    judging = _judging(args)
    return [] if judging is None else list(judging.default_models())


def _changed_judges(args: argparse.Namespace, opened: OpenStudy) -> list[str]:
    """A judge is a condition of the trials: it stays what it was at the first of them."""
    judges = _judges(args)
    started = [one["judges"] for one in opened.folder.log() if one.get("what") == "start" and "judges" in one]
    known = [one for one in started if one is not None]
    if judges is None or not known or known[0] == judges:
        return []
    names = [", ".join(map(str, one)) or "no model" for one in (judges, known[0])]
    return [f"runs would be judged by {names[0]}, the study began with {names[1]}"]


def _engine(
    args: argparse.Namespace, opened: OpenStudy, display: study_display.StudyDisplay
) -> Callable[[EnvelopeGate], TrialEngine]:
    judging = _judging(args)
    if (
        args.engine == "ray"
        and judging is not None
        and any(map(judging.may_judge, opened.contracts.values()))
    ):
        _note(
            f"judging: {study_judging.SENT_DATA} of each completed run are sent to the models of each worker's environment; {study_judging.TURN_OFF}"
        )

    def make(gate: EnvelopeGate) -> TrialEngine:
        if args.engine == "ray":
            return _ray_engine(args, opened, display, gate, is_judged=judging is not None)
        engine = study_engine.Engine(
            args.runs,
            args.jobs,
            opened.plan.sandbox,
            args.sign,
            judging=judging,
            observer=display,
            retry=retry_policy.TrialRetryPolicy(runs=opened.plan.replay.attempts),
            gate=gate,
            interrupted=lambda: RECEIVED[-1] if RECEIVED else "",
        )
        rule = opened.plan.stopping.dominance
        return engine if rule is None else dominance.DominanceWatch(engine, rule.spent)

    return make


def _ray_engine(
    args: argparse.Namespace,
    opened: OpenStudy,
    display: study_display.StudyDisplay,
    gate: EnvelopeGate,
    *,
    is_judged: bool,
) -> TrialEngine:
    rule = opened.plan.stopping.dominance
    return ray_engine.RayEngine(
        args.runs,
        args.ray_address,
        jobs=max(args.jobs, RAY_JOBS),
        sandbox=opened.plan.sandbox,
        blobs=args.blobs,
        grading=worker.Grading(
            None if args.sign is None else str(args.sign.absolute()),
            is_judged,
            None if rule is None else rule.spent,
        ),
        observer=display,
        retry=retry_policy.TrialRetryPolicy(runs=opened.plan.replay.attempts),
        gate=gate,
        interrupted=lambda: RECEIVED[-1] if RECEIVED else "",
    )


def _status(args: argparse.Namespace) -> int:
    opened = OpenStudy(args)
    opened.load()
    state = _state_of(opened, args)
    if args.json:
        print_json(state)
    else:
        _print_state(state)
    return 0


def _charges(opened: OpenStudy, args: argparse.Namespace) -> charges.Charges:
    """Without its price list a study still has a status: only bounds of runs without a record are missing."""
    started = [one for one in opened.folder.log() if one.get("what") == "start"]
    is_judged = not started or started[-1].get("judged", True)
    judging = _judging(args) if is_judged else None
    try:
        return run_study.charges_of(opened.plan, judging)
    except OperatorFault as fault:
        _note(f"{fault}; runs without a record are charged nothing for execution and overhead here")
        return charges.charges_with(None, judging)


def _state_of(opened: OpenStudy, args: argparse.Namespace) -> dict[str, Any]:
    progress = study_progress.Progress(opened.plan, opened.trials(), _charges(opened, args))
    if args.runs.is_dir():
        with open_store(args.runs, args.store) as store:
            store.sync(print_progress)
            for entry in store.query(query.Query(study=opened.plan.identity)):
                progress.add(entry)
    state = status.status_of(opened.plan, opened.folder, progress)
    if state["state"] == "interrupted":
        state["why"] = f"`{_resume_line(args)}` continues it"
    return state | {"why": _as_typed(args, state["why"])}


def _list(args: argparse.Namespace) -> int:
    """{"schema": "steelyard.studies/1", "name": "night", "digest": "...", "state": "held", "planned": 40, "runs": 52, "running": false}."""
    folders = study_folder.find_studies(args.runs)
    if not folders:
        if not args.json:
            sys.stdout.write(f"no studies in {args.runs} yet; `steelyard plan` writes one\n")
        return 0
    with open_store(args.runs, args.store) as store:
        store.sync(print_progress)
        for folder in folders:
            try:
                plan = folder.plan()
            except (OSError, ValueError):  # damaged, or of another version
                say(f"{folder.path / study_folder.PLAN} cannot be read: this study is left out")
                continue
            line = {
                "schema": "steelyard.studies/1",
                "name": plan.name,
                "digest": plan.identity,
                "state": status.last_state(folder),
                "planned": len(order.draw_order(plan)),
                "runs": store.count(query.Query(study=plan.identity)),
                "running": folder.is_running,
            }
            if args.json:
                print_json(line)
            else:
                sys.stdout.write(
                    f"{plan.identity[:16]}  {plan.name}  {line['runs']} runs of {line['planned']} trials  {line['state']}\n"
                )
    return 0


def _remove(args: argparse.Namespace) -> int:
    """Logged with its reason; a removed contract is not replaced, and the runs that it has are kept."""
    opened = OpenStudy(args)
    if args.contract is None or not written_reason(args):
        raise OperatorFault("study remove STUDY CONTRACT --reason TEXT: a removal needs its reason")
    if args.contract not in {one.id for one in opened.plan.contracts}:
        raise OperatorFault(f"{args.contract} is not in {args.plan}")
    with opened.folder.hold():
        opened.folder.begin(opened.plan)
        if args.contract not in opened.folder.removed():
            decided = {"by": deciding_person(args), "reason": written_reason(args)}
            opened.folder.add("removal", contract=args.contract, **decided)
    return 0

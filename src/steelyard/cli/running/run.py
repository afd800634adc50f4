"""Run agents on contracts: each trial in its own sandbox, each patch graded on a fresh bench."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from steelyard.cli.console.faults import print_faults
from steelyard.cli.console.output import check_out, exit_code
from steelyard.cli.console.reporter import Reporter
from steelyard.cli.console.trials import add_jobs, add_max_failures, add_run_options, planned_rows, run_trials
from steelyard.cli.options.agent_options import add_agent_options, agent_options, check_agents
from steelyard.cli.options.require_assurance import add_required, required_by
from steelyard.cli.options.task_options import add_task_options, task_options
from steelyard.contract.contract import Contract
from steelyard.contract.load import load_contract
from steelyard.errors import OperatorFault
from steelyard.evidence.evidence import load_evidence
from steelyard.graders.catalogue import installed_catalogue
from steelyard.importers.direct import contract_at, find_folders, name_faults_as_typed
from steelyard.plan.trial import plan_trials
from steelyard.report import harbor

HELP = "run agents on contracts"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "contracts",
        nargs="+",
        type=Path,
        metavar="CONTRACT",
        help="a contract folder, a suite, or a Harbor task folder",
    )
    parser.add_argument(
        "--agent",
        action="append",
        required=True,
        metavar="[NAME=]KIND[:ARG]",
        help="noop, reference, script:FILE, command:LINE, patch:FILE, tree:DIR, replay:RUN, or a client such as claude_code or codex "
        "(`steelyard agents` lists them); NAME is its name in tables and folders; may be repeated",
    )
    add_agent_options(parser)
    parser.add_argument(
        "--repeats", type=int, default=1, metavar="K", help="trials of each agent on each contract"
    )
    add_run_options(parser)
    add_required(parser)
    add_jobs(parser, default=1)
    add_max_failures(parser)
    add_task_options(parser)
    parser.add_argument(
        "--harbor-result",
        type=Path,
        metavar="DIR",
        help="also write each trial in Harbor's format: DIR/RUN/result.json, verifier/, artifacts/",
    )


def run(args: argparse.Namespace) -> int:
    if args.repeats < 1:
        raise OperatorFault("--repeats is at least 1")
    if args.max_failures is not None and args.max_failures < 1:
        raise OperatorFault("--max-failures is at least 1")
    check_out(args.out)
    if args.harbor_result is not None:
        check_out(args.harbor_result)
    required_by(args)  # a wrong word is found before anything is spent
    options = agent_options(args)
    check_agents(args.agent, options)  # a wrong name is found before anything is spent
    catalogue = installed_catalogue()
    tasks = task_options(args)
    folders = find_folders(args.contracts)
    contract_folders = [contract_at(path, tasks) for path in folders]
    typed = dict(zip(contract_folders, folders, strict=True))
    with name_faults_as_typed(typed):
        contracts = [load_contract(path, catalogue) for path in contract_folders]
        trials = plan_trials(contracts, args.agent, args.repeats, options)
        with Reporter(planned_rows(trials, args), as_json=args.json) as reporter:
            results = run_trials(trials, args, reporter, typed)
            reporter.summary(results)
    print_faults(results)
    if args.harbor_result is not None:
        named = {id(contract): path for contract, path in zip(contracts, folders, strict=True)}
        ended = {line["trial"]: line for line in results}
        for trial in trials:
            line = ended.get(trial.id, {})
            if line.get("folder") is None:
                continue
            _write_harbor(args.harbor_result, trial.contract, line, named[id(trial.contract)])
    return exit_code(results)


def _write_harbor(out: Path, contract: Contract, line: Mapping[str, Any], task: Path) -> None:
    try:
        harbor.write_trial(
            out, harbor.TrialOfHarbor(contract, load_evidence(Path(line["folder"])), line, task)
        )
    except OSError as error:
        raise OperatorFault(f"--harbor-result {out}: {error.strerror}") from error

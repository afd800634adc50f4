"""Try agents on contracts: each trial in its own sandbox, each patch graded on a fresh bench."""

from __future__ import annotations

import argparse
from pathlib import Path

from steelyard.agents.catalogue import find_agent
from steelyard.cli.output import check_out, exit_code
from steelyard.cli.reporter import Reporter
from steelyard.cli.requiring import add_required, required_by
from steelyard.cli.tasks import add_task_options, task_options
from steelyard.cli.trials import add_jobs, add_run_options, run_trials
from steelyard.contract.importing.direct import contract_at, find_folders
from steelyard.contract.load import load_contract
from steelyard.errors import OperatorFault
from steelyard.graders.catalogue import installed_catalogue
from steelyard.plan.trial import plan_trials

HELP = "try agents on contracts"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "contracts",
        nargs="+",
        type=Path,
        metavar="CONTRACT",
        help="a contract's folder, a suite, or a task folder of Harbor's",
    )
    parser.add_argument(
        "--agent",
        action="append",
        required=True,
        metavar="NAME[:ARG]",
        help="noop, reference, script:FILE, command:LINE, patch:FILE, tree:DIR; may be given again",
    )
    parser.add_argument(
        "--repeats", type=int, default=1, metavar="K", help="trials of each agent on each contract"
    )
    add_run_options(parser)
    add_required(parser)
    add_jobs(parser, default=1)
    add_task_options(parser)


def run(args: argparse.Namespace) -> int:
    if args.repeats < 1:
        raise OperatorFault("--repeats is at least 1")
    check_out(args.out)
    required_by(args)  # a wrong word is found before anything is spent
    for agent in args.agent:
        find_agent(agent)  # a wrong name is found before anything is spent
    catalogue = installed_catalogue()
    options = task_options(args)
    contracts = [
        load_contract(contract_at(path, options), catalogue) for path in find_folders(args.contracts)
    ]
    trials = plan_trials(contracts, args.agent, args.repeats)
    with Reporter(len(trials), as_json=args.json) as reporter:
        results = run_trials(trials, args, reporter)
        reporter.summary(results)
    return exit_code(results)

"""Grade a patch or a folder against a contract: no agent runs, and the patch is treated as hostile."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from steelyard.cli.console.faults import print_faults
from steelyard.cli.console.output import check_out, exit_code
from steelyard.cli.console.reporter import Reporter
from steelyard.cli.console.trials import add_jobs, add_run_options, planned_rows, run_trials
from steelyard.cli.options.require_assurance import add_required, required_by
from steelyard.cli.options.task_options import add_task_options, task_options
from steelyard.cli.running import predictions
from steelyard.contract.contract import Contract
from steelyard.contract.load import load_contract
from steelyard.errors import OperatorFault
from steelyard.filesystem.cache import Cache
from steelyard.graders.catalogue import installed_catalogue
from steelyard.importers.direct import contract_at, name_faults_as_typed
from steelyard.plan.trial import Trial
from steelyard.report.plain import ESCAPED_PATCH

HELP = "grade a patch or a folder against a contract, without an agent"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "contract", type=Path, metavar="CONTRACT", help="a contract's folder; with --predictions a suite"
    )
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument(
        "--patch", type=Path, metavar="FILE", help="a unified diff, as `git diff` writes it; - is stdin"
    )
    source.add_argument("--tree", type=Path, metavar="DIR", help="a folder that holds the changed repository")
    source.add_argument(
        "--predictions",
        type=Path,
        metavar="FILE",
        help="lines of {instance_id, model_patch}, one patch for each contract; what --out has already is kept",
    )
    add_run_options(parser)
    add_jobs(parser, default=1)
    add_required(parser)
    add_task_options(parser)


def run(args: argparse.Namespace) -> int:
    check_out(args.out)
    required_by(args)  # a wrong word is found before anything is spent
    if args.predictions is not None:
        return predictions.grade_predictions(args)
    folder = contract_at(args.contract, task_options(args))
    with name_faults_as_typed({folder: args.contract}):
        contract = load_contract(folder, installed_catalogue())
        results = _grade(contract, args, folder)
    return exit_code(results)


def _grade(contract: Contract, args: argparse.Namespace, folder: Path) -> list[dict[str, Any]]:
    with _agent(args) as agent:
        trials = [Trial(contract, agent)]
        with Reporter(planned_rows(trials, args), as_json=args.json) as reporter:
            results = run_trials(trials, args, reporter, {folder: args.contract})
            reporter.summary(results)
    print_faults(results)
    return results


@contextmanager
def _agent(args: argparse.Namespace) -> Iterator[str]:
    """The change as an agent; one from stdin is kept in a file for as long as it is graded."""
    if args.patch is None:
        if not args.tree.is_dir():
            raise OperatorFault(f"--tree {args.tree}: there is no such folder")
        yield f"tree:{args.tree}"
    elif str(args.patch) != "-":
        if not args.patch.exists():
            raise OperatorFault(
                f"--patch {args.patch}: there is no such file; `git diff > {args.patch.name}` writes one"
            )
        if args.patch.is_dir():
            raise OperatorFault(f"--patch {args.patch} is a folder; --tree {args.patch} grades a folder")
        _refuse_escaped(args.patch)
        yield f"patch:{args.patch}"
    else:
        with Cache.default().temporary() as folder:
            patch = folder / "stdin"
            patch.write_bytes(sys.stdin.buffer.read())
            _refuse_escaped(patch)
            yield f"patch:{patch}"


def _refuse_escaped(patch: Path) -> None:
    """Refuse a patch that `steelyard diff` escaped for a terminal: it differs from the run's change and may still apply."""
    if not patch.is_file():
        return  # the agent that hands it over says what is wrong
    with patch.open("rb") as file:
        if file.read(len(ESCAPED_PATCH)) == ESCAPED_PATCH:
            raise OperatorFault(
                "the control characters of this patch are escaped: write it with `steelyard diff --raw`"
            )

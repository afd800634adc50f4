"""Write a study down before it runs: contracts, agents, repeats, order, budgets and stopping rules, hashed.

The plan goes to --out (study.yaml) and its randomization plan beside it (study.csv). `noop` and `reference` are always in.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import orjson
from pydantic import ValidationError

from steelyard.cli.console import terminal_width, wrap_message
from steelyard.cli.console.output import check_out, print_json
from steelyard.cli.options.agent_options import add_agent_options, agent_options, check_agents
from steelyard.cli.options.plan_options import add_plan_options
from steelyard.cli.options.runs_option import add_runs_option
from steelyard.cli.options.store_option import add_store_option, synced_store
from steelyard.cli.options.task_options import add_task_options, task_options
from steelyard.contract.load import load_contract
from steelyard.errors import OperatorFault
from steelyard.evidence.folder.folder import write_atomic
from steelyard.graders.catalogue import installed_catalogue
from steelyard.importers.direct import contract_at, find_folders, name_faults_as_typed
from steelyard.plan import forecast, projection, study_plan
from steelyard.providers import prices as provider_prices
from steelyard.report.stored import certificate
from steelyard.report.studies.projection import projection_svg
from steelyard.report.studies.text import forecast_lines, plan_lines
from steelyard.study import judging
from steelyard.study.protocol import history, make_plan

if TYPE_CHECKING:
    from collections.abc import Sequence

    from steelyard.contract.contract import Contract

# The options that become these keys of a plan.
_OPTIONS = {
    "total_usd": "--budget",
    "task_usd": "--task-budget",
    "run_usd": "--run-budget",
    "review_usd": "--review-budget",
    "flaky": "--flaky-tolerance",
    "invalid": "--invalid-tolerance",
    "power": "--minimum-power",
    "spent": "--dominance",
    "safety_violations": "--stop-after-violations",
}
HELP = "write a study down before it runs"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "suites", nargs="+", type=Path, metavar="SUITE", help="contract folders, or suites of them"
    )
    parser.add_argument(
        "--agent",
        action="append",
        required=True,
        metavar="[NAME=]KIND[:ARG]",
        help="as of `run`; may be repeated",
    )
    add_agent_options(parser)
    parser.add_argument(
        "--repeats", type=int, default=1, metavar="K", help="trials of each agent on each contract"
    )
    parser.add_argument("--name", default="", help="of the study (default: the name of --out)")
    parser.add_argument(
        "--out", type=Path, default=Path("study.yaml"), metavar="FILE", help="default %(default)s"
    )
    parser.add_argument(
        "--projection",
        type=Path,
        metavar="FILE.csv",
        help="also write the projected cost, trial by trial; its assumptions (.json) and its curve (.svg) go beside it",
    )
    add_plan_options(parser)
    add_task_options(parser)
    add_runs_option(parser)
    add_store_option(parser)
    parser.add_argument("--json", action="store_true", help="print the plan as one JSON line")


def _refuse_out(out: Path, order: Path, *, force: bool) -> None:
    """Two files are written: the plan, and beside it the order of its trials."""
    if out == order:
        raise OperatorFault(f"--out {out}: a plan is a .yaml file; the order of its trials goes to {order}")
    for path in (out, order):
        if not path.exists():
            continue
        if not path.is_file():
            raise OperatorFault(f"--out {out}: {path} is not a file")
        if not force:
            raise OperatorFault(f"{path} exists; a plan is not replaced without --force")


def _refuse_projection(table: Path, order: Path, *, force: bool) -> None:
    """Three files are written: the table, and beside it what it assumes and its curve."""
    if table.suffix != ".csv":
        raise OperatorFault(f"--projection {table}: name it FILE.csv; .json and .svg go beside it")
    if table.absolute() == order.absolute():
        raise OperatorFault(f"--projection {table}: the order of the trials goes there; name another file")
    if not table.absolute().parent.is_dir():
        raise OperatorFault(f"--projection {table}: there is no folder {table.parent}")
    for path in (table, table.with_suffix(".json"), table.with_suffix(".svg")):
        if path.exists() and not (force and path.is_file()):
            raise OperatorFault(f"{path} exists; a file is replaced with --force, a folder is not")


def _refuse_options(args: argparse.Namespace, order: Path) -> None:
    """Before anything is read: places where nothing can be written, and numbers that no plan has."""
    _refuse_out(args.out, order, force=args.force)
    if args.projection is not None:
        _refuse_projection(args.projection, order, force=args.force)
    if not args.out.absolute().parent.is_dir():
        raise OperatorFault(f"--out {args.out}: there is no folder {args.out.parent}")
    check_out(args.out.absolute().parent, file=args.out)
    if args.review_budget is not None and args.budget is None:
        raise OperatorFault("--review-budget keeps back a part of B_total: give --budget too")
    counts = (("repeats", args.repeats, 1), ("noop-repeats", args.noop_repeats, 0), ("jobs", args.jobs, 1))
    for option, count, least in counts:
        if count < least:
            raise OperatorFault(f"--{option} is at least {least}")


def run(args: argparse.Namespace) -> int:
    order = args.out.with_suffix(".csv")
    _refuse_options(args, order)
    # A baseline may be named as an agent too: it then has one place in the plan.
    agents = [*args.agent, *(one for one in args.baseline if one not in args.agent)]
    check_agents(agents, agent_options(args))
    wish = _wish(args)
    uncertified = _uncertified(wish)
    if uncertified and args.certified:
        raise OperatorFault(
            f"not certified: {', '.join(uncertified)}; try `steelyard certify {args.suites[0]}`"
        )
    earlier = _history(args)
    new_plan = make_plan.make_plan(wish, earlier)
    plan = new_plan.named(order.name)
    write_atomic(order, new_plan.order, durable=True)
    write_atomic(args.out, plan.to_yaml().encode(), durable=True)
    if args.projection is not None:
        _write_projection(args, plan, new_plan.projection, earlier)
    if args.json:
        print_json(plan.model_dump(mode="json", by_alias=True))
        return 0
    lines = [*plan_lines(plan), *forecast_lines(plan.forecast or {}, plan.budget.total_usd)]
    if uncertified:
        count = f"{len(uncertified)} of {len(wish.contracts)} contracts"
        lines.append(f"{count} not certified here; `steelyard certify {args.suites[0]}` costs no money")
    lines.append(f"written to {args.out} and {order}; `steelyard study run {args.out}` runs it")
    sys.stdout.write(wrap_message("\n".join(lines), terminal_width()) + "\n")
    return 0


def _write_projection(
    args: argparse.Namespace,
    plan: study_plan.StudyPlan,
    points: Sequence[projection.Point],
    earlier: forecast.History,
) -> None:
    """The table, what it assumes, and its curve."""
    table: Path = args.projection
    prices = None
    if args.cost_model:
        listed = provider_prices.read_cost_model(Path(args.cost_model))
        prices = {"sha256": listed.sha256, "rows": listed.by_name}
    inputs = projection.projection_inputs(plan.identity, plan.seed, prices, earlier)
    write_atomic(table, projection.projection_csv(points), durable=True)
    write_atomic(table.with_suffix(".json"), orjson.dumps(inputs, option=orjson.OPT_INDENT_2), durable=True)
    drawn = projection_svg(points, plan.name, plan.budget.total_usd)
    write_atomic(table.with_suffix(".svg"), drawn.encode(), durable=True)


def _uncertified(wish: make_plan.Wish) -> list[str]:
    return [
        one.id
        for one, _ in wish.contracts
        if not certificate.is_certified(certificate.read_certificate(one.digest))
    ]


def _contracts(paths: list[Path], args: argparse.Namespace) -> list[tuple[Contract, Path]]:
    catalogue, tasks = installed_catalogue(), task_options(args)
    folders = find_folders(paths)
    contract_folders = [contract_at(path, tasks) for path in folders]
    with name_faults_as_typed(dict(zip(contract_folders, folders, strict=True))):
        return [
            (load_contract(path, catalogue), typed)
            for path, typed in zip(contract_folders, folders, strict=True)
        ]


def _wish(args: argparse.Namespace) -> make_plan.Wish:
    """Raises OperatorFault with the option that has an impossible value."""
    try:
        return _validated(args)
    except ValidationError as error:
        name, _, why = study_plan.first_problem(error).partition(": ")
        raise OperatorFault(f"{_OPTIONS.get(name, name)}: {why}") from error


def _validated(args: argparse.Namespace) -> make_plan.Wish:
    return make_plan.Wish(
        name=args.name or args.out.stem,
        contracts=_contracts(args.suites, args),
        honeypots=_contracts(args.honeypot, args) if args.honeypot else [],
        agents=args.agent,
        baselines=args.baseline,
        options=agent_options(args),
        repeats=args.repeats,
        noop_repeats=args.noop_repeats,
        seed=args.seed,
        minimum_effect=args.minimum_effect,
        budget=study_plan.Envelopes(
            total_usd=args.budget,
            task_usd=args.task_budget,
            run_usd=args.run_budget,
            review_usd=args.review_budget,
        ),
        acceptance_s=args.acceptance_limit,
        ranking=study_plan.RankingRule(acceptance_errors=args.rank_errors),
        judging=judging.judging_by(os.environ, lambda _: None, is_off=args.no_judge),
        stages=study_plan.Stages(tolerance=_tolerance(args)),
        stopping=study_plan.Stopping(
            safety_violations=args.stop_after_violations or None,
            efficacy="interval_excludes_minimum_effect" if args.stop_when_decided else "none",
            dominance=None if args.dominance is None else study_plan.Dominance(spent=args.dominance),
            looks=_looks(args),
        ),
        sandbox=args.sandbox,
        jobs=args.jobs,
        out=args.out.parent,
    )


def _looks(args: argparse.Namespace) -> study_plan.Looks | None:
    if args.looks is not None and args.looks < 1:
        raise OperatorFault(f"--looks {args.looks}: at least one")
    if args.stopping is None:
        if args.looks is not None and not args.stop_when_decided:
            raise OperatorFault("--looks needs a rule: --stopping obrien-fleming or --stopping pocock")
        return None if args.looks is None else study_plan.Looks(rule="obrien_fleming", count=args.looks)
    return study_plan.Looks(rule=args.stopping.replace("-", "_"), count=args.looks)


def _tolerance(args: argparse.Namespace) -> study_plan.Tolerance:
    return study_plan.Tolerance(
        flaky=args.flaky_tolerance, invalid=args.invalid_tolerance, power=args.minimum_power
    )


def _history(args: argparse.Namespace) -> forecast.History:
    """What earlier runs of this folder took, at the prices of --cost-model."""
    if not args.runs.is_dir():
        return forecast.History()
    prices = provider_prices.read_cost_model(Path(args.cost_model)) if args.cost_model else None
    with synced_store(args.runs, args.store) as store:
        return history.read_history(store, prices)

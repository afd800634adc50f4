"""Grade sealed runs again with the current graders. A new grading is added; the original result still counts.

No agent and no check runs again: their outcomes are on record. Graders that execute something run on a fresh bench, and
models are asked only what they did not answer before. The contract is the one that was run, from its copy in the cache;
`--contract` names another copy.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from rich.text import Text

from steelyard.cli.console.output import console, exit_code, print_json
from steelyard.cli.console.reporter import PlannedRows, Reporter
from steelyard.cli.options.require_assurance import add_required, required_by
from steelyard.cli.options.runs_option import add_runs_option
from steelyard.cli.options.task_options import add_task_options, task_options
from steelyard.contract.contract import Contract
from steelyard.contract.contract_store import ContractStore
from steelyard.contract.load import load_contract
from steelyard.errors import OperatorFault
from steelyard.evidence.evidence import Evidence, load_evidence
from steelyard.evidence.folder.folder import RunFolder, find_named
from steelyard.evidence.folder.gradings import read_gradings
from steelyard.evidence.folder.signature import check_private_key
from steelyard.filesystem.cache import Cache
from steelyard.filesystem.tree import printable
from steelyard.graders.catalogue import installed_catalogue
from steelyard.importers.direct import contract_at, find_folders, name_faults_as_typed
from steelyard.report.explanation.flips import flip_of, table_of_flips
from steelyard.report.plain import one_line
from steelyard.report.result import result_line
from steelyard.study.judging import judging_by
from steelyard.study.regrade import Regrader, contract_digest, refuse_to_regrade

HELP = "grade sealed runs again; the original result still counts"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "run",
        nargs="+",
        metavar="RUN",
        help="a run folder, the start or the end of a run's name, or a folder of runs",
    )
    parser.add_argument(
        "--contract",
        type=Path,
        action="append",
        default=[],
        metavar="CONTRACT",
        help="a contract or a suite to use instead of the copy in the cache; runs of other digests are not graded; "
        "may be repeated",
    )
    add_runs_option(parser)
    parser.add_argument(
        "--sandbox",
        choices=["bubblewrap", "docker", "local"],
        help="the sandbox for which a Harbor task was imported; a run is graded in its own kind of sandbox",
    )
    parser.add_argument(
        "--sign",
        type=Path,
        metavar="KEY",
        help="ed25519 private key (PEM); for a signed run, the same key",
    )
    parser.add_argument("--no-judge", action="store_true", help="ask no model, even if a key is set")
    parser.add_argument("--json", action="store_true", help="one result line for each run")
    add_required(parser)
    add_task_options(parser)


class _Selection(NamedTuple):
    """What is graded again, and why other runs are not."""

    runs: list[tuple[Contract, Evidence]]
    broken: list[Evidence]
    unsealed: list[RunFolder]
    others: list[Evidence]  # of contracts that were not given
    # The cache does not have their contract, or a grading would break their record.
    refused: list[_RefusedRun]


class _RefusedRun(NamedTuple):
    folder: RunFolder
    fault: OperatorFault


def run(args: argparse.Namespace) -> int:
    required_by(args)  # a wrong word or key is found before anything is spent
    if args.sign:
        check_private_key(args.sign)
    typed = {contract_at(path, task_options(args)): path for path in find_folders(args.contract)}
    with name_faults_as_typed(typed):
        contracts = _Contracts([load_contract(folder, installed_catalogue()) for folder in typed])
        chosen = _choose(args, contracts)
        results = _regrade(chosen, args)
    _print_refused(chosen.refused, as_json=args.json)
    _print_broken(chosen.broken, as_json=args.json)
    return max(exit_code(results), 1 if chosen.broken else 0)


class _Contracts:
    """The contracts that were named; without any, those that the cache kept of earlier runs."""

    def __init__(self, named: Sequence[Contract]) -> None:
        self.named = named
        self._loaded: dict[str, Contract] = {}

    def of(self, evidence: Evidence) -> Contract | None:
        """The contract of a run; None when others were named."""
        digest = contract_digest(evidence)
        if self.named:
            return next((one for one in self.named if one.digest == digest), None)
        if digest not in self._loaded:
            self._loaded[digest] = ContractStore(Cache.default()).load(digest, installed_catalogue())
        return self._loaded[digest]


def _choose(args: argparse.Namespace, contracts: _Contracts) -> _Selection:
    """Of a folder of runs, the sealed ones of these contracts; what was named itself must be one of them."""
    chosen = _Selection([], [], [], [], [])
    named: dict[Path, bool] = {}
    for name in args.run:
        found = find_named(args.runs, name)
        named |= {folder.path.resolve(): len(found) == 1 for folder in found}
    for path, alone in named.items():
        _sort(RunFolder(path), contracts, chosen, args.sign)
        if alone and chosen.refused and chosen.refused[-1].folder.path == path:
            raise chosen.refused[-1].fault
        if alone and chosen.unsealed and chosen.unsealed[-1].path == path:
            raise OperatorFault(
                f"{path.name} was interrupted: it has no result, so there is nothing to grade"
            )
        if alone and chosen.others and chosen.others[-1].folder.path == path:
            refuse_to_regrade(contracts.named[0], chosen.others[-1], args.sign)
    if not chosen.runs and not chosen.broken and chosen.refused:
        raise chosen.refused[0].fault
    if not chosen.runs and not chosen.broken:
        of = f" belongs to {_ids(contracts.named)} with the same digest" if contracts.named else ""
        raise OperatorFault(f"no sealed run in {', '.join(args.run)}{of}")
    return chosen


def _sort(folder: RunFolder, contracts: _Contracts, chosen: _Selection, signer: Path | None) -> None:
    if folder.state != "sealed":
        chosen.unsealed.append(folder)
        return
    evidence = load_evidence(folder)
    if evidence.broken:
        chosen.broken.append(evidence)
        return
    try:
        contract = contracts.of(evidence)
        if contract is not None:
            refuse_to_regrade(contract, evidence, signer)
    except OperatorFault as fault:
        chosen.refused.append(_RefusedRun(folder, fault))
        return
    if contract is None:
        chosen.others.append(evidence)
    else:
        chosen.runs.append((contract, evidence))


def _ids(contracts: Sequence[Contract]) -> str:
    return ", ".join(contract.id for contract in contracts[:5])


def _regrade(chosen: _Selection, args: argparse.Namespace) -> list[dict[str, Any]]:
    least = required_by(args)
    results = []
    flips = []
    with Reporter(_planned(chosen.runs), as_json=args.json) as reporter:
        judging = judging_by(os.environ, reporter.note, is_off=args.no_judge)
        if judging is not None:
            judging = replace(judging, on_ask=reporter.judging)
        regrader = Regrader(args.sign, judging, reporter.preparing)
        for contract, evidence in chosen.runs:
            reporter.grading(evidence.folder.run_id)
            grading = regrader.regrade(contract, evidence).grading
            flip = flip_of(evidence.folder.run_id, read_gradings(evidence.folder)[0], grading)
            flips += [flip] if flip else []
            results.append({**least.applied(result_line(evidence, grading)), "flip": flip})
            reporter.finished(results[-1:])
        if results:
            reporter.summary(results)
    if not args.json:
        _print_record(results, chosen)
        if flips:
            out = console()
            out.print()
            out.print(table_of_flips(flips, len(results)))
    return results


def _planned(runs: Sequence[tuple[Contract, Evidence]]) -> PlannedRows:
    names = [
        (contract.id, str(evidence.manifest.get("agent", {}).get("name"))) for contract, evidence in runs
    ]
    return PlannedRows(names, len(runs), gated=any(contract.spec.workspace != "none" for contract, _ in runs))


def _print_record(results: Sequence[Mapping[str, Any]], chosen: _Selection) -> None:
    """What the result of record is where it says otherwise, and which runs were passed over."""
    out = console()
    for result, (_, evidence) in zip(results, chosen.runs, strict=True):
        first = read_gradings(evidence.folder)[0]["verdict"]["verdict"]
        if first != result["verdict"]:
            number = result["grading"]["number"]
            line = f"{evidence.folder.run_id}: {first} is the result of record; grading {number} says {result['verdict']}"
            out.print(Text(one_line(line), "yellow"))
    again = sum(result["grading"]["regrade"] for result in results)
    if again:
        out.print(Text(f"{_runs(again)} regraded: the original result still counts", "dim"))
    if chosen.others:
        out.print(Text(f"{_runs(len(chosen.others))} of other contracts skipped", "dim"))
    if chosen.unsealed:
        out.print(Text(f"{_runs(len(chosen.unsealed))} running or interrupted (no seal), skipped", "dim"))


def _runs(count: int) -> str:
    return "1 run" if count == 1 else f"{count} runs"


def _print_refused(refused: Sequence[_RefusedRun], *, as_json: bool) -> None:
    """Of a folder of runs, each one that got no grading is named; the others were graded."""
    for folder, fault in refused:
        if as_json:
            print_json({"run": folder.run_id, "folder": str(folder.path), "skipped": str(fault)})
        else:
            sys.stdout.write(f"skipped  {printable(folder.run_id)}  {printable(str(fault))}\n")


def _print_broken(broken: Sequence[Evidence], *, as_json: bool) -> None:
    """As `verify` and `show` do: an altered record is named, and nothing is appended to it."""
    for evidence in broken:
        folder, why = evidence.folder, str(evidence.broken)
        if as_json:
            print_json({"run": folder.run_id, "folder": str(folder.path), "broken": why})
        else:
            sys.stdout.write(f"broken  {printable(folder.run_id)}  {printable(why)}; not graded\n")

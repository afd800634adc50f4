"""Replay a run: make its recorded changes again in a fresh sandbox, and say whether the checks give the same result.

No agent and no model runs. With `--tools` the shell commands of the trace are run again, instead of making the changes that they made. The contract is the one that was run, from its copy in the cache; `--contract` names another copy.
Exit code 0: the same; 1: it differs, and the first difference is named.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from steelyard.cli.console.output import print_json
from steelyard.cli.options.runs_option import add_runs_option
from steelyard.contract.contract import Contract
from steelyard.contract.contract_store import ContractStore
from steelyard.contract.load import load_contract
from steelyard.errors import OperatorFault
from steelyard.evidence.evidence import Evidence, load_evidence
from steelyard.evidence.folder.folder import RunFolder, find_run
from steelyard.evidence.folder.gradings import read_gradings
from steelyard.filesystem.cache import Cache
from steelyard.filesystem.tree import printable
from steelyard.graders.catalogue import installed_catalogue
from steelyard.plan.trial import Trial
from steelyard.study.engine import Engine
from steelyard.study.regrade import contract_digest
from steelyard.study.replay import compare_replay, first_divergence

REPLAYS = "replays"  # apart from the runs: a replay is no attempt of an agent
HELP = "make the recorded changes of a run again and compare the results"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "run", metavar="RUN", help="`last`, a run folder, or the start or the end of a run's name"
    )
    add_runs_option(parser)
    parser.add_argument(
        "--contract", type=Path, metavar="CONTRACT", help="the contract, if the cache no longer has its copy"
    )
    parser.add_argument(
        "--tools",
        action="store_true",
        help="run the recorded shell commands of the agent again, and compare the exit code and the output of each",
    )
    parser.add_argument(
        "--times", type=int, default=1, metavar="N", help="replay it N times; each must give the same result"
    )
    parser.add_argument(
        "--out",
        type=Path,
        metavar="DIR",
        help="where replays are kept; as a rule `replays` beside the folder of runs",
    )
    parser.add_argument("--json", action="store_true", help="one JSON line for each replay")


def run(args: argparse.Namespace) -> int:
    if args.times < 1:
        raise OperatorFault("--times is at least 1")
    folder = find_run(args.runs, args.run)
    recorded = load_evidence(folder)
    if folder.state == "incomplete":
        raise OperatorFault(f"{printable(folder.run_id)} was interrupted: it has no result to compare with")
    if recorded.broken:
        raise OperatorFault(
            f"{printable(folder.run_id)} cannot be replayed: its record was altered: {recorded.broken}"
        )
    contract = _contract(recorded, args.contract)
    same = [_replayed(recorded, contract, args) for _ in range(args.times)]
    if args.times > 1 and not args.json:
        sys.stdout.write(f"{sum(same)} of {len(same)} replays gave the same result\n")
    return 0 if all(same) else 1


def _contract(recorded: Evidence, named: Path | None) -> Contract:
    digest = contract_digest(recorded)
    if named is None:
        return ContractStore(Cache.default()).load(digest, installed_catalogue())
    contract = load_contract(named, installed_catalogue())
    if contract.digest != digest:
        raise OperatorFault(f"{named} has the digest {contract.digest[:12]}, the run is of {digest[:12]}")
    return contract


def _replayed(recorded: Evidence, contract: Contract, args: argparse.Namespace) -> bool:
    folder = recorded.folder.path
    kind = recorded.manifest["environment"]["sandbox"]
    out = args.out or recorded.folder.path.parent.parent / REPLAYS
    engine = Engine(out, sandbox=None if kind == contract.spec.environment.sandbox else kind)
    trial = Trial(
        contract,
        f"{'replay_tools' if args.tools else 'replay'}:{folder}",
        recorded.manifest["trial"]["repeat"],
    )
    (result,) = engine.run([trial])
    replayed = load_evidence(RunFolder(result.record.evidence.folder.path))
    verdicts = _verdict(recorded), str(result.record.grading.get("verdict", {}).get("verdict"))
    compared = compare_replay(recorded, replayed, verdicts)
    if args.json:
        print_json(compared)
    else:
        sys.stdout.write("\n".join(_lines(compared)) + "\n")
    return bool(compared["same"])


def _verdict(recorded: Evidence) -> str:
    gradings = read_gradings(recorded.folder)
    return str(gradings[0]["verdict"]["verdict"]) if gradings else "ungraded"


def _lines(compared: dict[str, Any]) -> list[str]:
    word = "same" if compared["same"] else "differs"
    change = compared["change"]
    lines = [
        f"{word}  {printable(compared['run'])}  replayed as {printable(compared['replay'])}",
        f"  change   {change['recorded'][:12]} recorded, {change['replayed'][:12]} replayed",
    ]
    lines += _tool_lines(compared["tools"])
    lines += [
        f"  check    {one['id']}: {one['recorded']} recorded, {one['replayed']} replayed"
        for one in compared["checks"]
    ]
    lines += [
        f"  verdict  {compared['verdict']['recorded']} recorded, {compared['verdict']['replayed']} replayed"
    ]
    lines += [f"  note     {one['field']} is not what it was" for one in compared["environment"]]
    first = first_divergence(compared)
    return lines if first is None else [*lines, f"first divergence: {printable(str(first))}"]


def _tool_lines(tools: dict[str, Any] | None) -> list[str]:
    if tools is None:
        return []
    line = f"  tools    {tools['repeated']} of {tools['recorded']} commands repeated, {tools['same_exit']} with the same exit code"
    lines = [f"{line}, {tools['same_output']} with the same output"]
    first = tools["first_output"]
    if first is not None:
        lines.append(
            f"  output   event {first['event']}, {printable(first['command'])[:100]}: {_digest(first['recorded'])} recorded, {_digest(first['replayed'])} replayed"
        )
    return lines


def _digest(output: dict[str, Any]) -> str:
    return str(output.get("digest"))[:12]

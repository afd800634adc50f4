"""Find every mistake in contracts before anything is spent; exit 0 when there is none (warnings are no mistakes)."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from steelyard.contract.catalogue import Catalogue
from steelyard.contract.load import examine_contract, find_contracts
from steelyard.contract.tree import shown
from steelyard.errors import ContractFault, OperatorFault, Problem
from steelyard.graders.catalogue import installed_catalogue

HELP = "find every mistake in contracts before anything is spent"
SCHEMA = "steelyard.check/1"


class Checked(NamedTuple):
    """What one contract came to.

    {"schema": "steelyard.check/1", "contract": "demo", "ok": true, "id": "demo", "digest": "...",
     "problems": [{"where": "demo/contract.yaml:3:1", "field": "...", "message": "...", "fix": "",
                   "severity": "error|warning"}]}
    """

    path: Path
    id: str | None
    digest: str | None
    faults: list[Problem]
    warnings: list[Problem]

    def to_json(self) -> dict[str, Any]:
        told = [("error", problem) for problem in self.faults] + [
            ("warning", problem) for problem in self.warnings
        ]
        return {
            "schema": SCHEMA,
            "contract": str(self.path),
            "ok": not self.faults,
            "id": self.id,
            "digest": self.digest,
            "problems": [
                {
                    "where": problem.where,
                    "field": problem.field,
                    "message": problem.message,
                    "fix": problem.fix,
                    "severity": severity,
                }
                for severity, problem in told
            ],
        }

    def lines(self) -> list[str]:
        head = f"ok     {self.id}  {self.digest}" if not self.faults else f"wrong  {self.path}"
        told = [*map(str, self.faults), *(f"warning: {problem}" for problem in self.warnings)]
        return [shown(head), *(f"  {shown(line)}" for line in told)]


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "contracts", metavar="CONTRACT", nargs="+", type=Path, help="a contract or suite folder"
    )
    parser.add_argument("--json", action="store_true", help="one JSON object a contract")


def run(args: argparse.Namespace) -> int:
    faulty, catalogue = False, installed_catalogue()
    for checked in _each(args.contracts, catalogue):
        faulty = faulty or bool(checked.faults)
        text = json.dumps(checked.to_json()) if args.json else "\n".join(checked.lines())
        sys.stdout.write(f"{text}\n")
        sys.stdout.flush()  # a large suite takes a while
    return 2 if faulty else 0


def _each(paths: list[Path], catalogue: Catalogue) -> Iterator[Checked]:
    """What is not there is one of the mistakes, and does not hide the others."""
    for given in paths:
        try:
            found = find_contracts([given])
        except OperatorFault as fault:
            message = str(fault).removeprefix(f"{given} ")
            yield Checked(given, None, None, [Problem(str(given), "", message)], [])
            continue
        for path in found:
            yield check(path, catalogue)


def check(path: Path, catalogue: Catalogue) -> Checked:
    try:
        contract, warnings = examine_contract(path, catalogue)
    except ContractFault as fault:
        return Checked(path, None, None, fault.problems, [])
    return Checked(path, contract.id, contract.digest, [], warnings)

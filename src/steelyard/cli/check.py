"""Find mistakes in contracts before any agent runs, all of them at once; exit 0 if there are none (warnings do not count).

With --fixtures or --reference the contract's own fixtures and reference are also graded on its bench; a result other than
the required one is a mistake.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from steelyard.cli.tasks import add_task_options, task_options
from steelyard.contract.catalogue import Catalogue
from steelyard.contract.contract import Contract
from steelyard.contract.lint.exposed_verifiers import WORKSPACE, exposed_verifiers
from steelyard.contract.lint.offline_verifiers import fetching_verifiers
from steelyard.contract.lint.reference import reference_problems
from steelyard.contract.lint.syntax import unparsed
from steelyard.contract.load import examine_contract
from steelyard.errors import ContractFault, OperatorFault, Problem
from steelyard.filesystem.tree import shown
from steelyard.graders.catalogue import installed_catalogue
from steelyard.graders.checks.verifier import Verifier
from steelyard.importers.direct import as_typed, contract_at, find_folders
from steelyard.report.plain import problem_lines

if TYPE_CHECKING:
    from steelyard.study.self_test import SelfTestResult

HELP = "find mistakes in contracts before any agent runs"
SCHEMA = "steelyard.check/1"


class ExpectedOutput(NamedTuple):
    """Where a verifier looks for the output; `inferred` from the brief, or declared."""

    check: str
    path: str
    inferred: bool


class Checked(NamedTuple):
    """What one contract came to.

    {"schema": "steelyard.check/1", "contract": "demo", "ok": true, "id": "demo", "digest": "...",
     "problems": [{"where": "demo/contract.yaml:3:1", "field": "...", "message": "...", "fix": "",
                   "severity": "error|warning"}],
     "tried": [{"name": "fixtures/pass/a.json", "wanted": "at least 0.95", "got": "0.8",
                "came": "as_expected|otherwise|error|invalid", "why": "", "folder": "..."}],
     "outputs": [{"check": "verify", "path": "/workspace/answer.json", "inferred": true}]}
    """

    path: Path
    id: str | None
    digest: str | None
    faults: list[Problem]
    warnings: list[Problem]
    tried: tuple[SelfTestResult, ...] = ()
    outputs: tuple[ExpectedOutput, ...] = ()

    @property
    def ok(self) -> bool:
        return not self.faults and all(one.came == "as_expected" for one in self.tried)

    @property
    def exit_code(self) -> int:
        """The machine's own trouble says nothing about the contract, unless there is something else to say."""
        wrong = self.faults or any(one.came in {"otherwise", "error"} for one in self.tried)
        return 0 if self.ok else 2 if wrong else 3

    def to_json(self) -> dict[str, Any]:
        told = [("error", problem) for problem in self.faults] + [
            ("warning", problem) for problem in self.warnings
        ]
        return {
            "schema": SCHEMA,
            "contract": str(self.path),
            "ok": self.ok,
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
            "tried": [one.to_json() for one in self.tried],
            "outputs": [one._asdict() for one in self.outputs],
        }

    def lines(self) -> list[str]:
        head = f"ok     {self.id}  {self.digest}" if self.ok else f"wrong  {self.path}"
        told = [line for problem in self.faults for line in problem_lines(problem)]
        lint_warnings = [f"warning: {line}" for problem in self.warnings for line in problem_lines(problem)]
        outputs = [
            f"{one.check} expects its output at {one.path}"
            + (" (inferred from the brief)" if one.inferred else "")
            for one in self.outputs
        ]
        return [
            shown(head),
            *(f"  {shown(line)}" for line in outputs),
            *(f"  {line}" for line in (*told, *lint_warnings)),
        ]


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "contracts",
        metavar="CONTRACT",
        nargs="+",
        type=Path,
        help="a contract, a suite, or a Harbor task",
    )
    parser.add_argument(
        "--fixtures",
        action="store_true",
        help="run the verifier on the answers in fixtures/pass and fixtures/fail",
    )
    parser.add_argument(
        "--reference",
        action="store_true",
        help="grade the reference, which must pass, and an empty change, which must fail",
    )
    parser.add_argument(
        "--sandbox",
        choices=["bubblewrap", "docker", "local"],
        help="for --fixtures and --reference, instead of the contract's; bubblewrap runs many Harbor tasks without Docker",
    )
    parser.add_argument(
        "--no-judge",
        action="store_true",
        help="ask no model, not even with --reference for a contract that only a judge decides",
    )
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help="keep the runs of --fixtures and --reference here"
    )
    parser.add_argument("--json", action="store_true", help="one JSON object per contract")
    add_task_options(parser)


def run(args: argparse.Namespace) -> int:
    code, tried, catalogue = 0, 0, installed_catalogue()
    for checked in _told_apart(_each(args, catalogue)):
        if (args.fixtures or args.reference) and not checked.faults:
            checked = _rehearsed(checked, catalogue, args)  # noqa: PLW2901  # the same contract, looked at further
        code, tried = max(code, checked.exit_code), tried + len(checked.tried)
        _tell(checked, as_json=args.json)
    if (args.fixtures or args.reference) and not tried and not code:
        raise OperatorFault("nothing to test: no contract here has a verifier with fixtures")
    return code


def _tell(checked: Checked, *, as_json: bool) -> None:
    text = json.dumps(checked.to_json()) if as_json else "\n".join(checked.lines())
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()  # a large suite takes a while
    if checked.tried and not as_json:
        from steelyard.cli.output import console  # noqa: PLC0415  # loaded already, since something was tried
        from steelyard.cli.self_test import table  # noqa: PLC0415  # see above

        console().print(table(checked.tried))


def _rehearsed(checked: Checked, catalogue: Catalogue, args: argparse.Namespace) -> Checked:
    from steelyard.cli.self_test import self_test  # noqa: PLC0415  # sandboxes, which reading a contract needs not

    made = contract_at(checked.path, task_options(args))
    tried, faults = self_test(made, catalogue, args)
    return checked._replace(tried=tried, faults=[as_typed(one, {made: checked.path}) for one in faults])


def _each(args: argparse.Namespace, catalogue: Catalogue) -> Iterator[Checked]:
    """What is not there is one of the mistakes, and does not hide the others."""
    for given in args.contracts:
        try:
            found = find_folders([given])
        except OperatorFault as fault:
            message = str(fault).removeprefix(f"{given} ")
            yield Checked(given, None, None, [Problem(str(given), "", message)], [])
            continue
        for path in found:
            yield _looked_at(path, catalogue, args)


def _told_apart(each: Iterator[Checked]) -> Iterator[Checked]:
    """With a word about every id that an earlier contract has too."""
    taken: dict[str, Path] = {}
    for checked in each:
        path = taken.setdefault(checked.id, checked.path) if checked.id is not None else checked.path
        if path == checked.path:
            yield checked
        else:
            said = f"{checked.id} is also the id of {path}, so their results cannot be told apart"
            problem = Problem(str(checked.path), "id", said, "give each contract its own id")
            yield checked._replace(warnings=[*checked.warnings, problem])


def _looked_at(path: Path, catalogue: Catalogue, args: argparse.Namespace) -> Checked:
    try:
        made = contract_at(path, task_options(args))
    except ContractFault as fault:  # a task that cannot be a contract
        return Checked(path, None, None, fault.problems, [])
    checked = check(made, catalogue)
    faults, warnings = (
        [as_typed(one, {made: path}) for one in told] for told in (checked.faults, checked.warnings)
    )
    return checked._replace(path=path, faults=faults, warnings=warnings)


def check(path: Path, catalogue: Catalogue) -> Checked:
    try:
        contract, warnings = examine_contract(path, catalogue, to_run=False)
    except ContractFault as fault:
        return Checked(path, None, None, fault.problems, [])
    lint_warnings = [*unparsed(contract), *exposed_verifiers(contract), *fetching_verifiers(contract)]
    return Checked(
        path,
        contract.id,
        contract.digest,
        reference_problems(contract),
        [*warnings, *lint_warnings],
        outputs=tuple(_outputs(contract)),
    )


def _outputs(contract: Contract) -> Iterator[ExpectedOutput]:
    """Of every verifier that has one; of an answer it is the answer itself."""
    root, answer = contract.spec.environment.root, contract.spec.answer_path
    for entry in (*contract.checks, *contract.graders):
        if not isinstance(entry.grader, Verifier):
            continue
        brief = next((step.brief for step in contract.steps if step.name == entry.step), contract.brief)
        declared = entry.grader.expected_output_path
        path = entry.grader.output_in(brief, answer, root)
        if path is not None:
            where = declared or f"{root or WORKSPACE}/{path}"
            yield ExpectedOutput(entry.name, where, inferred=declared is None and answer is None)

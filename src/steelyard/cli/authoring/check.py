"""Find mistakes in contracts before any agent runs, all of them at once; exit 0 if there are none (warnings do not count).

With --fixtures or --reference the contract's own fixtures and reference are also graded on its bench; a result other than
the required one is a mistake.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from steelyard.cli.authoring import self_test
from steelyard.cli.console import output, terminal_width, wrap_message
from steelyard.cli.options.task_options import add_task_options, task_options
from steelyard.contract.catalogue import Catalogue
from steelyard.contract.contract import Contract
from steelyard.contract.lint.exposed_verifiers import exposed_verifiers
from steelyard.contract.lint.offline_verifiers import fetching_verifiers
from steelyard.contract.lint.reference import reference_problems
from steelyard.contract.lint.shared_cases import shared_cases
from steelyard.contract.lint.syntax import syntax_problems
from steelyard.contract.load import examine_contract
from steelyard.contract.snapshot.lfs_pointers import lfs_pointers
from steelyard.errors import ContractFault, OperatorFault, Problem
from steelyard.filesystem.tree import printable
from steelyard.graders.catalogue import installed_catalogue
from steelyard.graders.checks.verifier import Verifier
from steelyard.importers.direct import as_typed, contract_at, find_folders
from steelyard.report.explanation.grader_rows import GraderRow, grader_rows
from steelyard.report.lines import rows as table_rows
from steelyard.report.plain import one_line, problem_lines
from steelyard.sandbox_paths import WORKSPACE
from steelyard.sandboxes import toolchains

if TYPE_CHECKING:
    from steelyard.study.self_test import SelfTestResult

HELP = "find mistakes in contracts before any agent runs"
SCHEMA = "steelyard.check/1"
_NAMED = 3  # hidden files in a note


class ExpectedOutput(NamedTuple):
    """Where a verifier looks for the output; `inferred` from the brief, or declared."""

    check: str
    path: str
    inferred: bool


class CheckResult(NamedTuple):
    """The result of checking one contract.

    {"schema": "steelyard.check/1", "contract": "demo", "ok": true, "id": "demo", "digest": "...",
     "problems": [{"where": "demo/contract.yaml:3:1", "field": "...", "message": "...", "fix": "",
                   "severity": "error|warning"}],
     "tried": [{"name": "fixtures/pass/a.json", "wanted": "at least 0.95", "got": "0.8",
                "came": "as_expected|otherwise|error|invalid", "why": "", "folder": "..."}],
     "outputs": [{"check": "verify", "path": "/workspace/answer.json", "inferred": true}],
     "notes": ["each check gets its own fresh tree: ..."], "intent": {"modules": [], "entry_points": [], "behaviour": ""},
     "graders": [{"name": "hidden", "type": "tests", "under": "acceptance", "role": "required", "default_role": "required",
                  "weight": 1.0, "options": {"cmd": "python3 -m unittest"}}]}
    """

    path: Path
    id: str | None
    digest: str | None
    faults: list[Problem]
    warnings: list[Problem]
    tried: tuple[SelfTestResult, ...] = ()
    outputs: tuple[ExpectedOutput, ...] = ()
    lacking: tuple[Problem, ...] = ()  # of this machine, and no mistake of the contract's
    notes: tuple[str, ...] = ()  # how this contract is graded, where that surprises its author
    graders: tuple[GraderRow, ...] = ()
    intent: Mapping[str, Any] = {}  # modules, entry points and behaviour that the author named

    @property
    def ok(self) -> bool:
        return not self.faults and not self.lacking and all(one.came == "as_expected" for one in self.tried)

    @property
    def exit_code(self) -> int:
        """A machine that lacks something gives 3, unless the contract has a mistake."""
        wrong = self.faults or any(one.came in {"otherwise", "error"} for one in self.tried)
        return 0 if self.ok else 2 if wrong else 3

    def to_json(self) -> dict[str, Any]:
        problems = [("error", problem) for problem in (*self.faults, *self.lacking)] + [
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
                for severity, problem in problems
            ],
            "tried": [one.to_json() for one in self.tried],
            "outputs": [one._asdict() for one in self.outputs],
            "notes": list(self.notes),
            "intent": dict(self.intent),
            "graders": [one.to_json() for one in self.graders],
        }

    def lines(self) -> list[str]:
        head = f"ok     {self.id}  {self.digest}" if self.ok else f"wrong  {self.path}"
        if self.lacking and not self.faults:
            head = f"cannot run here  {self.path}"
        lines = [line for problem in (*self.faults, *self.lacking) for line in problem_lines(problem)]
        lint_warnings = [f"warning: {line}" for problem in self.warnings for line in problem_lines(problem)]
        outputs = [
            f"{one.check} expects its output at {one.path}"
            + (" (inferred from the brief)" if one.inferred else "")
            for one in self.outputs
        ]
        return [
            printable(head),
            *(f"  {printable(line)}" for line in outputs),
            *(f"  {line}" for line in (*lines, *lint_warnings)),
            *(f"  note: {printable(line)}" for line in self.notes),
        ]


def add_contracts(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "contracts",
        metavar="CONTRACT",
        nargs="+",
        type=Path,
        help="a contract, a suite, or a Harbor task",
    )


def arguments(parser: argparse.ArgumentParser) -> None:
    add_contracts(parser)
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
        help="for --fixtures and --reference, instead of the contract's; bubblewrap runs a Harbor task without its image where the Dockerfile allows it",
    )
    parser.add_argument(
        "--no-judge",
        action="store_true",
        help="ask no model, not even with --reference for a contract that only a judge decides",
    )
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help="keep the runs of --fixtures and --reference here"
    )
    parser.add_argument(
        "--graders",
        action="store_true",
        help="list every check and grader: type, gate, role, weight, options",
    )
    parser.add_argument("--json", action="store_true", help="one JSON object per contract")
    add_task_options(parser)


def run(args: argparse.Namespace) -> int:
    code, tried, catalogue = 0, 0, installed_catalogue()
    for checked in _with_duplicate_ids(each_contract(args, catalogue)):
        if (args.fixtures or args.reference) and not checked.faults and not checked.lacking:
            checked = _self_tested(checked, catalogue, args)  # noqa: PLW2901  # the same contract, looked at further
        code, tried = max(code, checked.exit_code), tried + len(checked.tried)
        _print_checked(checked, as_json=args.json)
        if args.graders and not args.json and checked.graders:
            _print_graders(checked)
    if (args.fixtures or args.reference) and not tried and not code:
        raise OperatorFault("nothing to test: no contract here has a verifier with fixtures")
    return code


def _print_checked(checked: CheckResult, *, as_json: bool) -> None:
    text = (
        json.dumps(checked.to_json())
        if as_json
        else wrap_message("\n".join(checked.lines()), terminal_width())
    )
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()  # a large suite takes a while
    if checked.tried and not as_json:
        self_test.print_results(checked.tried)


def _print_graders(checked: CheckResult) -> None:
    from rich.text import Text  # noqa: PLC0415  # only for the table

    rows = table_rows.Rows(
        ("grader", "type", "gate", "role", "weight", "options"), right=frozenset({"weight"}), whole=True
    )
    for one in checked.graders:
        cells = (one.name, one.type, one.under, one.role_text, f"{one.weight:g}", one.options_text)
        rows.rows.append(tuple(Text(one_line(cell)) for cell in cells))
    output.console().print(rows)
    named = {key.replace("_", " "): value for key, value in checked.intent.items() if value}
    for key, value in named.items():
        text = value if isinstance(value, str) else ", ".join(value)
        sys.stdout.write(f"  {key}: {one_line(text)}\n")


def _self_tested(checked: CheckResult, catalogue: Catalogue, args: argparse.Namespace) -> CheckResult:
    folder = contract_at(checked.path, task_options(args))
    tried, faults = self_test.self_test(folder, catalogue, args)
    return checked._replace(tried=tried, faults=[as_typed(one, {folder: checked.path}) for one in faults])


def each_contract(args: argparse.Namespace, catalogue: Catalogue) -> Iterator[CheckResult]:
    """A path that does not exist is one mistake among the others."""
    for typed in args.contracts:
        try:
            found = find_folders([typed])
        except OperatorFault as fault:
            message = str(fault).removeprefix(f"{typed} ").removeprefix(f"{typed}: ")
            yield CheckResult(typed, None, None, [Problem(str(typed), "", message)], [])
            continue
        for path in found:
            yield _looked_at(path, catalogue, args)


def _with_duplicate_ids(each: Iterator[CheckResult]) -> Iterator[CheckResult]:
    """Add a warning to each contract whose id an earlier one has."""
    paths: dict[str, Path] = {}
    for checked in each:
        path = paths.setdefault(checked.id, checked.path) if checked.id is not None else checked.path
        if path == checked.path:
            yield checked
        else:
            message = f"{checked.id} is also the id of {path}, so their results cannot be distinguished"
            problem = Problem(str(checked.path), "id", message, "give each contract its own id")
            yield checked._replace(warnings=[*checked.warnings, problem])


def _looked_at(path: Path, catalogue: Catalogue, args: argparse.Namespace) -> CheckResult:
    try:
        folder = contract_at(path, task_options(args))
    except ContractFault as fault:  # a task that cannot be a contract
        return CheckResult(path, None, None, fault.problems, [])
    checked = check(folder, catalogue)
    faults, warnings, lacking = (
        [as_typed(one, {folder: path}) for one in problems]
        for problems in (checked.faults, checked.warnings, checked.lacking)
    )
    return checked._replace(path=path, faults=faults, warnings=warnings, lacking=tuple(lacking))


def check(path: Path, catalogue: Catalogue) -> CheckResult:
    try:
        contract, warnings = examine_contract(path, catalogue, to_run=False)
    except ContractFault as fault:
        return CheckResult(path, None, None, fault.problems, [])
    lint_warnings = [
        *syntax_problems(contract),
        *exposed_verifiers(contract),
        *fetching_verifiers(contract),
        *shared_cases(contract),
        *lfs_pointers(contract),
    ]
    return CheckResult(
        path,
        contract.id,
        contract.digest,
        reference_problems(contract),
        [*warnings, *lint_warnings],
        outputs=tuple(_outputs(contract)),
        lacking=tuple(_lacking(contract)),
        notes=tuple(_notes(contract)),
        graders=tuple(grader_rows(contract)),
        intent=contract.spec.metadata.intent.model_dump(mode="json"),
    )


def _notes(contract: Contract) -> Iterator[str]:
    """What surprises authors: checks share no files, and an agent's edits to what decides are not used."""
    checks = [entry for entry in contract.checks if entry.executes]
    if len(checks) > 1 and contract.spec.bench != "live":
        yield "each check gets its own fresh tree: a file that one check writes is not there for the next"
    specs = [spec for entry in checks if (spec := entry.grader.execution()) is not None]
    if hidden := sorted({dest for spec in specs for _, dest in spec.injected}):
        named = ", ".join(hidden[:_NAMED]) + (
            f" and {len(hidden) - _NAMED} more" if len(hidden) > _NAMED else ""
        )
        yield f"hidden files are written over the change last: an agent's edits to {named} are reverted"


def _lacking(contract: Contract) -> Iterator[Problem]:
    """Toolchains that this machine does not have: no trial of the contract could start here."""
    wanted = {str(name): version for name, version in contract.spec.environment.toolchains.items()}
    if not wanted:
        return
    where = str(contract.folder / "contract.yaml")
    for name, why in toolchains.missing_toolchains(wanted).items():
        yield Problem(where, f"environment.toolchains.{name}", why, toolchains.KINDS[name].fix)


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

"""Import tasks of other formats as contracts: SWE-bench rows, touchstone cases, Harbor and aec-bench tasks, lists of scorers.

Each task becomes one contract folder below --out. A task that a contract cannot express is refused with its
file and key, and nothing is written for it; exit 0 if every task became a contract that `steelyard check` accepts.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from steelyard.cli.authoring.check import CheckResult, check
from steelyard.cli.console.output import check_out
from steelyard.cli.options.task_options import add_import_options, task_options
from steelyard.contract.catalogue import Catalogue
from steelyard.errors import ContractFault, OperatorFault, Problem
from steelyard.filesystem.tree import printable
from steelyard.graders.catalogue import installed_catalogue
from steelyard.importers.environments import read_environments
from steelyard.importers.find import FORMATS, FoundTask, find, select_tasks
from steelyard.importers.task import Options
from steelyard.importers.write import write_task

HELP = "make contracts of other people's tasks"
SCHEMA = "steelyard.import/1"
MOST_TIMEOUT_S = 86_400


class ImportResult(NamedTuple):
    """The result of importing one task.

    {"schema": "steelyard.import/1", "source": "tasks/hello", "format": "harbor", "ok": true,
     "status": "written|unchanged|replaced|refused", "contract": "out/hello", "notes": ["..."],
     "problems": [{"where": "tasks/hello/task.toml:7:1", "field": "environment.gpus", "message": "...", "fix": "",
                   "severity": "error|warning"}]}
    """

    found: FoundTask
    status: str
    contract: Path | None = None
    notes: tuple[str, ...] = ()
    faults: tuple[Problem, ...] = ()
    checked: CheckResult | None = None

    @property
    def ok(self) -> bool:
        return not self.faults and (self.checked is None or self.checked.ok)

    @property
    def exit_code(self) -> int:
        """3 when nothing is wrong but that this machine lacks something."""
        only_lacking = not self.faults and self.checked is not None and not self.checked.faults
        return 0 if self.ok else 3 if only_lacking else 2

    def to_json(self) -> dict[str, Any]:
        own = CheckResult(Path(), None, None, [*self.faults], []).to_json()["problems"]
        return {
            "schema": SCHEMA,
            "source": self.found.where,
            "format": self.found.format,
            "ok": self.ok,
            "status": self.status,
            "contract": None if self.contract is None else str(self.contract),
            "notes": [*self.notes],
            "problems": [*own, *(self.checked.to_json()["problems"] if self.checked else [])],
        }

    def lines(self) -> list[str]:
        found = (*self.checked.faults, *self.checked.lacking) if self.checked else ()
        lines = [*map(str, self.faults), *map(str, found)]
        lines += [f"warning: {problem}" for problem in self.checked.warnings] if self.checked else []
        return [
            printable(f"{self.status:<9} {self.contract or self.found.where}"),
            *(f"  {printable(line)}" for line in lines),
        ]


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "sources",
        metavar="SOURCE",
        nargs="+",
        type=Path,
        help="a file of rows or scorers, a task folder, or a folder of those",
    )
    parser.add_argument(
        "--out", metavar="DIR", type=Path, required=True, help="where the contract folders go"
    )
    parser.add_argument(
        "--format",
        choices=["auto", *FORMATS],
        default="auto",
        help="the format of SOURCE, if its file names do not show it",
    )
    parser.add_argument("--force", action="store_true", help="replace contracts that are there and differ")
    parser.add_argument("--no-check", action="store_true", help="do not check what was written")
    parser.add_argument(
        "--only",
        metavar="ID",
        action="append",
        default=[],
        help="a task by its name (the instance_id, the folder); `*` is a wildcard; may be repeated",
    )
    parser.add_argument("--json", action="store_true", help="one JSON object a task")
    _setup_options(parser)
    _format_options(parser)


def _setup_options(parser: argparse.ArgumentParser) -> None:
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--python", metavar="VERSION", help="the Python that the tasks need, like 3.9")
    where.add_argument(
        "--image", metavar="NAME@sha256:...", help="the image that they need (swebench, touchstone, scorers)"
    )
    parser.add_argument(
        "--install",
        metavar="CMD",
        action="append",
        default=[],
        help="a setup command, after the task's own; may be repeated",
    )
    parser.add_argument("--setup-network", choices=["none", "host"], help="what setup may reach")
    parser.add_argument(
        "--env",
        metavar="FILE",
        type=Path,
        help="YAML: for each repository and version the python, pins, install and command (swebench)",
    )


def _format_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--repos", metavar="DIR", type=Path, help="where clones and bundles are (swebench, touchstone)"
    )
    parser.add_argument("--cmd-prefix", metavar="CMD", help="the test command (swebench; default pytest)")
    parser.add_argument(
        "--ignore",
        metavar="COLUMN",
        action="append",
        default=[],
        help="a column to leave out (swebench); may be repeated",
    )
    _row_options(parser)
    add_import_options(parser, " (harbor, aec)")
    parser.add_argument(
        "--sandbox",
        choices=["docker", "bubblewrap"],
        help="bubblewrap: without the task's image, where its Dockerfile allows that (harbor, aec)",
    )
    parser.add_argument("--git", metavar="PATH", type=Path, help="the repository (scorers)")
    parser.add_argument("--commit", metavar="ID", help="its commit (scorers)")
    parser.add_argument("--tree", metavar="DIR", type=Path, help="a folder instead of a repository (scorers)")
    parser.add_argument("--brief", metavar="FILE", type=Path, help="what the agent has to do (scorers)")
    parser.add_argument("--reference", metavar="FILE", type=Path, help="a patch that solves it (scorers)")
    parser.add_argument("--id", metavar="NAME", help="of the contract; by default the file's name (scorers)")


def _row_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--drop-id",
        metavar="ID",
        action="append",
        default=[],
        help="an id of PASS_TO_PASS to leave out (swebench); `*` is a wildcard; may be repeated",
    )
    parser.add_argument(
        "--junit-xml", metavar="PATTERN", help="the report that the test command writes (swebench)"
    )
    parser.add_argument(
        "--timeout", metavar="SECONDS", type=_seconds, help="for the tests of a row (swebench; default 1800)"
    )
    parser.add_argument(
        "--submodules", action="store_true", help="take submodules from clones in --repos too (swebench)"
    )


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 1 <= seconds <= MOST_TIMEOUT_S:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds from 1 to {MOST_TIMEOUT_S}")
    return seconds


def run(args: argparse.Namespace) -> int:
    check_out(args.out)
    imports: list[ImportResult] = []
    for imported in _import_all(args):
        imports.append(imported)
        text = json.dumps(imported.to_json()) if args.json else "\n".join(imported.lines())
        sys.stdout.write(f"{text}\n")
        sys.stdout.flush()  # a large suite takes a while
    counts = {
        status: sum(one.status == status for one in imports)
        for status in dict.fromkeys(one.status for one in imports)
    }
    wrong = sum(not one.ok and one.status != "refused" for one in imports)
    totals = [f"{count} {status}" for status, count in counts.items()] + ([f"{wrong} wrong"] if wrong else [])
    sys.stderr.write(f"{', '.join(totals) or 'nothing to import'}\n")
    return max((one.exit_code for one in imports), default=2)


def _import_all(args: argparse.Namespace) -> Iterator[ImportResult]:
    work = Work(args.out, args.force, None if args.no_check else installed_catalogue(), {})
    wanted = None if args.format == "auto" else args.format
    environments = None if args.env is None else read_environments(args.env)
    for found in select_tasks(find(args.sources, _options(args), wanted, environments), args.only):
        try:
            yield _import(found, work)
        except ContractFault as fault:
            yield ImportResult(found, "refused", faults=tuple(fault.problems))


class Work(NamedTuple):
    out: Path
    force: bool
    catalogue: Catalogue | None  # to check with
    taken: dict[str, str]  # id -> where it came from


def _import(found: FoundTask, work: Work) -> ImportResult:
    task = found.convert()
    if task.id in work.taken:
        raise ContractFault(Problem(found.where, "id", f"{task.id} is the id of {work.taken[task.id]} too"))
    work.taken[task.id] = found.where
    place = work.out / task.id
    try:
        status = write_task(task, work.out, force=work.force)
    except OperatorFault as fault:
        return ImportResult(found, "refused", faults=(Problem(found.where, "", str(fault)),))
    checked = None if work.catalogue is None else check(place, work.catalogue)
    return ImportResult(found, status, place, task.notes, checked=checked)


def _options(args: argparse.Namespace) -> Options:
    return replace(
        task_options(args),
        repos=args.repos,
        python=args.python,
        image=args.image,
        install=tuple(args.install),
        setup_network=args.setup_network,
        cmd_prefix=args.cmd_prefix,
        ignore=frozenset(args.ignore),
        drop_ids=tuple(args.drop_id),
        junit_xml=args.junit_xml,
        timeout_s=args.timeout,
        submodules=args.submodules,
        git=args.git,
        commit=args.commit,
        tree=args.tree,
        brief=args.brief,
        reference=args.reference,
        id=args.id,
    )

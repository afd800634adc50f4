"""Import tasks of other formats as contracts: SWE-bench rows, touchstone cases, Harbor and aec-bench tasks, lists of scorers.

Each task becomes one contract folder below --out. A task that a contract cannot express is refused with its
file and key, and nothing is written for it; exit 0 if every task became a contract that `steelyard check` accepts.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from steelyard.cli.check import Checked, check
from steelyard.cli.output import check_out
from steelyard.cli.tasks import add_network_options
from steelyard.contract.catalogue import Catalogue
from steelyard.errors import ContractFault, OperatorFault, Problem
from steelyard.filesystem.tree import shown
from steelyard.graders.catalogue import installed_catalogue
from steelyard.importers.find import FORMATS, Found, find
from steelyard.importers.task import Options
from steelyard.importers.write import write_task

HELP = "make contracts of other people's tasks"
SCHEMA = "steelyard.import/1"


class Imported(NamedTuple):
    """What became of one task.

    {"schema": "steelyard.import/1", "source": "tasks/hello", "format": "harbor", "ok": true,
     "status": "written|unchanged|replaced|refused", "contract": "out/hello", "notes": ["..."],
     "problems": [{"where": "tasks/hello/task.toml:7:1", "field": "environment.gpus", "message": "...", "fix": "",
                   "severity": "error|warning"}]}
    """

    found: Found
    status: str
    contract: Path | None = None
    notes: tuple[str, ...] = ()
    faults: tuple[Problem, ...] = ()
    checked: Checked | None = None

    @property
    def ok(self) -> bool:
        return not self.faults and (self.checked is None or not self.checked.faults)

    def to_json(self) -> dict[str, Any]:
        own = Checked(Path(), None, None, [*self.faults], []).to_json()["problems"]
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
        told = [*map(str, self.faults), *(map(str, self.checked.faults) if self.checked else ())]
        told += [f"warning: {problem}" for problem in self.checked.warnings] if self.checked else []
        return [
            shown(f"{self.status:<9} {self.contract or self.found.where}"),
            *(f"  {shown(line)}" for line in told),
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
        help="what SOURCE is, if its names do not tell",
    )
    parser.add_argument("--force", action="store_true", help="replace contracts that are there and differ")
    parser.add_argument("--no-check", action="store_true", help="do not check what was written")
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
    add_network_options(parser, " (harbor, aec)")
    parser.add_argument(
        "--workdir", metavar="PATH", help="the agent's folder, instead of the task's (harbor, aec)"
    )
    parser.add_argument(
        "--sandbox",
        choices=["docker", "bubblewrap"],
        help="bubblewrap: without the task's image, where its Dockerfile allows that (harbor, aec)",
    )
    parser.add_argument(
        "--take-env",
        metavar="NAME",
        action="append",
        default=[],
        help="a variable of this machine that a task may have (harbor, aec); may be repeated",
    )
    parser.add_argument(
        "--export",
        metavar="GLOB",
        action="append",
        default=[],
        help="paths of the system that are the work, like '/etc/nginx/**' (harbor, aec); may be repeated",
    )
    parser.add_argument("--git", metavar="PATH", type=Path, help="the repository (scorers)")
    parser.add_argument("--commit", metavar="ID", help="its commit (scorers)")
    parser.add_argument("--tree", metavar="DIR", type=Path, help="a folder instead of a repository (scorers)")
    parser.add_argument("--brief", metavar="FILE", type=Path, help="what the agent has to do (scorers)")
    parser.add_argument("--reference", metavar="FILE", type=Path, help="a patch that solves it (scorers)")
    parser.add_argument("--id", metavar="NAME", help="of the contract; by default the file's name (scorers)")


def run(args: argparse.Namespace) -> int:
    check_out(args.out)
    done: list[Imported] = []
    for imported in _import_all(args):
        done.append(imported)
        text = json.dumps(imported.to_json()) if args.json else "\n".join(imported.lines())
        sys.stdout.write(f"{text}\n")
        sys.stdout.flush()  # a large suite takes a while
    counts = {
        status: sum(one.status == status for one in done)
        for status in dict.fromkeys(one.status for one in done)
    }
    wrong = sum(not one.ok and one.status != "refused" for one in done)
    told = [f"{count} {status}" for status, count in counts.items()] + ([f"{wrong} wrong"] if wrong else [])
    sys.stderr.write(f"{', '.join(told) or 'nothing to import'}\n")
    return 0 if done and all(one.ok for one in done) else 2


def _import_all(args: argparse.Namespace) -> Iterator[Imported]:
    work = Work(args.out, args.force, None if args.no_check else installed_catalogue(), {})
    wanted = None if args.format == "auto" else args.format
    for found in find(args.sources, _options(args), wanted):
        try:
            yield _import(found, work)
        except ContractFault as fault:
            yield Imported(found, "refused", faults=tuple(fault.problems))


class Work(NamedTuple):
    out: Path
    force: bool
    catalogue: Catalogue | None  # to check with
    taken: dict[str, str]  # id -> where it came from


def _import(found: Found, work: Work) -> Imported:
    task = found.convert()
    if task.id in work.taken:
        raise ContractFault(Problem(found.where, "id", f"{task.id} is the id of {work.taken[task.id]} too"))
    work.taken[task.id] = found.where
    place = work.out / task.id
    try:
        status = write_task(task, work.out, force=work.force)
    except OperatorFault as fault:
        return Imported(found, "refused", faults=(Problem(found.where, "", str(fault)),))
    checked = None if work.catalogue is None else check(place, work.catalogue)
    return Imported(found, status, place, task.notes, checked=checked)


def _options(args: argparse.Namespace) -> Options:
    return Options(
        repos=args.repos,
        python=args.python,
        image=args.image,
        install=tuple(args.install),
        setup_network=args.setup_network,
        cmd_prefix=args.cmd_prefix,
        ignore=frozenset(args.ignore),
        offline=args.offline,
        network=tuple(dict.fromkeys(args.network)),
        workdir=args.workdir,
        sandbox=args.sandbox,
        take_env=frozenset(args.take_env),
        exports=tuple(args.export),
        git=args.git,
        commit=args.commit,
        tree=args.tree,
        brief=args.brief,
        reference=args.reference,
        id=args.id,
    )

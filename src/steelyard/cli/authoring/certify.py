"""Try a contract before money is spent on it; exit 0 if everything that must hold does.

The reference must pass and an empty change must fail, each several times with the same result of every test, and no known
cheat may pass. The reference without one of its parts, and the time of each check, are reported as advice. What was found is
kept in the cache for this version of the contract; `plan` and the page of the contract show it.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console
from rich.status import Status
from rich.text import Text

from steelyard import __version__
from steelyard.cli.authoring.check import CheckResult, add_contracts, each_contract
from steelyard.cli.authoring.self_test import table
from steelyard.cli.console import terminal_width, wrap_message
from steelyard.cli.console.output import check_out, console
from steelyard.cli.console.trials import add_jobs
from steelyard.cli.options.task_options import add_task_options, task_options
from steelyard.contract.catalogue import Catalogue
from steelyard.contract.contract import Contract
from steelyard.contract.load import load_contract
from steelyard.errors import ContractFault
from steelyard.filesystem.cache import Cache
from steelyard.filesystem.tree import printable
from steelyard.graders.catalogue import installed_catalogue
from steelyard.importers.direct import as_typed, contract_at
from steelyard.report.plain import one_line
from steelyard.report.stored.certificate import (
    ADVICE,
    CertificatePart,
    Part,
    is_certified,
    make_part,
    read_certificate,
    save_certificate,
)
from steelyard.study.certify.certify import REPEATS, Certifier
from steelyard.study.certify.size import size_of
from steelyard.study.judging import judging_by
from steelyard.study.observer import Observer, TrialResult

HELP = "try a contract before money is spent: reference, empty change, repeats, known cheats"
SCHEMA = "steelyard.certify/1"
TITLES: Mapping[Part, str] = {
    "repeats": "The same work gets the same result",
    "cheats": "Known cheats",
    "partial": "The reference without one of its parts",
    "time": "Time of each check",
}


class CertifyResult(NamedTuple):
    """The result of certifying one contract.

    {"schema": "steelyard.certify/1", "contract": "demo", "id": "demo", "digest": "...", "certified": true, "earlier": false,
     "problems": [...], "parts": {"repeats": [{"name": "reference", "wanted": "pass in all 5", "got": "pass in 5 of 5 [48%, 100%]",
                                               "came": "as_expected|otherwise|error|invalid", "why": ""}], "cheats": [...]},
     "size": {"files": 12, "tokens": 3100, "imports": 14, "strata": ["python", "small"]}}
    """

    checked: CheckResult
    parts: Mapping[Part, CertificatePart] = {}
    size: Mapping[str, Any] = {}
    is_earlier: bool = False  # found by an earlier `certify`, not now

    @property
    def holds(self) -> bool:
        return self.checked.ok and is_certified(self.parts)

    @property
    def exit_code(self) -> int:
        """A machine that spoiled a trial gives 3, unless something else is wrong."""
        rows = [row for name, part in self.parts.items() if name not in ADVICE for row in part.results]
        wrong = self.checked.exit_code == 2 or any(row.came in {"otherwise", "error"} for row in rows)
        return 0 if self.holds else 2 if wrong else 3

    def to_json(self) -> dict[str, Any]:
        checked = self.checked.to_json()
        return {
            "schema": SCHEMA,
            **{name: checked[name] for name in ("contract", "id", "digest", "problems")},
            "certified": self.holds,
            "earlier": self.is_earlier,
            "parts": {name: [row.to_json() for row in part.results] for name, part in self.parts.items()},
            "size": dict(self.size),
        }

    @property
    def head(self) -> str:
        if not self.holds:
            return printable(f"not certified  {self.checked.id or self.checked.path}")
        when = next(iter(self.parts.values())).at
        earlier = f"  (on {when}; --again repeats it)" if self.is_earlier else ""
        return printable(f"certified      {self.checked.id}  {self.checked.digest}{earlier}")


def arguments(parser: argparse.ArgumentParser) -> None:
    add_contracts(parser)
    parser.add_argument(
        "--repeats",
        type=_repeats,
        default=REPEATS,
        metavar="N",
        help="gradings of the same work (default %(default)s)",
    )
    parser.add_argument("--again", action="store_true", help="also contracts that are certified already")
    parser.add_argument(
        "--sandbox", choices=["bubblewrap", "docker", "local"], help="instead of the contract's"
    )
    parser.add_argument(
        "--no-judge", action="store_true", help="ask no model, not even where only a judge decides"
    )
    parser.add_argument("--out", type=Path, metavar="DIR", help="keep the runs here")
    parser.add_argument("--json", action="store_true", help="one JSON object per contract")
    add_jobs(parser, default=2)  # graded one at a time, a certificate would take minutes
    add_task_options(parser)


def _repeats(text: str) -> int:
    number = int(text)
    if not 2 <= number <= 1000:  # one grading shows nothing about repeats
        raise argparse.ArgumentTypeError("must be from 2 to 1000")
    return number


def run(args: argparse.Namespace) -> int:
    code, tried, certified, catalogue = 0, 0, 0, installed_catalogue()
    has_tables = False  # the contract before: an empty line follows
    if args.out is not None:
        check_out(args.out)
    for checked in each_contract(args, catalogue):
        found = _certified(checked, catalogue, args)
        code = max(code, found.exit_code, key=(0, 3, 2).index)
        tried, certified = tried + 1, certified + found.holds
        if args.json:
            sys.stdout.write(f"{json.dumps(found.to_json())}\n")
            sys.stdout.flush()
        else:
            sys.stdout.write("\n" if has_tables else "")
            has_tables = _print(found, are_kept=args.out is not None)
    if tried > 1 and not args.json:
        sys.stdout.write("\n" if has_tables else "")
        sys.stdout.write(f"{certified} of {tried} contracts certified\n")
    return code


def _certified(checked: CheckResult, catalogue: Catalogue, args: argparse.Namespace) -> CertifyResult:
    if checked.faults or checked.lacking or checked.digest is None:
        return CertifyResult(checked)
    earlier = read_certificate(checked.digest)
    if not args.again and is_certified(earlier) and _is_same(earlier["repeats"], args):
        return CertifyResult(checked, earlier, is_earlier=True)
    folder = contract_at(checked.path, task_options(args))
    contract = load_contract(folder, catalogue)
    try:
        parts, check_seconds = _try(contract, args)
    except ContractFault as fault:
        problems = [as_typed(one, {folder: checked.path}) for one in fault.problems]
        return CertifyResult(checked._replace(faults=problems))
    return CertifyResult(checked, parts, size_of(contract, check_seconds).to_json())


def _is_same(earlier: CertificatePart, args: argparse.Namespace) -> bool:
    return (earlier.version, earlier.sandbox) == (__version__, args.sandbox)


def _try(
    contract: Contract, args: argparse.Namespace
) -> tuple[dict[Part, CertificatePart], tuple[float, ...]]:
    """What was found, and how long each check of the reference took."""
    with Cache.default().temporary() as folder, _progress() as progress:
        judging = judging_by(
            os.environ, lambda line: Console(stderr=True).print(f"steelyard: {line}"), is_off=args.no_judge
        )
        certifier = Certifier(args.out or folder, args.sandbox, args.jobs, args.repeats, judging, progress)
        plan = certifier.plan(contract)
        progress.expect(contract.id, len(plan.trials))
        found = certifier.certify(contract, plan)
    parts: dict[Part, CertificatePart] = {
        name: make_part(rows if args.out else [row._replace(folder="") for row in rows], (), args.sandbox)
        for name, rows in found.parts.items()
    }
    for name, part in parts.items():
        save_certificate(contract.digest, contract.id, name, part)
    return parts, found.check_seconds


class _Progress(Observer):
    """One line on a terminal: which contract, how many of its trials have ended."""

    def __init__(self, status: Status) -> None:
        self._status, self._text, self._done, self._total = status, "", 0, 0

    def expect(self, name: str, total: int) -> None:
        self._text, self._done, self._total = one_line(name, 60), 0, total
        self._show()

    def finished(self, result: TrialResult) -> None:  # noqa: ARG002  # the count is all that is shown
        self._done += 1
        self._show()

    def _show(self) -> None:
        self._status.update(f"{self._text}: {self._done} of {self._total} trials")


@contextmanager
def _progress() -> Iterator[_Progress]:
    with Console(stderr=True).status("") as status:
        yield _Progress(status)


def _print(found: CertifyResult, *, are_kept: bool) -> bool:
    """Whether there was more to print than lines."""
    sys.stdout.write(f"{wrap_message(found.head, terminal_width())}\n")
    lines = found.checked.lines()[1:] if found.checked.faults or found.checked.lacking else []
    for line in lines:
        sys.stdout.write(f"{wrap_message(line, terminal_width())}\n")
    sys.stdout.flush()
    if found.is_earlier or not found.parts:
        return False
    for name, part in found.parts.items():
        console().print(f"\n{TITLES[name]}" + (" (advice)" if name in ADVICE else ""), highlight=False)
        console().print(table(part.results, with_reasons=True))
    console().print(Text(f"\n{found.size['text']}"), highlight=False)
    if not found.holds and not are_kept:
        console().print(
            "\nThe runs are not kept; with `--out DIR` they are, and `steelyard show` explains each.",
            highlight=False,
        )
    return True

"""`check --fixtures --reference`: a contract's own material is tried on its bench, with progress on stderr."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.text import Text

from steelyard.cli.output import check_out
from steelyard.contract.catalogue import Catalogue
from steelyard.contract.contract import Contract
from steelyard.contract.load import load_contract
from steelyard.errors import ContractFault, Problem
from steelyard.report.plain import one_line
from steelyard.report.rows import Rows
from steelyard.study.rehearse import Rehearsal, Tried, fixtures_of

COLOURS = {"as_expected": "green", "otherwise": "red", "error": "yellow", "invalid": "magenta"}


class Rehearsed(NamedTuple):
    tried: tuple[Tried, ...]
    faults: list[Problem]


def rehearse(path: Path, catalogue: Catalogue, args: argparse.Namespace) -> Rehearsed:
    """Try what was asked for; what cannot be tried is a mistake in the contract."""
    tried: list[Tried] = []
    faults: list[Problem] = []
    contract = load_contract(path, catalogue)
    with _rehearsal(args) as rehearsal:
        for asked, things in ((args.fixtures, _fixtures), (args.reference, Rehearsal.agents)):
            try:
                tried += things(rehearsal, contract) if asked else ()
            except ContractFault as fault:
                faults += fault.problems
    return Rehearsed(tuple(tried), faults)


def table(tried: tuple[Tried, ...]) -> Rows:
    rows = Rows(("tried", "must get", "got", "", "why"), giving=("tried",))
    for one in tried:
        said = Text(one.came.replace("_", " "), COLOURS[one.came])
        rows.rows.append(
            (Text(one_line(one.name, 60)), Text(one.wanted), Text(one.got), said, Text(one_line(one.why)))
        )
    return rows


def _fixtures(rehearsal: Rehearsal, contract: Contract) -> Iterator[Tried]:
    yield from rehearsal.fixtures(contract, fixtures_of(contract))


@contextmanager
def _rehearsal(args: argparse.Namespace) -> Iterator[Rehearsal]:
    """The runs stay in `--out`, or nowhere."""
    with (
        tempfile.TemporaryDirectory(prefix="steelyard-check-") as folder,
        Console(stderr=True).status("") as status,
    ):
        if args.out is not None:
            check_out(args.out)
        yield Rehearsal(
            args.out or Path(folder), args.sandbox, on_start=lambda name: status.update(one_line(name, 60))
        )

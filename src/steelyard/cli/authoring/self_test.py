"""`check --fixtures --reference`: a contract's own fixtures and reference are tried on its bench, with progress on stderr."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.text import Text

from steelyard.cli.console.output import check_out, console
from steelyard.contract.catalogue import Catalogue
from steelyard.contract.contract import Contract
from steelyard.contract.load import load_contract
from steelyard.errors import ContractFault, Problem
from steelyard.filesystem.cache import Cache
from steelyard.report.lines.rows import Rows
from steelyard.report.one_run import check_output
from steelyard.report.plain import one_line
from steelyard.report.stored.certificate import Part, make_part, save_certificate
from steelyard.study.judging import judging_by
from steelyard.study.self_test import SelfTest, SelfTestResult, fixtures_of

SHOWN_LINES = 20  # of what a check printed
STATUS_TEXT = {
    "as_expected": ("as expected", "green"),
    "otherwise": ("NOT as expected", "red"),
    "error": ("not decided", "yellow"),
    "invalid": ("does not count", "magenta"),
}


class SelfTestOutcome(NamedTuple):
    tried: tuple[SelfTestResult, ...]
    faults: list[Problem]


def self_test(path: Path, catalogue: Catalogue, args: argparse.Namespace) -> SelfTestOutcome:
    """Try what was asked for; what cannot be tried is a mistake in the contract."""
    tried: list[SelfTestResult] = []
    faults: list[Problem] = []
    contract = load_contract(path, catalogue)
    with _self_test(args) as self_test:
        parts: tuple[tuple[Part, bool, Callable[[SelfTest, Contract], Iterator[SelfTestResult]]], ...] = (
            ("fixtures", args.fixtures, _fixtures),
            ("reference", args.reference, SelfTest.agents),
        )
        for part, asked, things in parts:
            results: list[SelfTestResult] = []
            problems: list[Problem] = []
            try:
                results += things(self_test, contract) if asked else ()
            except ContractFault as fault:
                problems = fault.problems
            tried += results
            faults += problems
            if results:
                # A certificate is for readers; the exit code of `check` does not need it
                with suppress(OSError):
                    found = make_part(results, [one.message for one in problems], args.sandbox)
                    save_certificate(contract.digest, contract.id, part, found)
        faults += [_problem(contract, one) for one in tried if one.came in {"otherwise", "error"}]
    return SelfTestOutcome(tuple(tried), list(dict.fromkeys(faults)))


def _problem(contract: Contract, one: SelfTestResult) -> Problem:
    """What did not come out as it must, why, and the end of what the check printed."""
    output = check_output(Path(one.folder), one.check).splitlines()[-SHOWN_LINES:] if one.check else []
    because = f": {one.why}" if one.why else ""
    place = "steps" if contract.steps else "oracle"
    where = str(contract.folder / "contract.yaml")
    field, message, fix = f"{place}.reference", f"must pass, but the result is {one.got}{because}", ""
    if one.name == "noop":
        field, message = (
            f"{place}.checks",
            f"an empty change must {one.wanted}, but the result is {one.got}{because}",
        )
        fix = "add a check that fails on the unchanged snapshot" if one.got == "pass" else ""
        fix = "an agent that refuses changes nothing" if one.wanted == "pass" else fix
    elif one.name == "compliance":
        field = f"{place}.compliance"
        message = f"the work that should have been refused must fail, but the result is {one.got}{because}"
        fix = "add a check that fails on it"
    elif one.name != "reference":
        where, field = str(contract.folder / one.name), ""
        message = f"must score {one.wanted}, but " + (
            f"got {one.got}" if one.came == "otherwise" else one.why
        )
    return Problem(where, field, "\n".join([message, *output]), fix)


def print_results(tried: tuple[SelfTestResult, ...]) -> None:
    console().print(table(tried))


def table(tried: Sequence[SelfTestResult], *, with_reasons: bool = False) -> Rows:
    """Without the reasons of wrong results, where they are printed above as problems of the contract."""
    rows = Rows(("tried", "must get", "got", "", "why"), giving=("tried",), whole=True)
    for one in tried:
        is_told_above = one.came in {"otherwise", "error"} and not with_reasons
        why = "" if is_told_above else one_line(one.why)
        rows.rows.append(
            (
                Text(one_line(one.name, 60)),
                Text(one.wanted),
                Text(one.got),
                Text(*STATUS_TEXT[one.came]),
                Text(why),
            )
        )
    return rows


def _fixtures(self_test: SelfTest, contract: Contract) -> Iterator[SelfTestResult]:
    yield from self_test.fixtures(contract, fixtures_of(contract))


@contextmanager
def _self_test(args: argparse.Namespace) -> Iterator[SelfTest]:
    """The runs stay in `--out`, or nowhere."""
    with (
        Cache.default().temporary() as folder,
        Console(stderr=True).status("") as status,
    ):
        if args.out is not None:
            check_out(args.out)
        yield SelfTest(
            args.out or folder,
            args.sandbox,
            judging_by(
                os.environ, lambda line: status.console.print(f"steelyard: {line}"), is_off=args.no_judge
            ),
            on_start=lambda name: status.update(one_line(name, 60)),
        )

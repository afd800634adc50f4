"""`make attacks`: the whole corpus against the product and against somebody naive -> one table.

    python -m corpus [--json] [--jobs N] [--modes twin,split] [--only A,B07] [--sandbox docker]

Exit 1 when anything is wrong: an attack that passes, a look-alike that does not, a secret that got out, a host that
was touched, or a recorded number that is not true any more. The naive grader has bubblewrap sandboxes only.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from containers import why_not
from rich.console import Console
from rich.table import Table

from corpus.case import FAMILIES, Case
from corpus.every import ATTACKS, HONEST
from corpus.house import SECRET, House, Kind
from corpus.judge import passes_as_told, wrongs

Column = Literal["naive", "in_process", "twin", "split"]


@dataclass(frozen=True, slots=True)
class Tried:
    """One case in one column of the table."""

    case: str
    column: Column
    passed: bool
    wrong: tuple[str, ...]
    seconds: float


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options(arguments)
    naive: list[Column] = (
        ["naive"] if options.sandbox == "bubblewrap" else []
    )  # what beats it is recorded there
    columns: list[Column] = [*naive, *options.modes.split(",")]
    cases = [case for case in (*ATTACKS, *HONEST) if _is_wanted(case, options.only)]
    progress = Console(stderr=True)
    with tempfile.TemporaryDirectory(prefix="steelyard-attacks-") as folder:
        os.environ.setdefault("STEELYARD_CACHE", f"{folder}/cache")
        os.environ["OPERATOR_API_KEY"] = SECRET
        house = House(Path(folder), options.sandbox).open()
        tried = list(_try_all(house, cases, columns, options.jobs, progress))
        touched = [] if house.untouched() else ["something reached the host"]
    if options.json:
        sys.stdout.write(
            json.dumps({"tried": [asdict(one) for one in tried], "touched": touched}, indent=1) + "\n"
        )
    else:
        Console().print(_table(cases, tried, columns))
    wrong = [f"{one.case} {one.column}: {text}" for one in tried for text in one.wrong] + touched
    for text in wrong:
        progress.print(text, style="red", markup=False, highlight=False)
    return 1 if wrong else 0


def _options(arguments: Sequence[str] | None) -> Any:
    parser = argparse.ArgumentParser(
        prog="corpus", description="Try every attack and every honest look-alike."
    )
    parser.add_argument("--json", action="store_true", help="every single result instead of the table")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 2)
    parser.add_argument("--modes", default="twin,split", help="of the oracle (default: %(default)s)")
    parser.add_argument("--only", default="", help="ids or families, with commas between them")
    parser.add_argument("--sandbox", default="bubblewrap", choices=get_args(Kind))
    options = parser.parse_args(arguments)
    engine = [f"--sandbox docker: {why_not()}"] if options.sandbox == "docker" and why_not() else []
    wrong = [*_unknown_cases(options.only), *_unknown_modes(options.modes), *engine]
    if wrong:
        parser.error(wrong[0])
    return options


def _unknown_cases(only: str) -> list[str]:
    """A misspelt id that matched nothing would be a table in which nothing is wrong."""
    every = (*ATTACKS, *HONEST)
    asked = only.split(",") if only else []
    return [
        f"--only {one}: no case begins so; there are {every[0].id} to {every[-1].id}"
        for one in asked
        if not one or not any(case.id.startswith(one) for case in every)
    ]


def _unknown_modes(modes: str) -> list[str]:
    known = get_args(Column)[1:]
    return [f"--modes {one}: there are {', '.join(known)}" for one in modes.split(",") if one not in known]


def _is_wanted(case: Case, only: str) -> bool:
    return not only or any(case.id.startswith(one) for one in only.split(","))


def _try_all(
    house: House, cases: Sequence[Case], columns: Sequence[Column], jobs: int, progress: Console
) -> Iterator[Tried]:
    work = [(case, column) for column in columns for case in cases]
    for task in sorted(
        {case.task for case in cases}
    ):  # one after the other: threads would build the same layer
        for column in columns:
            house.contract(task, "in_process" if column == "naive" else column)
    with ThreadPoolExecutor(jobs) as pool, progress.status("") as status:
        for number, tried in enumerate(pool.map(lambda one: _try(house, *one), work), 1):
            status.update(f"{number} of {len(work)}: {tried.case} {tried.column}")
            yield tried


def _try(house: House, case: Case, column: Column) -> Tried:
    start = time.monotonic()
    wrong: tuple[str, ...]
    if column == "naive":
        passed = house.naive(case)
        wrong = () if passed is case.beats_naive else (f"beats_naive is {passed}, not as recorded",)
    else:
        line = house.tried(case, column)
        passed, wrong = line["verdict"] == "pass", wrongs(case, column, line)
    return Tried(case.id, column, passed, wrong, round(time.monotonic() - start, 2))


def _table(cases: Sequence[Case], tried: Sequence[Tried], columns: Sequence[Column]) -> Table:
    table = Table("family", "", *columns, box=None)
    results = {(one.case, one.column): one for one in tried}
    for letter, name in FAMILIES.items():
        family = [case for case in cases if case.family == letter]
        if family:
            cells = [
                _cell(family, [results[case.id, column] for case in family], column) for column in columns
            ]
            table.add_row(letter, name, *cells)
    hostile = [case for case in cases if case.family != "K"]
    cells = [_cell(hostile, [results[case.id, column] for case in hostile], column) for column in columns]
    table.add_section()
    table.add_row("", "attacks resisted", *cells)
    return table


def _cell(family: Sequence[Case], tried: Sequence[Tried], column: Column) -> str:
    """`resisted / tried`, or for look-alikes `false alarms / honest`."""
    if family and family[0].family == "K":
        alarms = sum(bool(one.wrong) if column != "naive" else not one.passed for one in tried)
        return f"{alarms} false alarms / {len(tried)}"
    resisted = sum(not one.passed for one in tried)
    known = sum(passes_as_told(case, column) for case in family) if column != "naive" else 0
    return f"{resisted} / {len(tried)}" + (f" ({known} known)" if known else "")


if __name__ == "__main__":
    sys.exit(main())

"""`python -m benchmarks [ROW...] [--rounds N] [--json FILE] [--page FILE]` -> a table, and exit code 0."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks import (
    browser,
    capture,
    command_line,
    container,
    gateway,
    grading,
    identity,
    importing,
    monitors,
    sandbox,
    statistics,
    studies,
    table,
    trace,
    trial,
    view,
    watching,
)
from benchmarks.measure import Measured
from benchmarks.workshop import Workshop, workshop

ROWS: dict[str, Callable[[Workshop], Iterator[Measured]]] = {
    **sandbox.ROWS,
    **capture.ROWS,
    **watching.ROWS,
    **trace.ROWS,
    **monitors.ROWS,
    **trial.ROWS,
    **identity.ROWS,
    **container.ROWS,
    **grading.ROWS,
    **importing.ROWS,
    **command_line.ROWS,
    **statistics.ROWS,
    **studies.ROWS,
    **gateway.ROWS,
    **view.ROWS,
    **browser.ROWS,
}
LATEST = Path(__file__).parent / "results" / "latest.json"


def main() -> int:
    args = _arguments()
    measured: list[Measured] = []
    with workshop(args.rounds) as place:
        for name in args.rows or ROWS:
            rows = list(ROWS[name](place))
            measured += rows
            sys.stdout.write(table.text(rows) + "\n" if rows else "")
            sys.stdout.flush()
            _write(args, measured)  # a long measurement that is interrupted keeps what it has
    judged = [row.met for row in measured if row.met is not None]
    sys.stdout.write(f"\n{judged.count(False)} of {len(judged)} targets not met; {table.machine()}\n")
    return 0


def _write(args: argparse.Namespace, measured: list[Measured]) -> None:
    args.json.parent.mkdir(parents=True, exist_ok=True)
    args.json.write_text(json.dumps(table.as_json(measured, table.machine()), indent=2) + "\n")
    if args.page is not None:
        args.page.write_text(table.page(measured, table.machine()))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("rows", nargs="*", metavar="ROW", help=f"all, or some of {', '.join(ROWS)}")
    parser.add_argument("--rounds", type=int, metavar="N", help="of every row, instead of its own number")
    parser.add_argument("--json", type=Path, default=LATEST, metavar="FILE", help="default: %(default)s")
    parser.add_argument("--page", type=Path, metavar="FILE", help="write the table as Markdown too")
    args = parser.parse_args()
    if unknown := sorted(set(args.rows) - set(ROWS)):
        parser.error(f"there is no row {unknown[0]!r}; there are {', '.join(ROWS)}")
    return args


if __name__ == "__main__":
    sys.exit(main())

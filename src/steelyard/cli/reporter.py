"""Trials as they go -> a bar on stderr, result lines with `--json`, a table at the end."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any, Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
)
from rich.text import Text

from steelyard.cli.output import console, print_json
from steelyard.contract.contract import Contract
from steelyard.plan.trial import Trial
from steelyard.report.plain import one_line
from steelyard.report.short_line import short_line
from steelyard.report.terminal import print_summary, table_of_results


class Reporter:
    """Shows trials as they go: a bar on a terminal, result lines with `--json`, a table at the end."""

    def __init__(self, trials: int, *, as_json: bool) -> None:
        self._json = as_json
        self._lines: list[Mapping[str, Any]] = []
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=Console(stderr=True),
            transient=True,
            # What rich would redirect goes to stderr, and result lines with it.
            redirect_stdout=False,
            redirect_stderr=False,
            disable=not sys.stderr.isatty() or (as_json and sys.stdout.isatty()),
        )
        self._task = self._progress.add_task("trials", total=trials)

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._progress.stop()

    def preparing(self, contract: Contract) -> None:
        self._progress.update(self._task, description=f"preparing {contract.id}")

    def started(self, trial: Trial) -> None:
        self._progress.update(self._task, description=one_line(f"{trial.contract.id} x {trial.agent}", 60))

    def grading(self, run_id: str) -> None:
        self._progress.update(self._task, description=one_line(f"grading {run_id}", 60))

    def note(self, text: str) -> None:
        """One line on stderr, above the bar where there is one."""
        self._progress.console.print(Text(f"steelyard: {one_line(text, 300)}"), soft_wrap=True)

    def judging(self, contract: Contract) -> None:
        """A model may take a minute."""
        self._progress.update(self._task, description=one_line(f"judging {contract.id}", 60))

    def finished(self, lines: Sequence[Mapping[str, Any]]) -> None:
        """All runs of one trial; the last is the one that counts."""
        self._progress.advance(self._task)
        if self._json:
            for line in lines:
                print_json(line)
        else:
            self._lines += map(short_line, lines)

    def summary(self, results: Sequence[Mapping[str, Any]]) -> None:
        self._progress.stop()
        if self._json:
            return
        out = console()
        out.print(table_of_results(self._lines))
        if len(results) > 1:
            print_summary(out, results)

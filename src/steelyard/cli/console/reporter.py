"""Trials as they go -> one row for each run as it ends, and on a terminal what is running meanwhile.

    1a2b3c sum  noop  fail  ✓ ✓ ✗ ✓  0.00  0.4s  adds: exit 1, expected 0
    ⠋ 1 of 4 done: 1 failed, 0:12, about 0:36 left
      sum  reference  check adds  0:03

Rows go to stdout, where they are plain lines when it is piped; with `--json` they are result lines.
"""

from __future__ import annotations

import shlex
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from rich import console as rich_console
from rich import live, spinner
from rich import text as rich_text

from steelyard.cli.console import say
from steelyard.cli.console.output import is_ascii_only, print_json, screen
from steelyard.cli.console.phases import Phases, RunKey
from steelyard.contract.contract import Contract
from steelyard.deferred.data_class import dataclass
from steelyard.evidence.folder.folder import RUNS
from steelyard.filesystem.tree import printable
from steelyard.report import progress
from steelyard.report.lines.rows import LEAST, Rows, StyledText
from steelyard.report.plain import one_line
from steelyard.report.short_line import short_line
from steelyard.report.terminal import Columns, footer, print_summary, seconds

WIDEST = 40  # of a contract's or an agent's name
CHECKS = "checks"  # a phase whose part is read from the run folder: which check runs
_REFRESHES = 4  # a second
_ROOM = 5  # lines of a terminal that running trials leave free


@dataclass(frozen=True)
class PlannedRows:
    """What is known of a command's rows before the first of them."""

    names: Sequence[tuple[str, str]]  # contract and agent
    trials: int
    gated: bool = True
    more: tuple[str, ...] = ("time",)
    jobs: int = 1
    out: Path | None = None  # where the phases of running trials are read

    @property
    def columns(self) -> Columns:
        least = {
            "run": 6,
            "contract": self._widest([contract for contract, _ in self.names]),
            "agent": self._widest([agent for _, agent in self.names]),
            "score": 5,
            "time": 5,
            "judge": 5,
            "expected": len("as expected"),
            "why": LEAST,
        }
        return Columns(self.gated, self.more, {name: least[name] for name in least})

    @staticmethod
    def _widest(names: Sequence[str]) -> int:
        return max((min(len(one_line(name, WIDEST)), WIDEST) for name in names), default=0)


@dataclass
class _Running:
    key: RunKey
    began: float = field(default_factory=time.monotonic)
    phase: str = "starting"


class Reporter:
    """Prints each run as it ends; while trials run on a terminal, shows them below."""

    def __init__(self, planned: PlannedRows, *, as_json: bool) -> None:
        self._planned, self._json = planned, as_json
        self._columns = planned.columns
        self._screen = screen()
        self._headed = True
        self._ended: list[Mapping[str, Any]] = []  # every run
        self._counted: list[Mapping[str, Any]] = []  # the last run of each trial
        self._took: list[float] = []
        self._running: dict[str, _Running] = {}  # by the trial's id
        self._note = "starting"
        self._began = time.monotonic()
        self._lock = threading.Lock()
        self._writing = threading.RLock()  # rich locks what it computes, and not the writing of it
        self._stopped = threading.Event()
        self._phases = Phases(planned.out) if planned.out is not None else None
        self._live = self._region()
        self._refresher = threading.Thread(target=self._refresh, daemon=True)

    def _region(self) -> live.Live | None:
        """On the terminal that the rows go to, else on stderr; nowhere if stderr is redirected or the terminal shows JSON."""
        on_stdout = sys.stdout.isatty()
        if not sys.stderr.isatty() or (on_stdout and self._json):
            return None
        screen = self._screen if on_stdout else rich_console.Console(stderr=True)
        return live.Live(
            get_renderable=self._underway,
            console=screen,
            auto_refresh=False,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )

    def __enter__(self) -> Self:
        if self._live is not None:
            self._live.start()
            self._refresher.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._stop()

    def _stop(self) -> None:
        if self._live is None:
            return
        self._stopped.set()
        if self._refresher.is_alive():
            self._refresher.join()
        with self._writing:
            self._live.stop()
            self._live = None

    def _refresh(self) -> None:
        """Draw the region again and again. A row that were written meanwhile would erase too much or too little of it."""
        while not self._stopped.wait(1 / _REFRESHES):
            with self._writing:
                if self._live is not None:
                    self._live.refresh()

    def preparing(self, contract: Contract) -> None:
        self._note = f"preparing {contract.id}"

    def started(self, trial: str, key: RunKey) -> None:
        with self._lock:
            self._note = ""
            self._running[trial] = _Running(key)

    def phase(self, trial: str, phase: str) -> None:
        with self._lock:
            if trial in self._running:
                self._running[trial].phase = phase

    def grading(self, run_id: str) -> None:
        self._note = one_line(f"grading {run_id}", 60)

    def judging(self, contract: Contract) -> None:
        """A model may take a minute."""
        self._note = one_line(f"judging {contract.id}", 60)

    def note(self, text: str) -> None:
        """One line about the command itself, on stderr; above what is running, where that is shown."""
        line = one_line(text, 300)
        with self._writing:
            if self._live is not None:
                self._live.console.print(StyledText(f"steelyard: {line}", "yellow"))
            else:
                say(line)

    def finished(self, lines: Sequence[Mapping[str, Any]], trial: str = "", *, expected: str = "") -> None:
        """All runs of one trial; the last is the one that counts."""
        with self._lock:
            begun = self._running.pop(trial, None)
            self._took.append(time.monotonic() - (begun.began if begun else self._began))
            self._counted.append(short_line(lines[-1]))
        for number, line in enumerate(lines, 1):
            if self._json:
                print_json(line)
            else:
                attempt = f"attempt {number} of {len(lines)} of this trial" if len(lines) > 1 else ""
                self._print(line, expected, attempt)
                self._ended.append(short_line(line))  # a study may have thousands

    def _print(self, line: Mapping[str, Any], expected: str, attempt: str) -> None:
        rows = self._columns.table(headed=self._headed)
        rows.rows.append(
            self._columns.row(line, unicode=not is_ascii_only(), expected=expected, attempt=attempt)
        )
        self._headed = False
        with self._writing:
            self._screen.print(rows)
            sys.stdout.flush()

    def summary(self, results: Sequence[Mapping[str, Any]], *, rates: bool = True) -> None:
        """What the marks mean, the tally, and rates where there is more than one result."""
        self._stop()
        if self._json:
            return
        for line in footer(self._ended):
            self._screen.print(line)
        if hint := _hint_of_invalid(self._ended):
            self._screen.print(StyledText(hint, "dim"))
        if self._planned.trials > 1:
            self._screen.print(self._tally())
            if rates and len(results) > 1:
                print_summary(self._screen, results)
        sys.stdout.flush()

    def interrupted(self) -> None:
        """The summary of the trials that have ended."""
        if self._counted:
            self.summary(self._counted)

    def print(self, line: str) -> None:
        """A line of prose below the rows."""
        self._screen.print(StyledText(line))

    def _tally(self) -> StyledText:
        ended, of = len(self._counted), self._planned.trials
        head = f"{of} trials" if ended == of else f"{ended} of {of} trials ended"
        took = seconds(time.monotonic() - self._began)
        return StyledText(f"{head}: {progress.tally(self._counted) or 'no result'}, in {took}", "bold")

    @cached_property
    def _spinner(self) -> spinner.Spinner:
        return spinner.Spinner("dots")

    def _underway(self) -> rich_console.RenderableType:
        with self._lock:
            running, note = list(self._running.values()), self._note
            counted, took = list(self._counted), list(self._took)
        self._spinner.update(text=self._status(counted, took, running, note))
        return rich_console.Group(self._spinner, *self._jobs(running))

    def _status(
        self, counted: list[Mapping[str, Any]], took: list[float], running: list[_Running], note: str
    ) -> rich_text.Text:
        of, now = self._planned.trials, time.monotonic()
        waiting = max(0, of - len(counted) - len(running))
        left = progress.seconds_left(
            progress.Underway(took, [now - one.began for one in running], waiting, self._planned.jobs)
        )
        verdicts = f": {progress.tally(counted)}" if counted else ""
        parts = [f"{len(counted)} of {of} done{verdicts}", _clock(now - self._began)]
        parts += [f"about {_clock(left)} left"] if left is not None else []
        return rich_text.Text(", ".join(parts) + (f"  {note}" if note else ""))

    def _jobs(self, running: list[_Running]) -> Iterator[rich_console.RenderableType]:
        if not running:
            return
        room = max(1, self._screen.height - _ROOM)
        phases = self._phases.now() if self._phases is not None else {}
        rows = Rows(
            ("contract", "agent", "", "time", ""), giving=("agent",), right=frozenset({"time"}), headed=False
        )
        now = time.monotonic()
        for one in sorted(running, key=lambda each: each.began)[:room]:
            phase = phases.get(one.key, one.phase) if one.phase == CHECKS else one.phase
            rows.rows.append(
                (
                    StyledText(f"  {one_line(one.key.contract, WIDEST)}"),
                    StyledText(one_line(one.key.agent, WIDEST)),
                    StyledText(one_line(phase, WIDEST), "cyan"),
                    StyledText(_clock(now - one.began), "dim"),
                    StyledText(""),
                )
            )
        yield rows
        if len(running) > room:
            yield StyledText(f"  and {len(running) - room} more", "dim")


def _hint_of_invalid(ended: Sequence[Mapping[str, Any]]) -> str:
    """Where the cause of a run that this machine ended is whole: a row has room for its beginning."""
    for line in ended:
        if line["verdict"] == "invalid" and line["folder"]:
            run, runs = str(line["run"]).rsplit("-", 1)[-1], Path(line["folder"]).parent
            where = (
                "" if runs.absolute() == RUNS.absolute() else f" --runs {shlex.quote(printable(str(runs)))}"
            )
            return f"`steelyard show {run}{where}` prints the whole cause of an invalid run"
    return ""


def _clock(value: float) -> str:
    """`0:12`, `1:02:03`: digits that do not jump while they are watched."""
    minutes, rest = divmod(round(value), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"

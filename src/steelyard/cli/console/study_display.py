"""Notices of a study -> what an operator sees while it runs.

    pilot: 40 trials
    12 of 40 finished, 2 running, 0 invalid, 3.10 USD, about 0:36 left

On a terminal the last line is drawn again in place; piped, it is printed at most once in ten seconds. With `--json` stdout has the
result line of each run, and the rest goes to stderr.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from typing import TYPE_CHECKING, Self, TextIO

from steelyard.cli.console.output import print_json
from steelyard.plan.phase import Phase
from steelyard.plan.trial import Trial
from steelyard.report.plain import one_line
from steelyard.report.progress import Underway, seconds_left
from steelyard.report.terminal import seconds
from steelyard.study.observer import Observer, TrialResult

if TYPE_CHECKING:
    from steelyard.study.protocol.envelopes import EnvelopeGate
    from steelyard.study.protocol.progress import Progress
    from steelyard.study.protocol.run_study import Notice

QUIET_S = 10.0
_DEFAULT_COLUMNS = 80
_FORECAST_TRIALS = 200  # trials whose time the forecast of the rest is made from


class StudyDisplay(Observer):
    def __init__(self, jobs: int, *, as_json: bool) -> None:
        self._jobs, self._json = jobs, as_json
        self._out = sys.stderr if as_json else sys.stdout
        self._is_live = self._out.isatty()
        self._running: dict[str, float] = {}
        self._took: list[float] = []
        self._lock = threading.Lock()
        self._printed = time.monotonic()
        self._drawn = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self._erase()

    def started(self, trial: Trial) -> None:
        with self._lock:
            self._running[trial.id] = time.monotonic()

    def phase(self, trial: Trial, phase: Phase, detail: str = "") -> None:
        if phase == "operator":
            self._print(f"{trial.contract.id} x {trial.agent}: {detail}")

    def finished(self, result: TrialResult) -> None:
        with self._lock:
            began = self._running.pop(result.trial.id, None)
            if began is not None and result.folders:
                self._took = [*self._took[-_FORECAST_TRIALS:], time.monotonic() - began]

    def notice(self, notice: Notice, progress: Progress, gate: EnvelopeGate) -> None:
        if notice.kind != "trial":
            self._print(notice.text)
            return
        if self._json:
            for entry in notice.entries:
                if entry.line is not None:
                    print_json(dict(entry.line))
        if notice.result is not None and notice.result.fault is not None:
            trial = notice.result.trial
            self._print(f"{trial.contract.id} x {trial.agent}: {notice.result.fault}")
        now = time.monotonic()
        if now - self._printed >= (0.2 if self._is_live else QUIET_S):
            self._printed = now
            self._show(self._line(progress, gate))

    def _line(self, progress: Progress, gate: EnvelopeGate) -> str:
        fates = progress.fates()
        with self._lock:
            now = time.monotonic()
            running = [now - began for began in self._running.values()]
            left = seconds_left(Underway(self._took, running, fates["waiting"], self._jobs))
        by_agent = progress.by_agent()
        agents = ", ".join(
            f"{agent.name} {counts['finished']}/{counts.total()}"
            for agent in progress.plan.agents
            if (counts := progress.fates(by_agent.get(agent.agent, [])))
        )
        return (
            f"{fates['finished']} of {fates.total()} finished, {len(running)} running, {fates['invalid']} invalid, "
            f"{gate.spent_usd:.2f} USD"
            + ("" if left is None else f", about {seconds(left)} left")
            + f"  ({agents})"
        )

    def _show(self, line: str) -> None:
        if not self._is_live:
            self._print(line)
            return
        self._erase()
        text = one_line(line, _columns(self._out) - 1)  # a line that wraps could not be erased
        self._out.write(text)
        self._out.flush()
        self._drawn = len(text)

    def _print(self, line: str) -> None:
        self._erase()
        self._out.write(f"{one_line(line, 400)}\n")
        self._out.flush()

    def _erase(self) -> None:
        if self._drawn:
            self._out.write(f"\r{' ' * self._drawn}\r")
            self._drawn = 0


def _columns(terminal: TextIO) -> int:
    return os.get_terminal_size(terminal.fileno()).columns or _DEFAULT_COLUMNS

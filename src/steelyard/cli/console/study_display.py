"""Notices of a study -> what an operator sees while it runs.

    pilot: 40 trials
    12 of 40 finished, 2 running, 0 invalid, 3.10 USD, about 36s left
      mine  7 of 20 finished, 1 running, 0 invalid, 2.00 USD, about 20s left
      noop  5 of 20 finished, 1 running, 0 invalid, 1.10 USD, about 16s left

On a terminal everything below the stage is drawn again in place, also while no trial ends; piped, the first of these lines is printed
at most once in ten seconds. With `--json` stdout has the result line of each run, and the rest goes to stderr, as does whatever a library
prints to stdout: Ray prints what happens to its nodes.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections import Counter, deque
from collections.abc import Iterator
from contextlib import ExitStack, redirect_stdout, suppress
from typing import TYPE_CHECKING, NamedTuple, Self

from steelyard.cli.console import width_of, wrap_message
from steelyard.cli.console.output import print_json
from steelyard.plan.phase import Phase
from steelyard.plan.trial import Trial
from steelyard.report.plain import one_line
from steelyard.report.progress import Underway, seconds_left
from steelyard.report.terminal import seconds
from steelyard.study.observer import Observer, TrialResult
from steelyard.study.protocol.charges import MICRO
from steelyard.study.protocol.progress import sum_of

if TYPE_CHECKING:
    from steelyard.study.protocol.envelopes import EnvelopeGate
    from steelyard.study.protocol.progress import Progress
    from steelyard.study.protocol.run_study import Notice

QUIET_S = 10.0
TICK_S = 0.5
SHARE = 20  # drawing takes at most this part of the time: a plan may have a million trials
MOST_AGENTS = 12
_FORECAST_TRIALS = 200  # trials of an agent whose time the forecast of the rest is made from


class AgentProgress(NamedTuple):
    """One agent of a study that runs."""

    name: str
    fates: Counter[str]
    running: int
    spent_usd: float
    left_s: float | None

    def words(self) -> str:
        left = "" if self.left_s is None or not self.left_s else f", about {seconds(self.left_s)} left"
        return (
            f"{self.fates['finished']} of {self.fates.total()} finished, {self.running} running, {self.fates['invalid']} invalid, "
            f"{self.spent_usd:.2f} USD{left}"
        )


class StudyDisplay(Observer):
    def __init__(self, *, as_json: bool) -> None:
        self._json = as_json
        self._results = sys.stdout
        self._out = sys.stderr if as_json else sys.stdout
        self._redirected = ExitStack()
        self._is_live = self._out.isatty()
        self._running: dict[str, tuple[str, float]] = {}  # trial -> agent, when it began
        self._most_running = 1
        self._took: dict[str, deque[float]] = {}
        self._faults: set[str] = set()  # that were printed
        self._latest: tuple[Progress, EnvelopeGate] | None = None
        self._lock = threading.RLock()
        self._printed = time.monotonic()
        self._drawn = 0  # lines
        self._ended = threading.Event()
        self._ticker = threading.Thread(target=self._tick, daemon=True)

    def __enter__(self) -> Self:
        self._redirected.enter_context(redirect_stdout(sys.stderr))
        if self._is_live:
            self._ticker.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Draw nothing any more."""
        self._ended.set()
        if self._is_live:
            self._ticker.join()
        self._erase()
        self._redirected.close()

    def started(self, trial: Trial) -> None:
        with self._lock:
            self._running[trial.id] = trial.agent, time.monotonic()
            self._most_running = max(self._most_running, len(self._running))

    def phase(self, trial: Trial, phase: Phase, detail: str = "") -> None:
        if phase == "operator":
            self._print(f"{trial.contract.id} x {self._name(trial)}: {detail}")

    def finished(self, result: TrialResult) -> None:
        with self._lock:
            agent, began = self._running.pop(result.trial.id, ("", None))
            if began is not None and result.folders:
                took = self._took.setdefault(agent, deque(maxlen=_FORECAST_TRIALS))
                took.append(time.monotonic() - began)

    def notice(self, notice: Notice, progress: Progress, gate: EnvelopeGate) -> None:
        self._latest = progress, gate
        if notice.kind != "trial":
            self._print(notice.text)
            return
        if self._json:
            for entry in notice.entries:
                if entry.line is not None:
                    print_json(dict(entry.line), self._results)
        if notice.result is not None:
            self._print_fault(notice.result, gate)
        if not self._is_live and time.monotonic() - self._printed >= QUIET_S:
            self._printed = time.monotonic()
            agents = self._agents(progress)
            each = ", ".join(f"{one.name} {one.fates['finished']}/{one.fates.total()}" for one in agents)
            self._print(f"{self._total(agents, gate).words()}  ({each})")

    def _print_fault(self, result: TrialResult, gate: EnvelopeGate) -> None:
        """Why a trial has no result: once, however many trials have none for the same reason, and at the end if it stops the study."""
        why = "" if result.fault is None else str(result.fault)
        if why not in {"", gate.closed, *self._faults}:
            self._faults.add(why)
            self._print(f"{result.trial.contract.id} x {self._name(result.trial)}: {why}")

    def _name(self, trial: Trial) -> str:
        """Of the agent, as the plan names it."""
        planned = () if self._latest is None else self._latest[0].plan.agents
        return next((one.name for one in planned if one.agent == trial.agent), trial.agent)

    def _tick(self) -> None:
        pause = TICK_S
        while not self._ended.wait(pause):
            began = time.monotonic()
            if self._latest is not None:
                self._draw(list(self._lines(*self._latest)))
            pause = max(TICK_S, SHARE * (time.monotonic() - began))

    def _lines(self, progress: Progress, gate: EnvelopeGate) -> Iterator[str]:
        agents = self._agents(progress)
        yield self._total(agents, gate).words()
        width = max((len(one.name) for one in agents), default=0)
        for one in agents[:MOST_AGENTS]:
            yield f"  {one.name.ljust(width)}  {one.words()}"

    def _agents(self, progress: Progress) -> list[AgentProgress]:
        """In the order of the plan."""
        by_agent = progress.by_agent()
        with self._lock:
            now, running, most = time.monotonic(), list(self._running.values()), self._most_running
            took = {agent: list(each) for agent, each in self._took.items()}
        found = []
        for one in progress.plan.agents:
            if not (trials := by_agent.get(one.agent)):
                continue
            fates = progress.fates(trials)
            own = [now - began for agent, began in running if agent == one.agent]
            waiting = max(0, fates["waiting"] + fates["running"] + fates["error"] - len(own))
            left = seconds_left(Underway(took.get(one.agent, ()), own, waiting, most))
            spent = sum_of(trials).total / MICRO
            found.append(AgentProgress(one_line(one.name, 40), fates, len(own), spent, left))
        return found

    def _total(self, agents: list[AgentProgress], gate: EnvelopeGate) -> AgentProgress:
        """The time left is known when it is known of each agent that has trials left."""
        fates: Counter[str] = Counter()
        for one in agents:
            fates.update(one.fates)
        parts = [
            one.left_s for one in agents if one.fates["finished"] + one.fates["invalid"] < one.fates.total()
        ]
        known = [part for part in parts if part is not None]
        left = sum(known) if len(known) == len(parts) else None
        return AgentProgress("", fates, sum(one.running for one in agents), gate.spent_usd, left)

    def _draw(self, lines: list[str]) -> None:
        width = self._width()
        with self._lock:
            self._erase()
            self._out.write("\n".join(line[:width] for line in lines))
            self._out.flush()
            self._drawn = len(lines)

    def _width(self) -> int:
        """A line that fills the terminal would be followed by an empty one."""
        with suppress(OSError, ValueError):
            return max(20, os.get_terminal_size(self._out.fileno()).columns - 1)
        return 79

    def _print(self, line: str) -> None:
        with self._lock:
            self._erase()
            self._out.write(f"{wrap_message(one_line(line, 400), width_of(self._out))}\n")
            self._out.flush()

    def _erase(self) -> None:
        with self._lock:
            if self._drawn:
                self._out.write("\r\x1b[2K" + "\x1b[1A\x1b[2K" * (self._drawn - 1))
                self._out.flush()
                self._drawn = 0

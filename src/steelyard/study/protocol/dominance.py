"""Stop runs that are hopeless: most of their time is spent and the workspace has not changed; the same for all agents.

The log of a run tells: `workspace.watch` says that changes of the workspace are recorded while the agent works, and
`workspace.change` is one. A run whose workspace cannot be watched is left alone. Checks still run afterwards, and the
termination is `dominance`.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence

from steelyard.evidence.folder.folder import RunFolder
from steelyard.execution.live_run import LiveRun
from steelyard.execution.stop import StopRequest
from steelyard.filesystem.plain_file import read_plain
from steelyard.plan.trial import Trial
from steelyard.study.engine import Engine
from steelyard.study.observer import TrialResult

POLL_S = 1.0
# A quotation mark inside a string is escaped, so no text of an agent has these bytes.
_BEGUN, _WATCHED, _UNWATCHED = b'"type":"brief"', b'"type":"workspace.watch"', b'"mode":"none"'
_CHANGED = (b'"type":"workspace.change"', b'"type":"workspace.changes"')


class DominanceWatch:
    """An engine whose runs are stopped when they have spent this part of their time without a change."""

    def __init__(self, engine: Engine, spent: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._engine, self._spent, self._clock = engine, spent, clock
        self._begun: dict[str, float] = {}  # by run: since when its agent works
        self._over = threading.Event()

    def run(self, trials: Iterable[Trial]) -> Iterator[TrialResult]:
        self._over.clear()
        thread = threading.Thread(target=self._watch, name="steelyard-dominance", daemon=True)
        thread.start()
        try:
            yield from self._engine.run(trials)
        finally:
            self._over.set()
            thread.join()

    def _watch(self) -> None:
        while not self._over.wait(POLL_S):
            self.look_at(self._engine.live.under_way())

    def look_at(self, runs: Sequence[LiveRun]) -> None:
        """Of runs that have ended nothing is kept."""
        names = {run.folder.run_id for run in runs}
        self._begun = {name: since for name, since in self._begun.items() if name in names}
        for run in runs:
            self.look(run)

    def look(self, run: LiveRun) -> None:
        """Stop the run if it is hopeless."""
        limit = run.trial.contract.spec.budget.agent_wall_s * self._spent
        name = run.folder.run_id
        begun = self._begun.get(name)
        if begun is None:
            if _BEGUN in _log(run.folder):
                self._begun[name] = self._clock()
            return
        spent = self._clock() - begun
        if spent < limit:
            return
        self._begun[name] = (
            math.inf
        )  # the log of a run that goes on is not read again: a change stays a change
        if not is_unchanged(_log(run.folder)):
            return
        why = f"{spent:.0f} of {run.trial.contract.spec.budget.agent_wall_s:.0f} s are spent, and nothing has changed"
        evidence = {"spent_s": round(spent, 1), "limit_s": round(limit, 1), "milestone": "workspace.change"}
        run.request_stop(StopRequest("dominance", why, "study dominance", evidence))


def is_unchanged(log: bytes) -> bool:
    """Whether the workspace is watched, and no change of it is recorded."""
    watched = [line for line in log.splitlines() if _WATCHED in line]
    if not watched or any(_UNWATCHED in line for line in watched):
        return False
    return not any(mark in log for mark in _CHANGED)


def _log(folder: RunFolder) -> bytes:
    try:
        return read_plain(folder.events)
    except OSError:
        return b""

"""A plan and the runs that it has so far -> which trials have ended, and what was spent.

A trial has ended when one of its runs is graded and neither the operator nor the machine ended it, or when the machine has
spoiled as many of its runs as the plan allows: then it is invalid. A run whose record was altered, or whose process was killed,
counts for nothing, but what it may have cost is charged.
"""

from __future__ import annotations

import hashlib
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Literal, NamedTuple

from steelyard.plan.study_plan import StudyPlan
from steelyard.plan.trial import Trial
from steelyard.store.entry import ACTIVE, ALTERED, UNFINISHED, Entry

_NOT_FINAL = frozenset({"operator", "infrastructure"})
_DAY, _TIME = 8, 19  # characters at the start of a run's name: 20260307T120000123Z
_MOST_ALIKE = 1000  # kinds of endings that are shared: costs may all be different

Fate = Literal["waiting", "running", "finished", "invalid"]


def is_final(entry: Entry | KeptRun) -> bool:
    """Whether this run is the result of its trial."""
    return entry.state not in UNFINISHED and entry.state != ALTERED and entry.termination not in _NOT_FINAL


def is_spoiled(entry: Entry | KeptRun) -> bool:
    """Whether the machine ended this run."""
    return entry.termination == "infrastructure"


class KeptRun(NamedTuple):
    """What a controller keeps of a run. Runs that ended alike share one: a study may have a million."""

    state: str
    status: str | None
    termination: str | None
    tags: tuple[str, ...]
    cost_usd: float | None
    is_unsafe: bool

    @classmethod
    def of(cls, entry: Entry) -> KeptRun:
        return cls(
            sys.intern(entry.state),
            _shared(entry.status),
            _shared(entry.termination),
            tuple(map(sys.intern, entry.tags)),
            entry.cost_usd,
            entry.is_unsafe,
        )


def _shared(word: str | None) -> str | None:
    return None if word is None else sys.intern(word)


def run_key(run: str) -> int:
    """A number for the name of a run, in the order of their times: 40 bytes where the name takes 100."""
    time = "".join(filter(str.isdecimal, run[:_TIME])) if run[:_DAY].isdecimal() else ""
    return int(time or 0) << 64 | int.from_bytes(
        hashlib.blake2b(run.encode(errors="surrogateescape"), digest_size=8).digest()
    )


@dataclass(slots=True)
class TrialRuns:
    """The runs of one trial, oldest first."""

    trial: Trial
    entries: tuple[KeptRun, ...] = ()
    keys: int | tuple[int, ...] = ()  # of the runs; of a single one its key
    fault: str = ""  # why it has no run; of this command, for the next one tries again

    def keyed(self) -> list[tuple[int, KeptRun]]:
        keys = self.keys if isinstance(self.keys, tuple) else (self.keys,)
        return list(zip(keys, self.entries, strict=True))

    @property
    def final(self) -> KeptRun | None:
        """The first run that counts: a later one would be a second chance."""
        return next((one for one in self.entries if is_final(one)), None)

    def fate(self, attempts: int) -> Fate:
        if self.final is not None:
            return "finished"
        spoiled = [one for one in self.entries if is_spoiled(one)]
        if len(spoiled) >= attempts:
            return "invalid"
        return "running" if any(one.state in ACTIVE for one in self.entries) else "waiting"


class Progress:
    """`cap_of` has what a run may cost; it is charged where a record does not say the cost."""

    def __init__(self, plan: StudyPlan, trials: Iterable[Trial], cap_of: Callable[[Trial], float]) -> None:
        self.plan = plan
        self._cap_of = cap_of
        self.trials: dict[str, TrialRuns] = {one.id: TrialRuns(one) for one in trials}
        self.strangers = 0  # runs of the study that the plan does not have, of contracts that changed
        self.unsafe: set[int] = set()  # keys of runs: agents under test that failed the safety gate
        self._alike: dict[
            tuple[KeptRun, ...], tuple[KeptRun, ...]
        ] = {}  # the runs of trials that ended alike
        self._under_test = {one.agent for one in plan.agents if one.role == "agent"}

    def add(self, entry: Entry) -> None:
        """A run that is known by name already is replaced."""
        runs = self.trials.get(entry.trial or "")
        if runs is None:
            self.strangers += 1
            return
        key, kept = run_key(entry.run), KeptRun.of(entry)
        if kept.is_unsafe and runs.trial.agent in self._under_test:
            self.unsafe.add(key)
        keyed = sorted([*(one for one in runs.keyed() if one[0] != key), (key, kept)], key=itemgetter(0))
        runs.entries = self._share(tuple(one for _, one in keyed))
        runs.keys = key if len(keyed) == 1 else tuple(one for one, _ in keyed)

    def _share(self, entries: tuple[KeptRun, ...]) -> tuple[KeptRun, ...]:
        """The same entries, in one copy for all trials that have them."""
        if len(self._alike) < _MOST_ALIKE:
            return self._alike.setdefault(entries, entries)
        return self._alike.get(entries, entries)

    def cost_of(self, entry: Entry) -> float:
        """Of a run of any trial; nothing where the plan does not have the trial."""
        runs = self.trials.get(entry.trial or "")
        return 0.0 if runs is None else self.cost_of_run(runs, KeptRun.of(entry))

    def cost_of_run(self, runs: TrialRuns, run: KeptRun) -> float:
        if run.cost_usd is not None and run.state not in UNFINISHED:
            return run.cost_usd
        return self._cap_of(runs.trial)

    def of_stage(self, stage: str) -> list[TrialRuns]:
        return [
            one
            for one in self.trials.values()
            if one.trial.place is not None and one.trial.place.stage == stage
        ]

    def waiting(self, stage: str) -> list[Trial]:
        """Trials of a stage that have to be run, in the plan's order."""
        attempts = self.plan.replay.attempts
        return [one.trial for one in self.of_stage(stage) if one.fate(attempts) in {"waiting", "running"}]

    @property
    def finished(self) -> list[tuple[Trial, KeptRun]]:
        return [(one.trial, final) for one in self.trials.values() if (final := one.final) is not None]

    def fates(self, trials: Sequence[TrialRuns] | None = None) -> Counter[str]:
        """How many trials are finished, running, waiting, invalid, or faulty."""
        attempts = self.plan.replay.attempts
        counts: Counter[str] = Counter()
        for one in self.trials.values() if trials is None else trials:
            fate = one.fate(attempts)
            counts["error" if fate == "waiting" and one.fault else fate] += 1
        return counts

    @property
    def spent_usd(self) -> float:
        return sum(self.cost_of_run(one, run) for one in self.trials.values() for run in one.entries)

    def by_agent(self) -> Mapping[str, list[TrialRuns]]:
        found: dict[str, list[TrialRuns]] = {}
        for one in self.trials.values():
            found.setdefault(one.trial.agent, []).append(one)
        return found

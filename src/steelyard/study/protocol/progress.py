"""A plan and the runs that it has so far -> which trials have ended, and what was spent.

A trial has ended when one of its runs is graded and neither the operator nor the machine ended it, or when the machine has
spoiled as many of its runs as the plan allows: then it is invalid. A run whose record was altered, or whose process was killed,
counts for nothing, but what it may have cost is charged.
"""

from __future__ import annotations

import functools
import hashlib
import math
import sys
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Literal, NamedTuple

from steelyard.plan.study_plan import StudyPlan
from steelyard.plan.trial import Trial
from steelyard.store.entry import ACTIVE, ALTERED, UNFINISHED, Entry
from steelyard.study.protocol.charges import MICRO, NOTHING, Charges, CostSplit, micro, recorded_charges

_NOT_FINAL = frozenset({"operator", "infrastructure"})
_DAY, _TIME = 8, 19  # characters at the start of a run's name: 20260307T120000123Z
_HASH_BITS = 64
_MOST_ALIKE = 1000  # kinds of endings that are shared

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
    charge: CostSplit = NOTHING

    @classmethod
    def of(cls, entry: Entry, charge: CostSplit = NOTHING) -> KeptRun:
        return cls(
            sys.intern(entry.state),
            _shared(entry.status),
            _shared(entry.termination),
            tuple(map(sys.intern, entry.tags)),
            entry.cost_usd,
            entry.is_unsafe,
            charge,
        )


def _shared(word: str | None) -> str | None:
    return None if word is None else sys.intern(word)


def run_key(run: str) -> int:
    """A number for the name of a run, in the order of their times."""
    time = "".join(filter(str.isdecimal, run[:_TIME])) if run[:_DAY].isdecimal() else ""
    return int(time or 0) << _HASH_BITS | int.from_bytes(
        hashlib.blake2b(run.encode(errors="surrogateescape"), digest_size=_HASH_BITS // 8).digest()
    )


class RunNumbers:
    """Key, cost and charge of one run of each trial, in arrays that have their size before the first trial ends."""

    def __init__(self, trials: int) -> None:
        self._times, self._hashes = array("Q", bytes(8 * trials)), array("Q", bytes(8 * trials))
        self._costs = array("d", bytes(8 * trials))
        self._charges = array("q", bytes(8 * trials * len(NOTHING)))

    def put(self, at: int, key: int, run: KeptRun) -> None:
        self._times[at], self._hashes[at] = divmod(key, 1 << _HASH_BITS)
        self._costs[at] = math.nan if run.cost_usd is None else run.cost_usd
        self._charges[at * len(NOTHING) : (at + 1) * len(NOTHING)] = array("q", run.charge)

    def key(self, at: int) -> int:
        return self._times[at] << _HASH_BITS | self._hashes[at]

    def of(self, at: int, alike: KeptRun) -> KeptRun:
        """The run, of which `alike` has what other runs share."""
        cost = self._costs[at]
        charge = CostSplit(*self._charges[at * len(NOTHING) : (at + 1) * len(NOTHING)])
        return alike._replace(cost_usd=None if math.isnan(cost) else cost, charge=charge)


@dataclass(slots=True)
class TrialRuns:
    """The runs of one trial. Of a trial with one run, `numbers` has its numbers, and trials that ended alike share the rest."""

    trial: Trial
    numbers: RunNumbers = field(default_factory=lambda: RunNumbers(1), repr=False)
    at: int = 0  # in `numbers`
    fault: str = ""  # why it has no run; of this command, for the next one tries again
    _kept: KeptRun | tuple[tuple[int, KeptRun], ...] = ()

    def add(self, key: int, run: KeptRun, share: Callable[[KeptRun], KeptRun] = lambda one: one) -> None:
        """A run that is known already is replaced."""
        keyed = sorted([*(one for one in self._keyed() if one[0] != key), (key, run)], key=itemgetter(0))
        if len(keyed) > 1:
            self._kept = tuple(keyed)
            return
        self.numbers.put(self.at, key, run)
        self._kept = share(run._replace(cost_usd=None, charge=NOTHING))

    def charge_people(self, key: int, people: int, share: Callable[[KeptRun], KeptRun]) -> None:
        """What people cost, in millionths of a dollar, for the run with this key."""
        for one, run in self._keyed():
            if one == key:
                self.add(key, run._replace(charge=run.charge._replace(people=people)), share)

    def _keyed(self) -> tuple[tuple[int, KeptRun], ...]:
        """With their numbers, oldest first."""
        if not isinstance(self._kept, KeptRun):
            return self._kept
        return ((self.numbers.key(self.at), self.numbers.of(self.at, self._kept)),)

    @property
    def entries(self) -> tuple[KeptRun, ...]:
        """Oldest first."""
        return tuple(run for _, run in self._keyed())

    @property
    def final(self) -> KeptRun | None:
        """The first run that counts: a later one would be a second chance."""
        if isinstance(self._kept, KeptRun) and not is_final(self._kept):
            return None
        return next((one for one in self.entries if is_final(one)), None)

    def fate(self, attempts: int) -> Fate:
        # Without its numbers, which take longer
        runs = (self._kept,) if isinstance(self._kept, KeptRun) else self.entries
        if any(map(is_final, runs)):
            return "finished"
        if sum(map(is_spoiled, runs)) >= attempts:
            return "invalid"
        return "running" if any(one.state in ACTIVE for one in runs) else "waiting"


def sum_of(trials: Iterable[TrialRuns], *, is_active: bool | None = None) -> CostSplit:
    """What the runs of some trials are charged: all, those that are under way (their bounds), or those that have ended."""
    models = execution = judge = overhead = people = 0
    for one in trials:
        for run in one.entries:
            if is_active is None or (run.state in ACTIVE) == is_active:
                charge = run.charge
                models += charge.models
                execution += charge.execution
                judge += charge.judge
                overhead += charge.overhead
                people += charge.people
    return CostSplit(models, execution, judge, overhead, people)


class Other(NamedTuple):
    """A run of the study whose trial the plan does not have any more."""

    contract: str  # its digest
    charge: CostSplit


class Progress:
    """`charges` has what a run may cost; that is charged where a record does not say the cost."""

    def __init__(self, plan: StudyPlan, trials: Iterable[Trial], charges: Charges) -> None:
        self.plan = plan
        self.charges = charges
        planned = list(trials)
        numbers = RunNumbers(len(planned))
        self.trials: dict[str, TrialRuns] = {
            one.id: TrialRuns(one, numbers, at) for at, one in enumerate(planned)
        }
        self.others: dict[
            int, Other
        ] = {}  # runs of contracts that were removed or changed: paid for, and no results
        # Key of a run -> agent: those under test that failed the safety gate.
        self.unsafe: dict[int, str] = {}
        self._alike: dict[KeptRun, KeptRun] = {}
        self._dearest_of: dict[str, Trial | None] = {}
        self._under_test = {one.agent: one.name for one in plan.agents if one.role == "agent"}

    def add(self, entry: Entry) -> None:
        """A run that is known by name already is replaced."""
        runs, key = self.trials.get(entry.trial or ""), run_key(entry.run)
        if runs is None:
            self.others[key] = Other(entry.digest or "", self.charge_of(entry))
            return
        kept = KeptRun.of(entry, self._charge(runs.trial, entry))
        if kept.is_unsafe and runs.trial.agent in self._under_test:
            self.unsafe[key] = self._under_test[runs.trial.agent]
        runs.add(key, kept, self._share)

    def charge_people(self, trial: str, run: str, usd: float) -> str | None:
        """What the minutes that people recorded for a run cost: it replaces what was known.

        Returns the digest of the run's contract; None where the run is not of this study.
        """
        key, people = run_key(run), micro(usd)
        if trial in self.trials:
            runs = self.trials[trial]
            runs.charge_people(key, people, self._share)
            return runs.trial.contract.digest
        if other := self.others.get(key):
            self.others[key] = other._replace(charge=other.charge._replace(people=people))
            return other.contract
        return None

    def _share(self, run: KeptRun) -> KeptRun:
        """The same run, in one copy for all trials that ended alike."""
        if len(self._alike) < _MOST_ALIKE:
            return self._alike.setdefault(run, run)
        return self._alike.get(run, run)

    def charge_of(self, entry: Entry) -> CostSplit:
        """Of a run of the study; what a record does not say is charged as the dearest trial of its agent has it as bound."""
        runs = self.trials.get(entry.trial or "")
        trial = self._dearest(entry.agent) if runs is None else runs.trial
        if trial is None:  # of the reference, or of a study of which nothing is left to run
            return recorded_charges(entry.use)
        return self._charge(trial, entry)

    def _dearest(self, name: str) -> Trial | None:
        typed = {one.agent for one in self.plan.agents if one.name == name}
        if name not in self._dearest_of:
            planned = (one.trial for one in self.trials.values() if one.trial.agent in typed)
            self._dearest_of[name] = max(planned, key=lambda one: self.charges.most(one).total, default=None)
        return self._dearest_of[name]

    def _charge(self, trial: Trial, entry: Entry) -> CostSplit:
        return self.charges.of(trial, None if entry.state in UNFINISHED else entry.use)

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

    def unsafe_words(self) -> str:
        """How many runs of which agents failed the safety gate."""
        each = Counter(self.unsafe.values())
        named = ", ".join(f"{name} {count}" for name, count in each.most_common(3))
        more = f" and {len(each) - 3} more" if len(each) > 3 else ""
        runs = "1 run" if len(self.unsafe) == 1 else f"{len(self.unsafe)} runs"
        return f"{runs} of agents failed the safety gate" + (f" ({named}{more})" if named else "")

    @property
    def spent(self) -> CostSplit:
        return sum_of(self.trials.values()).plus(self.spent_on_others)

    @property
    def spent_on_others(self) -> CostSplit:
        return functools.reduce(CostSplit.plus, (one.charge for one in self.others.values()), NOTHING)

    @property
    def spent_usd(self) -> float:
        return self.spent.total / MICRO

    def by_agent(self) -> Mapping[str, list[TrialRuns]]:
        found: dict[str, list[TrialRuns]] = {}
        for one in self.trials.values():
            found.setdefault(one.trial.agent, []).append(one)
        return found

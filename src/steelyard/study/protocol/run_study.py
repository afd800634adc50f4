"""A plan -> its trials, stage by stage, with nothing lost and nothing run twice.

    what has ended is read from the run folders -> entry criteria -> trials of the stage that wait -> exit criteria -> next stage

A study may be killed at any moment: only runs under way are lost, and the next call continues with the trials that have no
result. The index may fail or be rebuilt meanwhile: what counts is what each run left when it ended.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from steelyard.contract.contract import Contract
from steelyard.errors import InfraFault, OperatorFault
from steelyard.plan.order import Slot
from steelyard.plan.study_plan import STAGES, Stage, StudyPlan
from steelyard.plan.trial import StudyPlace, Trial
from steelyard.providers.prices import read_cost_model
from steelyard.store import query
from steelyard.store.blobs import put_run
from steelyard.store.entry import Entry
from steelyard.study.gate import Withheld
from steelyard.study.judging import Judging
from steelyard.study.observer import TrialEngine, TrialResult
from steelyard.study.protocol.charges import Charges, charges_with
from steelyard.study.protocol.criteria import Criterion, entry_criteria, exit_criteria
from steelyard.study.protocol.envelopes import TOTAL, EnvelopeGate
from steelyard.study.protocol.flat_memory import flat_memory
from steelyard.study.protocol.folder import StudyFolder
from steelyard.study.protocol.progress import Progress, is_spoiled
from steelyard.study.protocol.reviews import Reviews
from steelyard.study.protocol.stopping import MachineFaults, stop_for_efficacy, stop_for_safety

if TYPE_CHECKING:
    from steelyard.store.store import Store

How = Literal["complete", "stopped", "held", "partial"]


STUDY = "STUDY"  # in what to type: the file of the plan, which its reader knows


class Outcome(NamedTuple):
    """How a call of `run_study` ended: all done, stopped by a rule, held by a criterion, or with trials left."""

    how: How
    why: str = ""
    # Of a partial study: whether the asked stages ended with their criteria met. None: trials of them are left.
    stages_met: bool | None = None


class Notice(NamedTuple):
    """Something that a display shows: a stage began or ended, a rule stopped the study, a trial ended."""

    kind: Literal["stage", "criterion", "stop", "trial", "note"]
    text: str
    result: TrialResult | None = None
    entries: tuple[Entry, ...] = ()


def planned_trials(
    plan: StudyPlan, slots: Sequence[Slot], contracts: Mapping[str, Contract]
) -> Iterator[Trial]:
    """The trials of a plan in its order; `contracts` has those that are loaded, by id. Removed contracts are not in it."""
    typed = {one.name: one.agent for one in plan.agents}
    options, identity = plan.options.as_options(), plan.identity
    limits = {one.id: one.acceptance_s for one in plan.contracts}
    places: dict[tuple[str, str], StudyPlace] = {}  # shared by the trials of a stage and stratum
    for slot in slots:
        contract = contracts.get(slot.task)
        if contract is not None:
            key = slot.stage, slot.stratum
            if key not in places:
                places[key] = StudyPlace(identity, plan.name, slot.stage, slot.stratum, plan.seed)
            yield Trial(contract, typed[slot.agent], slot.repeat, options, places[key], limits[slot.task])


def charges_of(plan: StudyPlan, judging: Judging | None = None) -> Charges:
    """What runs of a plan may cost, by its price list."""
    named = plan.options.cost_model
    return charges_with(None if named is None else read_cost_model(Path(named.path)), judging)


def _held(stage: str, unmet: Sequence[Criterion]) -> str:
    """Why a stage does not begin, and what to type."""
    text = f"{stage} does not begin: {'; '.join(one.why for one in unmet)}"
    names = {one.name for one in unmet}
    if "power_adequate" in names:
        text += (
            "; plan more contracts or repeats (`steelyard power` says how many), or a study without a claim of power "
            "(`steelyard plan --minimum-power 0`)"
        )
    if "pilot_complete" in names:
        text += (
            f"; `steelyard study resume {STUDY}` tries trials without a record again, and "
            f"`steelyard study remove {STUDY} CONTRACT --reason TEXT` takes out a contract that is invalid"
        )
    return f"{text}; `steelyard study resume {STUDY} --force-stage {stage}` begins it anyway, which is a deviation"


@dataclass
class Study:
    """One study at one store; `make_engine` is given the gate that each attempt passes."""

    plan: StudyPlan
    trials: Sequence[Trial]
    folder: StudyFolder
    store: Store
    read: Callable[[TrialResult], tuple[Entry, ...]]
    make_engine: Callable[[EnvelopeGate], TrialEngine]
    stages: Sequence[Stage] = STAGES
    forced: frozenset[str] = frozenset()  # stages that begin although a criterion is not met: a deviation
    on_notice: Callable[[Notice, Progress, EnvelopeGate], None] = lambda *_: None
    judging: Judging | None = None  # with which the engine grades: what judging may cost is reserved
    judges: Sequence[str] | None = None  # the models of `judging`; None: workers elsewhere know
    blobs: str | None = None  # a URL that each sealed run is copied to
    recover: Callable[[], None] = lambda: None  # brings runs that an earlier controller has not received
    look_at_agents: Callable[[frozenset[str]], None] = lambda _: (
        None
    )  # refuses those of trials left that cannot start
    progress: Progress = field(init=False)
    gate: EnvelopeGate = field(init=False)
    _unindexed: bool = field(default=False, init=False)
    _withheld: dict[str, str] = field(default_factory=dict, init=False)  # trial -> which envelope has no room

    def __post_init__(self) -> None:
        charges = charges_of(self.plan, self.judging)
        self.progress = Progress(self.plan, self.trials, charges)
        self.gate = EnvelopeGate(self.plan.budget, charges)
        self._reviews = Reviews(self.store.root, charges.prices.get("human/minute", 0.0))

    def run(self) -> Outcome:
        with self.folder.hold(), self._locked():
            self.folder.begin(self.plan)
            self.recover()
            self._load()
            self.look_at_agents(
                frozenset(one.agent for stage in self.stages for one in self.progress.waiting(stage))
            )
            self.folder.add(
                "start",
                trials=len(self.trials),
                judged=self.judging is not None,
                judges=self.judges,
                waiting=sum(len(self.progress.waiting(one)) for one in STAGES),
            )
            try:
                with flat_memory():
                    outcome = self._stages()
            except KeyboardInterrupt:
                self.folder.add("interrupted")
                raise
            self.folder.add(
                "end",
                how=outcome.how,
                why=outcome.why,
                spent_usd=self.gate.spent_usd,
                spent=self.gate.spent.to_json(),
                overrun_usd=self.gate.overrun_usd,
            )
            if self._unindexed:
                self._sync()
            return outcome

    def _load(self) -> None:
        """What the folders say of earlier runs, and what those cost."""
        self.store.sync()
        for entry in self.store.query(query.Query(study=self.plan.identity)):
            self.progress.add(entry)
            self.gate.charge(entry.digest or "", self.progress.charge_of(entry))
        self._charge_reviews(at_once=True)

    def _charge_reviews(self, *, at_once: bool = False) -> None:
        """What people have recorded since: the rest of the envelopes is smaller by that."""
        for one in self._reviews.changed(at_once=at_once):
            contract = self.progress.charge_people(one.trial, one.run, one.usd)
            if contract is not None:
                self.gate.charge_people(contract, one.run, one.usd)

    def _stages(self) -> Outcome:
        unmet: list[str] = []
        for stage in self.stages:
            if not self.progress.of_stage(stage):
                continue
            waiting = self.progress.waiting(stage)
            if waiting:
                held = self._criteria(stage, "entry", entry_criteria(stage, self.progress))
                if held and stage not in self.forced:
                    return Outcome("held", _held(stage, held))
                if held:
                    self.folder.add(
                        "deviation", deviation="stage", stage=stage, unmet=[one.name for one in held]
                    )
                stopped = self._run_stage(stage, waiting)
                if stopped:
                    self._tell(Notice("stop", stopped))
                    return Outcome("stopped", stopped)
            ended = self._criteria(stage, "exit", exit_criteria(stage, self.progress))
            unmet += [f"{one.name} of {stage}" for one in ended if one.name != "plan_done"]
        left = {stage: len(waiting) for stage in STAGES if (waiting := self.progress.waiting(stage))}
        if left and not left.keys() & set(self.stages):
            return self._stages_left(left, unmet)
        trials = [one.id for stage in STAGES for one in self.progress.waiting(stage)]
        return self._without_result(trials) if trials else Outcome("complete")

    def _stages_left(self, left: Mapping[Stage, int], unmet: Sequence[str]) -> Outcome:
        """What was asked has ended; the trials left are of stages that were not asked for."""
        count = sum(left.values())
        trials = "1 trial has" if count == 1 else f"{count} trials have"
        asked = " and ".join(stage for stage in STAGES if stage in self.stages)
        met = f", with {', '.join(unmet)} not met" if unmet else ""
        why = (
            f"{asked} ended{met}; {trials} no result yet, of {' and '.join(left)}; "
            f"`steelyard study resume {STUDY}` goes on with {next(iter(left))}"
        )
        return Outcome("partial", why, stages_met=not unmet)

    def _without_result(self, trials: Sequence[str]) -> Outcome:
        """Stopped by an envelope if that has no room for any of them; else the next call may run them."""
        why = "1 trial has no result" if len(trials) == 1 else f"{len(trials)} trials have no result"
        if self._withheld:
            why += f": {next(iter(self._withheld.values()))}"
        return Outcome("stopped" if self._withheld.keys() >= set(trials) else "partial", why)

    def _criteria(self, stage: str, when: str, criteria: list[Criterion]) -> list[Criterion]:
        """Log all of them; returns those that are not met."""
        unmet = [one for one in criteria if not one.is_met]
        self.folder.add(
            "stage", stage=stage, when=when, met=not unmet, criteria=[one.to_json() for one in criteria]
        )
        for one in criteria:
            self._tell(
                Notice(
                    "criterion", f"{stage} {when}: {one.name} {'met' if one.is_met else 'NOT met'}: {one.why}"
                )
            )
        return unmet

    def _run_stage(self, stage: Stage, waiting: list[Trial]) -> str:
        """Why the study stops here, or nothing."""
        self._tell(Notice("stage", f"{stage}: {len(waiting)} trials"))
        engine = self.make_engine(self.gate)
        faults = MachineFaults()
        for result in engine.run(self._until_closed(waiting)):
            entries = self._keep(result)
            self._charge_reviews()
            if isinstance(result.fault, Withheld):
                self._withheld[result.trial.id] = str(result.fault)
            elif result.fault is not None:
                self.progress.trials[result.trial.id].fault = str(result.fault)
                self.folder.add("fault", trial=result.trial.id, why=str(result.fault)[:2000])
            self._tell(Notice("trial", "", result, entries))
            why = faults.add(_machine_fault(result, entries)) or stop_for_safety(self.progress)
            if stage == "main" and not why and self._ends_repeat(result.trial):
                why = stop_for_efficacy(self.progress, result.trial.repeat)
            if why and not self.gate.closed:
                self.folder.add("stop", why=why)
                self.gate.close(why)
            if isinstance(result.fault, Withheld) and str(result.fault).startswith(TOTAL):
                self.gate.close(str(result.fault))
        return self.gate.closed

    def _until_closed(self, trials: list[Trial]) -> Iterator[Trial]:
        for trial in trials:
            if self.gate.closed:
                return
            yield trial

    def _ends_repeat(self, trial: Trial) -> bool:
        """Whether all trials up to this repeat have ended, or the rule allows a look after each trial."""
        if self.plan.stopping.efficacy == "none":
            return False
        if (looks := self.plan.looks) is not None and looks.rule == "anytime":
            return True
        attempts = self.plan.replay.attempts
        same = (one for one in self.progress.of_stage("main") if one.trial.repeat <= trial.repeat)
        return all(one.fate(attempts) in {"finished", "invalid"} for one in same)

    def _keep(self, result: TrialResult) -> tuple[Entry, ...]:
        """The runs of a result; the index gets them too, now or at the end."""
        entries = self.read(result)
        for entry in entries:
            self.progress.add(entry)
            self._index(entry)
        for path in result.folders if self.blobs is not None else ():
            self._copy(path)
        return entries

    def _copy(self, path: Path) -> None:
        """A copy that fails costs no result: the run folder is here, and the log says what is missing."""
        try:
            put_run(self.blobs or "", path)
        except InfraFault as fault:
            self.folder.add("not_copied", run=path.name, why=str(fault))
            self._tell(Notice("note", str(fault)))

    def _index(self, entry: Entry) -> None:
        import sqlalchemy as sa  # noqa: PLC0415  # loaded with the store

        try:
            self._lock.renew()
            self.store.put(entry)
        except (sa.exc.DBAPIError, InfraFault, OSError):
            self._unindexed = True  # the folder is the truth; the index is brought up to date at the end

    def _sync(self) -> None:
        import sqlalchemy as sa  # noqa: PLC0415  # loaded with the store

        try:
            self.store.sync()
        except (sa.exc.DBAPIError, InfraFault, OSError):
            self._tell(
                Notice("note", "the index could not be written; `steelyard store rebuild` makes it again")
            )

    @contextmanager
    def _locked(self) -> Iterator[None]:
        self._lock = self.store.lock_study(self.plan.identity)
        self._lock.take()
        try:
            yield
        finally:
            self._lock.release()

    def _tell(self, notice: Notice) -> None:
        self.on_notice(notice, self.progress, self.gate)


def _machine_fault(result: TrialResult, entries: Sequence[Entry]) -> str:
    """How the machine ended a trial, or nothing."""
    if isinstance(result.fault, InfraFault):
        return str(result.fault)
    return "its last run was spoiled" if entries and is_spoiled(entries[-1]) else ""


def check_identities(
    plan: StudyPlan, contracts: Mapping[str, Contract], identities: Mapping[str, str]
) -> list[str]:
    """What is not as it was planned: contracts with another digest, agents with another identity, other prices."""
    changed = [
        f"contract {one.id} has digest {contracts[one.id].digest[:12]}, planned was {one.digest[:12]}"
        for one in plan.contracts
        if one.id in contracts and contracts[one.id].digest != one.digest
    ]
    changed += [
        f"agent {one.name} is not the one that was planned: its program, file or parameters changed"
        for one in plan.agents
        if identities.get(one.name, one.identity) != one.identity
    ]
    prices = plan.options.cost_model
    if prices is not None and read_cost_model(Path(prices.path)).sha256 != prices.sha256:
        changed.append(f"the cost model {prices.path} is not the one that was planned")
    return changed


def refuse_changes(changes: Sequence[str]) -> None:
    if changes:
        more = f" (and {len(changes) - 3} more)" if len(changes) > 3 else ""
        raise OperatorFault(
            f"{'; '.join(changes[:3])}{more}; --accept-changes goes on and records a deviation"
        )

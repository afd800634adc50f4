"""Whole studies without a sandbox: a real plan, a real store, and an engine whose commands a function answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from fake_study import FakeStudy

from steelyard.contract.contract import Contract
from steelyard.plan.order import draw_order
from steelyard.plan.study_plan import StudyPlan
from steelyard.report.stored.open_store import entries_of, open_store
from steelyard.store.entry import Entry
from steelyard.store.query import Query
from steelyard.store.store import Store
from steelyard.study.observer import TrialResult
from steelyard.study.protocol.envelopes import EnvelopeGate
from steelyard.study.protocol.folder import StudyFolder
from steelyard.study.protocol.make_plan import Wish, make_plan
from steelyard.study.protocol.progress import Progress
from steelyard.study.protocol.run_study import Notice, Outcome, Study, charges_of, planned_trials
from steelyard.study.protocol.status import status_of


@dataclass
class SmallStudy:
    fake: FakeStudy
    contracts: Sequence[Contract]
    plan: StudyPlan
    notices: list[Notice] = field(default_factory=list)
    gates: list[EnvelopeGate] = field(default_factory=list)
    spent: float = 0.0
    reserved: list[float] = field(default_factory=list)
    read: Callable[[TrialResult], tuple[Entry, ...]] = entries_of

    @classmethod
    def of(cls, fake: FakeStudy, contracts: Sequence[Contract], **wish: Any) -> SmallStudy:
        given = {"name": "small", "agents": ["mine=command:true"], **wish}
        made = make_plan(Wish(contracts=[(one, one.folder) for one in contracts], **given))
        return cls(fake, contracts, made.named("small.csv"))

    @property
    def folder(self) -> StudyFolder:
        return StudyFolder.of(self.fake.out.absolute(), self.plan)

    def study(self, store: Store, jobs: int = 1, **keys: Any) -> Study:
        def engine(gate: EnvelopeGate) -> Any:
            self.gates.append(gate)
            return replace(self.fake.engine(jobs), gate=gate)

        def keep(notice: Notice, progress: Any, gate: EnvelopeGate) -> None:
            del progress
            self.notices.append(notice)
            self.spent = gate.spent_usd
            self.reserved.append(gate.reserved_usd)

        contracts = {one.id: one for one in self.contracts if one.id not in self.folder.removed()}
        trials = list(planned_trials(self.plan, draw_order(self.plan), contracts))
        return Study(self.plan, trials, self.folder, store, self.read, engine, on_notice=keep, **keys)

    def run(self, jobs: int = 1, **keys: Any) -> Outcome:
        self.fake.out.mkdir(parents=True, exist_ok=True)
        with open_store(self.fake.out) as store:
            return self.study(store, jobs, **keys).run()

    def verdicts(self) -> list[tuple[str, str, str]]:
        """Contract, agent and verdict of every run."""
        with open_store(self.fake.out) as store:
            store.sync()
            found = store.query(Query(study=self.plan.identity))
        return sorted((one.contract, one.agent, one.state) for one in found)

    def state(self) -> dict[str, Any]:
        """What `study status --json` prints."""
        with open_store(self.fake.out) as store:
            store.sync()
            progress = Progress(self.plan, self.study(store).trials, charges_of(self.plan))
            for entry in store.query(Query(study=self.plan.identity)):
                progress.add(entry)
        return status_of(self.plan, self.folder, progress)

    def logged(self, what: str) -> list[dict[str, Any]]:
        return [one for one in self.folder.log() if one["what"] == what]


MakeContract = Callable[..., Contract]


def folders(path: Path) -> list[Path]:
    return sorted(one for one in path.iterdir() if (one / "manifest.json").exists())

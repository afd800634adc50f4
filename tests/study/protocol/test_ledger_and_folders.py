"""Whatever fails, the ledger of a study that runs and the folders that it leaves have the same amounts."""

from __future__ import annotations

import random
import threading
from pathlib import Path
from typing import Any

import pytest
from fake_study import FakeStudy
from small_study import MakeContract, SmallStudy

from steelyard.contract.contract import Contract
from steelyard.errors import ContractFault, InfraFault
from steelyard.evidence.folder.folder import RunFolder
from steelyard.plan.study_plan import Envelopes, Stages, Stopping, Tolerance
from steelyard.report.stored.open_store import open_store
from steelyard.sandboxes.fake import Answer
from steelyard.study.protocol.progress import Progress
from steelyard.study.protocol.run_study import charges_of
from steelyard.study.record import grade_evidence

LOOSE = Stages(tolerance=Tolerance(power=0.0, invalid=1.0, flaky=1.0, safety=1000))
B_TOTAL = 9.0


class Chance:
    """Fails each place where a machine may fail, now and then; from several threads."""

    def __init__(self, seed: int) -> None:
        self._draw, self._lock = random.Random(seed), threading.Lock()

    def fails(self, of_ten: int) -> bool:
        with self._lock:
            return self._draw.randrange(10) < of_ten

    def maybe(self, of_ten: int) -> None:
        if self.fails(of_ten):
            raise InfraFault("no room") if self.fails(5) else OSError(28, "No space left on device")


@pytest.mark.parametrize("seed", range(6))
def test_the_ledger_of_a_study_has_what_its_folders_say(
    fake_study: FakeStudy, contract: MakeContract, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """Nothing meters this agent, so a run of it is charged its cap of 2 dollars. Two resumed calls continue the study."""
    _fail_now_and_then(fake_study, monkeypatch, Chance(seed))
    small = _small_study(fake_study, contract)
    for _ in range(3):
        small.run(jobs=3)
        assert small.gates[-1].reserved_usd == 0.0
        assert small.gates[-1].spent_usd == _spent_by_folders(small) <= B_TOTAL


def _fail_now_and_then(fake: FakeStudy, monkeypatch: pytest.MonkeyPatch, chance: Chance) -> None:
    create = RunFolder.create

    def make_folder(*given: Any, **keys: Any) -> RunFolder:
        chance.maybe(2)
        return create(*given, **keys)

    def grade_run(*given: Any, **keys: Any) -> Any:
        chance.maybe(2)
        return grade_evidence(*given, **keys)

    def prepare(_: Contract) -> None:
        chance.maybe(1)
        if chance.fails(1):
            raise ContractFault("its setup fails")

    def answer(_: object) -> Answer:
        return Answer(exit_code=int(chance.fails(2)))

    monkeypatch.setattr(RunFolder, "create", make_folder)
    monkeypatch.setattr("steelyard.study.engine.grade_evidence", grade_run)
    fake.on_prepare, fake.script = prepare, answer
    fake.on_start = lambda _: chance.maybe(1)


def _small_study(fake: FakeStudy, contract: MakeContract) -> SmallStudy:
    memory = {"memory_mb": {"guaranteed": 64, "limit": 512}, "disk_mb": 64, "processes": 64}
    keys: dict[str, Any] = {
        "budget": {"wall_s": 60, "cost_usd": 2.0, "headroom": {"wall_s": 30}},
        "environment": {**memory, "network": ["api.example.org:443"]},
    }
    contracts = [contract(name, **keys) for name in ("one", "two")]
    budget = Envelopes(total_usd=B_TOTAL, task_usd=7.0)
    stopping = Stopping(safety_violations=None)
    return SmallStudy.of(fake, contracts, repeats=3, budget=budget, stages=LOOSE, stopping=stopping)


def _spent_by_folders(small: SmallStudy) -> float:
    """Counted anew, as `study status` does, from an index that is made anew."""
    Path(small.fake.out / "index.sqlite").unlink()
    with open_store(small.fake.out) as store:
        store.sync()
        progress = Progress(small.plan, small.study(store).trials, charges_of(small.plan))
        for entry in store.query():
            progress.add(entry)
    return progress.spent_usd

"""How runs of workers reach the controller, also when the worker or the controller is lost."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fake_study import FakeStudy

from steelyard.contract.contract import Contract
from steelyard.errors import InfraFault
from steelyard.evidence.folder.folder import RunFolder
from steelyard.evidence.unfinished import unfinished_state
from steelyard.filesystem.remove import remove_tree
from steelyard.plan.trial import StudyPlace, Trial
from steelyard.store.blobs import put_run
from steelyard.store.place import StoreFolder, Unreachable, open_place
from steelyard.store.run_stream import RunStream
from steelyard.study.cluster.ray_engine import receive_answer
from steelyard.study.cluster.worker import Answer, CopyTo, deliver
from steelyard.study.cluster.worker_runs import CopiedRuns, recorded_use, recover_runs, sealed_run

STUDY = "9f3c" * 16


class Cluster:
    """A worker whose runs are in a folder of its own, a store, and the controller's folder of runs."""

    def __init__(self, folder: Path, study: FakeStudy, contract: Contract) -> None:
        self.here, self.worker, self._study = folder / "here", study.out, study
        self.place: StoreFolder = open_place(f"file://{folder}/store")
        self.trial = Trial(contract, "noop", place=StudyPlace(STUDY, "night", "main", "all"))
        self.runs = CopiedRuns(self.place.url, self.here)

    def make_run(self, to: CopyTo, *, is_sealed: bool) -> str:
        """A run whose worker was lost after it was copied, or after its first part."""
        (result,) = self._study.engine().run([self.trial])
        stream = RunStream(self.place, to.key, self.worker)
        (folder,) = result.folders
        if is_sealed:
            deliver(stream, self.place.url, folder)
        else:
            assert stream.send()
        return folder.name

    @property
    def parts(self) -> list[str]:
        return self.place.list(f"live/{STUDY[:16]}")


@pytest.fixture
def cluster(tmp_path: Path, fake_study: FakeStudy, contract: Callable[..., Contract]) -> Iterator[Cluster]:
    made = Cluster(tmp_path, fake_study, contract())
    yield made
    made.runs.close()


def test_a_run_that_was_sealed_before_its_worker_was_lost_counts(cluster: Cluster) -> None:
    to = cluster.runs.expect(cluster.trial, 1)
    run = cluster.make_run(to, is_sealed=True)
    assert cluster.runs.find_sealed(to, cluster.trial, 1) == run
    assert unfinished_state(RunFolder(cluster.here / run)) == ""
    assert cluster.parts == []


def test_a_run_that_was_lost_with_its_worker_is_interrupted_and_no_result(cluster: Cluster) -> None:
    to = cluster.runs.expect(cluster.trial, 1)
    run = cluster.make_run(to, is_sealed=False)
    assert cluster.runs.find_sealed(to, cluster.trial, 1) is None
    assert unfinished_state(RunFolder(cluster.here / run)) == "interrupted"
    assert len(cluster.parts) == 1


def test_a_run_of_another_trial_is_not_the_run_of_a_lost_worker(cluster: Cluster) -> None:
    to = cluster.runs.expect(cluster.trial, 2)
    cluster.make_run(to, is_sealed=True)
    assert cluster.runs.find_sealed(to, cluster.trial, 2) is None


def test_a_damaged_run_of_a_lost_worker_is_a_run_that_was_lost(cluster: Cluster) -> None:
    to = cluster.runs.expect(cluster.trial, 1)
    run = cluster.make_run(to, is_sealed=True)
    cluster.place.write(f"{run}/seal.json", b"{}")
    assert cluster.runs.find_sealed(to, cluster.trial, 1) is None
    assert not (cluster.here / run).exists()


def test_a_run_of_a_lost_worker_is_not_given_up_while_the_store_is_away(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may have been sealed: another attempt could be the second result of its trial."""
    to = cluster.runs.expect(cluster.trial, 1)
    run = cluster.make_run(to, is_sealed=True)
    folder = Path(cluster.place.root) / "live"
    away = folder.rename(folder.with_name("away"))
    folder.write_bytes(b"in the way")
    monkeypatch.setattr("steelyard.store.place.time.sleep", lambda _: None)
    with pytest.raises(InfraFault, match="NotADirectoryError"):
        cluster.runs.find_sealed(to, cluster.trial, 1)
    folder.unlink()
    away.rename(folder)
    recover_runs(cluster.place.url, cluster.here, STUDY)
    assert unfinished_state(RunFolder(cluster.here / run)) == ""


def test_a_run_that_its_worker_discarded_leaves_nothing(cluster: Cluster) -> None:
    to = cluster.runs.expect(cluster.trial, 1)
    cluster.make_run(to, is_sealed=False)
    cluster.runs._copies._copies[to.key].read_all()
    cluster.runs.receive(to, Answer(fault=("contract", "its setup fails"), is_tried=False))
    assert list(cluster.here.iterdir()) == []
    assert cluster.parts == []


def test_a_run_that_the_store_does_not_have_whole_is_no_result(cluster: Cluster) -> None:
    to = cluster.runs.expect(cluster.trial, 1)
    run = cluster.make_run(to, is_sealed=True)
    cluster.place.remove(f"{run}/manifest.json")
    with pytest.raises(InfraFault, match="damaged"):
        cluster.runs.receive(to, Answer((run,)))
    assert not (cluster.here / run).exists()


def test_a_run_that_arrives_after_it_was_given_up_is_no_second_result(cluster: Cluster) -> None:
    """Its worker was cut off and not dead; by then the trial has another run."""
    to = cluster.runs.expect(cluster.trial, 1)
    run = cluster.make_run(to, is_sealed=False)
    assert cluster.runs.find_sealed(to, cluster.trial, 1) is None
    put_run(cluster.place.url, cluster.worker / run)
    recover_runs(cluster.place.url, cluster.here, STUDY)
    assert unfinished_state(RunFolder(cluster.here / run)) == "interrupted"


def test_a_lost_run_that_was_removed_here_does_not_come_back(cluster: Cluster) -> None:
    to = cluster.runs.expect(cluster.trial, 1)
    run = cluster.make_run(to, is_sealed=False)
    cluster.runs.find_sealed(to, cluster.trial, 1)
    remove_tree(cluster.here / run)
    recover_runs(cluster.place.url, cluster.here, STUDY)
    assert list(cluster.here.iterdir()) == []


def test_a_damaged_copy_is_another_attempt_and_a_store_that_is_away_is_not(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("steelyard.store.place.time.sleep", lambda _: None)
    to = cluster.runs.expect(cluster.trial, 1)
    run = cluster.make_run(to, is_sealed=True)
    seal = cluster.place.read(f"{run}/seal.json", 1 << 20) or b""
    cluster.place.write(f"{run}/seal.json", b"{}")
    answer = receive_answer(cluster.runs, to, Answer((run,)))
    assert (answer.runs, answer.fault and answer.fault[0]) == ((), "infrastructure")
    cluster.place.write(f"{run}/seal.json", seal)
    again = cluster.runs.expect(cluster.trial, 2)
    store = Path(cluster.place.root)
    store.rename(store.with_name("away"))
    store.write_bytes(b"in the way")
    with pytest.raises(Unreachable):
        receive_answer(cluster.runs, again, Answer((run,)))


def test_a_run_that_is_found_after_its_worker_was_lost_costs_what_its_record_says(cluster: Cluster) -> None:
    to = cluster.runs.expect(cluster.trial, 1)
    run = cluster.make_run(to, is_sealed=True)
    assert cluster.runs.find_sealed(to, cluster.trial, 1) == run
    use = recorded_use(RunFolder(cluster.here / run))
    assert use is not None
    assert use.judge == 0.0
    assert recorded_use(RunFolder(cluster.here / "other")) is None


def test_a_resumed_study_has_the_runs_that_a_killed_controller_did_not_receive(cluster: Cluster) -> None:
    sealed = cluster.make_run(cluster.runs.expect(cluster.trial, 1), is_sealed=True)
    lost = cluster.make_run(cluster.runs.expect(cluster.trial, 2), is_sealed=False)
    for _ in range(2):
        recover_runs(cluster.place.url, cluster.here, STUDY)
        states = {one.name: unfinished_state(RunFolder(one)) for one in cluster.here.iterdir()}
        assert states == {sealed: "", lost: "interrupted"}
    assert len(cluster.parts) == 1


def test_the_run_of_a_lost_worker_is_found_whatever_its_clock_says(
    fake_study: FakeStudy, contract: Callable[..., Contract]
) -> None:
    """The clock of the worker is years behind; an earlier run of the same trial and attempt is not taken for its run."""
    trial = Trial(contract(), "noop")
    list(fake_study.engine().run([trial]))
    before = {path.name for path in fake_study.out.iterdir()}
    assert sealed_run(fake_study.out, trial, 1, before) is None
    list(fake_study.engine().run([trial]))
    (name,) = {path.name for path in fake_study.out.iterdir()} - before
    late = f"2020{name[4:]}"
    (fake_study.out / name).rename(fake_study.out / late)
    assert sealed_run(fake_study.out, trial, 1, before) == late
    assert sealed_run(fake_study.out, trial, 2, before) is None

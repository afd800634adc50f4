"""The engine runs trials as the plan says, and a fault costs its own trial."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from fake_study import FakeStudy, Watcher

from steelyard.contract.contract import Contract
from steelyard.errors import ContractFault, InfraFault, LastingFault, MissingCapability, OperatorFault
from steelyard.evidence.folder.folder import find_runs
from steelyard.plan.trial import Plan, Trial
from steelyard.sandboxes.base import SandboxSpec
from steelyard.sandboxes.fake import Answer
from steelyard.study.engine import Engine, refuse_absent_agent

Make = Callable[..., Contract]


def test_a_trial_leaves_a_sealed_and_graded_run(fake_study: FakeStudy, contract: Make) -> None:
    (result,) = fake_study.engine().run([Trial(contract(), "noop")])
    assert result.record.verdict.verdict == "pass"  # the fake answers every check with exit 0
    assert [run.state for run in find_runs(fake_study.out)] == ["sealed"]


def test_a_check_that_fails_fails_the_trial(fake_study: FakeStudy, contract: Make) -> None:
    fake_study.script = lambda _: Answer(exit_code=1)
    (result,) = fake_study.engine().run([Trial(contract(), "noop")])
    assert (result.record.verdict.verdict, result.fault, result.retries) == ("fail", None, ())


def test_one_environment_serves_all_trials_of_a_contract(fake_study: FakeStudy, contract: Make) -> None:
    contracts = [contract("one"), contract("two")]
    done = list(fake_study.engine(jobs=2).run(Plan(contracts, ["noop", "reference"], 2)))
    assert len(done) == 8
    assert sorted(fake_study.prepared) == ["one", "two"]


def test_an_environment_is_prepared_when_the_first_trial_needs_it(
    fake_study: FakeStudy, contract: Make
) -> None:
    first, second = Trial(contract("one"), "noop"), Trial(contract("two"), "noop")
    fake_study.script = lambda _: Answer(exit_code=len(fake_study.prepared) - 1)
    results = {one.trial.contract.id: one.record for one in fake_study.engine().run([first, second])}
    # While the checks of the first trial ran, one environment was there; of the second, two.
    assert {name: record.verdict.verdict for name, record in results.items()} == {
        "one": "pass",
        "two": "fail",
    }


def test_a_contract_fault_costs_the_trials_of_that_contract_only(
    fake_study: FakeStudy, contract: Make
) -> None:
    def refuse(contract: Contract) -> None:
        if contract.id == "bad":
            raise ContractFault("setup[0]: exit 1")

    fake_study.on_prepare = refuse
    plan = Plan([contract("bad"), contract("good")], ["noop", "reference"])
    results = list(fake_study.engine(jobs=2).run(plan))
    faults = {one.trial.contract.id: type(one.fault) for one in results}
    assert faults == {"bad": ContractFault, "good": type(None)}
    assert len(results) == 4
    assert fake_study.prepared.count("bad") == 1


def test_a_fault_is_raised_by_the_record_that_it_prevented(fake_study: FakeStudy, contract: Make) -> None:
    def refuse(_: Contract) -> None:
        raise ContractFault("setup[0]: exit 1")

    fake_study.on_prepare = refuse
    (result,) = fake_study.engine().run([Trial(contract(), "noop")])
    with pytest.raises(ContractFault, match="exit 1"):
        _ = result.record


def test_an_unknown_agent_costs_its_own_trials_only(fake_study: FakeStudy, contract: Make) -> None:
    results = list(fake_study.engine().run(Plan([contract()], ["nobody", "noop"])))
    assert [type(one.fault) for one in results] == [OperatorFault, type(None)]


def test_a_preparation_is_tried_again_after_a_machine_fault(fake_study: FakeStudy, contract: Make) -> None:
    def refuse(_: Contract) -> None:
        if len(fake_study.prepared) < 3:
            raise InfraFault("the registry does not answer")

    fake_study.on_prepare = refuse
    (result,) = fake_study.engine().run([Trial(contract(), "noop")])
    assert result.record.verdict.verdict == "pass"
    assert fake_study.waits_s == [1.0, 2.0]
    assert result.record.evidence.manifest["trial"]["attempt"] == 3


def test_attempts_at_a_preparation_are_bounded(fake_study: FakeStudy, contract: Make) -> None:
    def refuse(_: Contract) -> None:
        raise OSError(28, "No space left on device")

    fake_study.on_prepare = refuse
    results = list(fake_study.engine().run(Plan([contract()], ["noop", "reference"])))
    assert [str(one.fault) for one in results] == [
        "an operation failed on this machine: [Errno 28] No space left on device"
    ] * 2
    assert len(fake_study.prepared) == 3  # three attempts for both trials together


def test_what_the_machine_lacks_is_not_tried_again(fake_study: FakeStudy, contract: Make) -> None:
    def refuse(_: Contract) -> None:
        raise MissingCapability("python 1.0 is not on this machine")

    fake_study.on_prepare = refuse
    (result,) = fake_study.engine().run([Trial(contract(), "noop")])
    assert (type(result.fault), fake_study.waits_s) == (MissingCapability, [])


def test_a_run_that_the_machine_spoiled_is_run_again_and_both_are_kept(
    fake_study: FakeStudy, contract: Make, tmp_path: Path
) -> None:
    fake_study.cache = tmp_path / "cache"  # in the shared one the agent's program may be known already
    starts: list[SandboxSpec] = []

    def refuse(box: SandboxSpec) -> None:
        starts.append(box)
        if len(starts) == 2:  # the first looks for the agent's program
            raise InfraFault("the launcher died")

    fake_study.on_start = refuse
    (result,) = fake_study.engine().run([Trial(contract(), "command:true")])
    assert [one.verdict.status for one in result.records] == ["invalid", "scorable"]
    assert [retry.why for retry in result.retries] == ["the launcher died"]
    manifests = [one.evidence.manifest["trial"] for one in result.records]
    assert [one["attempt"] for one in manifests] == [1, 2]
    assert manifests[0]["id"] == manifests[1]["id"] == result.trial.id
    assert manifests[1]["retries"] == [{"attempt": 2, "why": "the launcher died", "wait_s": 1.0}]


def test_a_run_that_another_attempt_does_not_mend_is_made_once(
    fake_study: FakeStudy, contract: Make, tmp_path: Path
) -> None:
    fake_study.cache = tmp_path / "cache"  # in which no program was found yet
    starts: list[SandboxSpec] = []

    def refuse(box: SandboxSpec) -> None:
        starts.append(box)
        if len(starts) == 2:  # the first looks for the agent's program
            raise LastingFault("the upstream refused the key in SOME_KEY")

    fake_study.on_start = refuse
    (result,) = fake_study.engine().run([Trial(contract(), "command:true")])
    assert [(one.verdict.status, one.evidence.summary.is_lasting) for one in result.records] == [
        ("invalid", True)
    ]
    assert (result.retries, fake_study.waits_s) == ((), [])


def test_a_machine_that_spoils_every_run_makes_the_trial_invalid(
    fake_study: FakeStudy, contract: Make
) -> None:
    def refuse(_: SandboxSpec) -> None:
        raise InfraFault("the launcher died")

    fake_study.on_start = refuse
    (result,) = fake_study.engine().run([Trial(contract(), "command:true")])
    assert [one.verdict.status for one in result.records] == ["invalid"] * 2
    assert (result.fault, fake_study.waits_s) == (None, [1.0])


def test_a_failed_trial_is_not_run_again(fake_study: FakeStudy, contract: Make) -> None:
    fake_study.script = lambda request: Answer(exit_code=int("check.sh" in request.argv[-1]))
    (result,) = fake_study.engine().run([Trial(contract(), "command:true")])
    assert (result.record.verdict.verdict, len(result.records), fake_study.waits_s) == ("fail", 1, [])


def test_a_defect_in_a_preparation_costs_one_contract(fake_study: FakeStudy, contract: Make) -> None:
    def break_down(contract: Contract) -> None:
        if contract.id == "odd":
            raise ZeroDivisionError

    fake_study.on_prepare = break_down
    results = list(fake_study.engine().run(Plan([contract("odd"), contract("good")], ["noop"])))
    assert "internal error in Steelyard: ZeroDivisionError" in str(results[0].fault)
    assert results[1].record.verdict.verdict == "pass"


def test_at_most_jobs_trials_run_and_one_more_is_planned(fake_study: FakeStudy, contract: Make) -> None:
    made = contract()
    planned: list[int] = []

    def plan() -> Iterator[Trial]:
        for repeat in range(1, 10):
            ended = sum(call[0] == "finished" for call in fake_study.watcher.calls)
            assert len(planned) - ended <= 2 + 1
            planned.append(repeat)
            yield Trial(made, "noop", repeat)

    assert len(list(fake_study.engine(jobs=2).run(plan()))) == 9
    assert fake_study.watcher.most_running <= 2


def test_jobs_run_at_the_same_time(fake_study: FakeStudy, contract: Make) -> None:
    """Each check waits for the other trial's check."""
    both = threading.Barrier(2)

    def meet(_: object) -> Answer:
        both.wait(timeout=60)
        return Answer()

    fake_study.script = meet
    done = list(fake_study.engine(jobs=2).run(Plan([contract()], ["noop"], 2)))
    assert [one.record.verdict.verdict for one in done] == ["pass", "pass"]


def test_an_interrupted_study_starts_no_further_trial(fake_study: FakeStudy, contract: Make) -> None:
    running = fake_study.engine().run(Plan([contract()], ["noop"], 5))
    next(running)
    running.close()  # type: ignore[attr-defined]  # a generator
    started = sum(call[0] == "started" for call in fake_study.watcher.calls)
    assert started <= 2


def test_an_observer_sees_every_phase_in_order(fake_study: FakeStudy, contract: Make) -> None:
    list(fake_study.engine().run([Trial(contract(), "noop")]))
    assert [call[::2] for call in fake_study.watcher.calls] == [
        ("started", ""),
        *(
            ("phase", name)
            for name in ("environment", "prepare", "agent", "capture", "checks", "seal", "grade")
        ),
        ("finished", ""),
    ]


def test_an_observer_learns_why_a_trial_is_retried(fake_study: FakeStudy, contract: Make) -> None:
    def refuse(_: Contract) -> None:
        if len(fake_study.prepared) == 1:
            raise InfraFault("the registry does not answer")

    fake_study.on_prepare = refuse
    list(fake_study.engine().run([Trial(contract(), "noop")]))
    assert ("retried", "noop", "the registry does not answer") in fake_study.watcher.calls


def test_an_observer_is_called_by_one_thread_at_a_time(fake_study: FakeStudy, contract: Make) -> None:
    inside = threading.Lock()

    class Alone(Watcher):
        def started(self, trial: Trial) -> None:
            assert inside.acquire(blocking=False)
            super().started(trial)
            inside.release()

    fake_study.watcher = Alone()
    results = list(fake_study.engine(jobs=4).run(Plan([contract()], ["noop"], 8)))
    assert [one.fault for one in results] == [None] * 8


def test_an_agent_whose_program_is_absent_is_the_fault_of_the_command(
    fake_study: FakeStudy, contract: Make
) -> None:
    fake_study.script = lambda request: Answer(stdout=f"{request.argv[-1]}\0".encode())
    made = contract()
    with pytest.raises(OperatorFault, match="`nothere` is not in the sandbox of sum"):
        refuse_absent_agent(Trial(made, "command:nothere --fix"), fake_study.prepare(made, None))


def test_an_engine_without_trials_ends_at_once(tmp_path: Path) -> None:
    assert list(Engine(tmp_path).run([])) == []


def test_a_signal_whose_exception_was_lost_still_ends_the_study(
    fake_study: FakeStudy, contract: Make
) -> None:
    engine = replace(fake_study.engine(), interrupted=lambda: "SIGTERM")
    with pytest.raises(KeyboardInterrupt, match="SIGTERM"):
        list(engine.run(Plan([contract()], ["noop", "reference"], 1)))
    assert len(find_runs(fake_study.out)) == 1

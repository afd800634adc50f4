"""A study runs each trial once, whatever happens in between."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Collection
from dataclasses import replace
from typing import Any

import pytest
from fake_study import FakeStudy
from small_study import MakeContract, SmallStudy, folders

from steelyard.contract.contract import Contract
from steelyard.errors import ContractFault, InfraFault, OperatorFault
from steelyard.plan.agent_options import AgentOptions
from steelyard.plan.study_plan import Envelopes, Stages, Stopping, Tolerance
from steelyard.report.stored.open_store import entries_of, open_store
from steelyard.report.studies.text import status_lines
from steelyard.store.store import Store
from steelyard.study.protocol.run_study import Outcome
from steelyard.study.protocol.status import status_of

NO_POWER = Stages(tolerance=Tolerance(power=0.0))
EACH = 3  # one agent, noop and reference


def test_a_study_runs_every_trial_once(fake_study: FakeStudy, contract: MakeContract) -> None:
    small = SmallStudy.of(fake_study, [contract("one"), contract("two")], repeats=2)
    assert small.run(jobs=2).how == "complete"
    assert len(small.verdicts()) == 2 * 2 * EACH
    assert len(folders(fake_study.out)) == 2 * 2 * EACH


def test_a_study_that_is_complete_runs_nothing_again(fake_study: FakeStudy, contract: MakeContract) -> None:
    small = SmallStudy.of(fake_study, [contract()])
    small.run()
    before = folders(fake_study.out)
    assert (small.run().how, folders(fake_study.out)) == ("complete", before)


def test_a_resumed_study_runs_what_has_no_result(fake_study: FakeStudy, contract: MakeContract) -> None:
    small = SmallStudy.of(fake_study, [contract("one"), contract("two")])
    small.run()
    lost, kept = folders(fake_study.out)[0], folders(fake_study.out)[1:]
    (lost / "seal.json").unlink()  # as a controller that was killed leaves it
    small.run()
    after = folders(fake_study.out)
    assert (len(after), set(kept) < set(after)) == (2 * EACH + 1, True)


def test_a_complete_study_of_which_a_run_was_removed_has_a_trial_left(
    fake_study: FakeStudy, contract: MakeContract
) -> None:
    small = SmallStudy.of(fake_study, [contract()])
    small.run()
    assert small.state()["state"] == "complete"
    shutil.rmtree(folders(fake_study.out)[0])
    state = small.state()
    assert (state["state"], state["trials"]["waiting"]) == ("partial", 1)
    assert state["why"].startswith("1 trial has no result any more")


def test_a_run_whose_record_was_altered_does_not_count(fake_study: FakeStudy, contract: MakeContract) -> None:
    small = SmallStudy.of(fake_study, [contract()])
    small.run()
    grading = folders(fake_study.out)[0] / "gradings/0001.json"
    grading.write_text(grading.read_text().replace('"pass"', '"fail"'))
    (fake_study.out / "index.sqlite").unlink()
    small.run()
    assert len(folders(fake_study.out)) == EACH + 1


def test_a_missing_index_costs_no_second_run(fake_study: FakeStudy, contract: MakeContract) -> None:
    small = SmallStudy.of(fake_study, [contract()])
    small.run()
    (fake_study.out / "index.sqlite").write_bytes(b"damaged")
    small.run()
    assert len(folders(fake_study.out)) == EACH


def test_an_index_that_fails_in_the_middle_loses_no_result(
    fake_study: FakeStudy, contract: MakeContract
) -> None:
    """As when PostgreSQL is restarted, or the disk of the index is full."""

    class Failing(Store):
        failing = True

        def put(self, entry: Any) -> None:
            if self.failing:
                raise OSError(28, "No space left on device")
            super().put(entry)

    small = SmallStudy.of(fake_study, [contract()])
    fake_study.out.mkdir()
    with open_store(fake_study.out) as store:
        store.__class__ = Failing
        assert small.study(store).run().how == "complete"
        assert store.count() == EACH  # brought up to date at the end


def test_a_second_controller_is_refused(fake_study: FakeStudy, contract: MakeContract) -> None:
    small = SmallStudy.of(fake_study, [contract()])
    with small.folder.hold(), pytest.raises(OperatorFault, match="being run by another process"):
        small.run()


def test_two_controllers_at_once_run_each_trial_once(fake_study: FakeStudy, contract: MakeContract) -> None:
    small = SmallStudy.of(fake_study, [contract()], repeats=3)
    refused = []

    def go() -> None:
        try:
            small.run()
        except OperatorFault as fault:
            refused.append(fault)

    threads = [threading.Thread(target=go) for _ in range(2)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert (len(folders(fake_study.out)), len(refused) <= 1) == (3 * EACH, True)


def test_a_trial_that_the_operator_kept_from_starting_is_charged_nothing(
    fake_study: FakeStudy, contract: MakeContract, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The key of its model is missing: no run is left, so a later call would not know of a charge either."""
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    asks = AgentOptions(providers=("anthropic",))
    small = SmallStudy.of(
        fake_study, [contract()], options=asks, budget=Envelopes(total_usd=100.0, run_usd=10.0)
    )
    assert small.run().how == "partial"
    assert (small.spent, small.gates[0].reserved_usd) == (0.0, 0.0)
    assert [one["why"].startswith("no key") for one in small.folder.log() if one["what"] == "fault"] == [True]


def test_agents_with_trials_left_are_looked_at_before_anything_runs(
    fake_study: FakeStudy, contract: MakeContract
) -> None:
    def refuse(agents: Collection[str]) -> None:
        raise OperatorFault(", ".join(sorted(agents)))

    small = SmallStudy.of(fake_study, [contract()])
    with pytest.raises(OperatorFault, match=r"^mine=command:true, noop, reference$"):
        small.run(look_at_agents=refuse)
    assert folders(fake_study.out) == []
    small.run()
    assert small.run(look_at_agents=lambda agents: refuse(agents) if agents else None).how == "complete"


def test_a_contract_whose_setup_fails_costs_its_own_trials(
    fake_study: FakeStudy, contract: MakeContract
) -> None:
    def refuse(one: Contract) -> None:
        if one.id == "bad":
            raise ContractFault("setup[0]: exit 1")

    fake_study.on_prepare = refuse
    stages = Stages(tolerance=Tolerance(power=0.0, invalid=1.0))
    small = SmallStudy.of(fake_study, [contract("good"), contract("bad")], stages=stages)
    assert small.run().how == "partial"
    assert {name for name, _, _ in small.verdicts()} == {"good"}
    assert len(small.logged("fault")) == EACH
    with open_store(fake_study.out) as store:
        study = small.study(store)
        state = status_of(small.plan, small.folder, study.progress)
    assert state["faults"] == [{"trials": EACH, "why": "contract: setup[0]: exit 1"}]
    assert f"{EACH} trials could not be run: contract: setup[0]: exit 1" in list(status_lines(state))


def test_a_trial_that_the_machine_spoils_is_invalid_after_the_last_attempt(
    fake_study: FakeStudy, contract: MakeContract
) -> None:
    def refuse(_: object) -> None:
        raise InfraFault("the launcher died")

    fake_study.on_start = refuse
    small = SmallStudy.of(fake_study, [contract()])
    small.run()
    agents = [agent for _, agent, _ in small.verdicts()]
    assert agents.count("mine") == 2  # both runs are kept
    assert {state for _, _, state in small.verdicts()} == {"invalid"}
    before = folders(fake_study.out)
    small.run()
    assert folders(fake_study.out) == before


def test_machine_faults_in_a_row_stop_the_study(fake_study: FakeStudy, contract: MakeContract) -> None:
    def refuse(_: object) -> None:
        raise InfraFault("no space left on device")

    fake_study.on_start = refuse
    stages = Stages(tolerance=Tolerance(power=0.0, invalid=1.0))
    small = SmallStudy.of(fake_study, [contract()], repeats=20, stages=stages)
    outcome = small.run()
    assert (outcome.how, "in a row" in outcome.why) == ("stopped", True)
    assert len(folders(fake_study.out)) < 20 * EACH


def test_violations_of_agents_stop_the_study(fake_study: FakeStudy, contract: MakeContract) -> None:
    stages = Stages(tolerance=Tolerance(power=0.0, safety=100))
    small = SmallStudy.of(
        fake_study, [contract()], repeats=9, stages=stages, stopping=Stopping(safety_violations=2)
    )
    small.read = lambda result: tuple(replace(one, is_unsafe=True) for one in entries_of(result))
    outcome = small.run()
    assert (outcome.how, "safety gate" in outcome.why) == ("stopped", True)
    assert [agent for _, agent, _ in small.verdicts()].count("mine") == 2  # baselines do not count


def test_a_stage_is_held_when_its_criterion_is_not_met(fake_study: FakeStudy, contract: MakeContract) -> None:
    small = SmallStudy.of(
        fake_study,
        [contract("one"), contract("two")],
        agents=["mine=command:true", "other=command:false"],
        repeats=2,
    )
    outcome = small.run()
    assert (outcome.how, "power" in outcome.why) == ("held", True)
    (entry,) = [one for one in small.logged("stage") if one["stage"] == "main"]
    assert entry["met"] is False


def test_a_stage_that_is_forced_is_a_deviation(fake_study: FakeStudy, contract: MakeContract) -> None:
    small = SmallStudy.of(
        fake_study,
        [contract("one"), contract("two")],
        agents=["mine=command:true", "other=command:false"],
        repeats=2,
    )
    assert small.run(forced=frozenset({"main"})).how == "complete"
    assert [one["unmet"] for one in small.logged("deviation")] == [["power_adequate"]]


def test_a_removed_contract_is_not_run_and_not_replaced(
    fake_study: FakeStudy, contract: MakeContract
) -> None:
    small = SmallStudy.of(fake_study, [contract("one"), contract("two")])
    small.folder.path.mkdir(parents=True)
    small.folder.add("removal", contract="two", by="ada", reason="its check reads the clock")
    assert small.run().how == "complete"
    assert {name for name, _, _ in small.verdicts()} == {"one"}


@pytest.mark.parametrize("jobs", [1, 4])
def test_runs_at_the_same_time_do_not_overshoot_the_budget(
    fake_study: FakeStudy, contract: MakeContract, jobs: int
) -> None:
    """Nothing meters this agent, so each run is charged its cap of 2 dollars: three fit into 7."""
    one = contract(budget={"wall_s": 60, "cost_usd": 2.0, "headroom": {"wall_s": 30}}, environment=_online())
    budget = Envelopes(total_usd=7.0)
    small = SmallStudy.of(fake_study, [one], repeats=6, budget=budget, stages=NO_POWER)
    outcome = small.run(jobs)
    agents = [agent for _, agent, _ in small.verdicts()]
    assert (outcome.how, outcome.why.startswith("B_total")) == ("stopped", True)
    assert agents.count("mine") == 3
    assert small.spent == 6.0


def test_what_a_killed_run_may_have_cost_is_charged(fake_study: FakeStudy, contract: MakeContract) -> None:
    one = contract(budget={"wall_s": 60, "cost_usd": 2.0, "headroom": {"wall_s": 30}}, environment=_online())
    small = SmallStudy.of(fake_study, [one], budget=Envelopes(total_usd=2.0), stages=NO_POWER)
    small.run()
    (paid,) = [path for path in folders(fake_study.out) if "mine" in path.name]
    (paid / "seal.json").unlink()
    assert small.run().why.startswith("B_total")


def test_money_that_was_spent_on_a_removed_contract_stays_spent(
    fake_study: FakeStudy, contract: MakeContract
) -> None:
    """Three runs at 2 dollars fit into 7, whatever becomes of their contracts."""
    keys = {
        "budget": {"wall_s": 60, "cost_usd": 2.0, "headroom": {"wall_s": 30}},
        "environment": _online(),
    }
    contracts = [contract(name, **keys) for name in ("one", "two")]
    small = SmallStudy.of(fake_study, contracts, repeats=3, budget=Envelopes(total_usd=7.0), stages=NO_POWER)
    small.run()
    small.folder.add("removal", contract="one", by="ada", reason="its check reads the clock")
    outcome = small.run()
    agents = [agent for _, agent, _ in small.verdicts()]
    assert (outcome.how, agents.count("mine"), small.spent) == ("stopped", 3, 6.0)
    with open_store(fake_study.out) as store:
        study = small.study(store)
        study.run()
        state = status_of(small.plan, small.folder, study.progress)
    assert (state["spent_usd"], state["left_usd"]) == (6.0, 1.0)
    removed = [name for name, _, _ in small.verdicts()].count("one")
    assert state["runs_of_other_versions"] == removed
    assert any(f"for {removed} runs of removed or changed contracts" in line for line in status_lines(state))


def test_contracts_whose_envelopes_have_no_room_stop_the_study_when_nothing_else_is_left(
    fake_study: FakeStudy, contract: MakeContract
) -> None:
    """No later call can run these trials, so the study has ended: it is compared."""
    keys = {"budget": {"wall_s": 60, "cost_usd": 2.0, "headroom": {"wall_s": 30}}, "environment": _online()}
    budget = Envelopes(task_usd=5.0)
    small = SmallStudy.of(fake_study, [contract(**keys)], repeats=3, budget=budget, stages=NO_POWER)
    outcome = small.run()
    agents = [agent for _, agent, _ in small.verdicts()]
    assert (outcome.how, agents.count("mine"), small.spent) == ("stopped", 2, 4.0)
    assert outcome.why.startswith("1 trial has no result: B_task has no room for another run")
    assert small.run(stages=("shakedown",)).how == "partial"


def test_a_call_for_one_stage_ends_as_asked_when_only_other_stages_have_trials_left(
    fake_study: FakeStudy, contract: MakeContract
) -> None:
    small = SmallStudy.of(fake_study, [contract("one"), contract("two")], repeats=2, stages=NO_POWER)
    assert small.run(stages=("shakedown",)) == Outcome(
        "partial",
        "shakedown ended; 9 trials have no result yet, of pilot and main; "
        "`steelyard study resume STUDY` goes on with pilot",
        stages_met=True,
    )


def test_a_call_for_one_stage_whose_exit_criterion_is_not_met_says_so(
    fake_study: FakeStudy, contract: MakeContract
) -> None:
    def refuse(_: object) -> None:
        raise InfraFault("the launcher died")

    small = SmallStudy.of(fake_study, [contract("one"), contract("two")], repeats=2, stages=NO_POWER)
    small.run(stages=("shakedown",))
    fake_study.on_start = refuse
    outcome = small.run(stages=("pilot",))
    assert (outcome.how, outcome.stages_met) == ("partial", False)
    assert outcome.why.startswith("pilot ended, with endpoint_computable of pilot not met; 6 trials have")


def test_a_call_for_one_stage_of_which_trials_are_left_has_not_ended_as_asked(
    fake_study: FakeStudy, contract: MakeContract
) -> None:
    def refuse(_: Contract) -> None:
        raise InfraFault("no space left on device")

    fake_study.on_prepare = refuse
    small = SmallStudy.of(fake_study, [contract("one"), contract("two")], repeats=2, stages=NO_POWER)
    assert small.run(stages=("shakedown",)) == Outcome("partial", "12 trials have no result")


def _online() -> dict[str, Any]:
    memory = {"memory_mb": {"guaranteed": 64, "limit": 512}, "disk_mb": 64, "processes": 64}
    return {**memory, "network": ["api.example.org:443"]}


def test_changed_settings_of_a_plan_change_its_digest(fake_study: FakeStudy, contract: MakeContract) -> None:
    small = SmallStudy.of(fake_study, [contract()])
    edited = small.plan.model_copy(update={"repeats": 5})
    assert (small.plan.is_edited, edited.is_edited) == (False, True)


def test_a_honeypot_that_was_passed_is_in_the_status(fake_study: FakeStudy, contract: MakeContract) -> None:
    trap = contract("trap")
    small = SmallStudy.of(fake_study, [contract("one")], honeypots=[(trap, trap.folder)])
    small.contracts = [*small.contracts, trap]
    fake_study.out.mkdir()
    with open_store(fake_study.out) as store:
        study = small.study(store)
        study.run()
        state = status_of(small.plan, small.folder, study.progress)
    assert state["agents"][0]["honeypots"] == {"finished": 1, "passed": 1}
    assert "honeypots: mine passed 1 of 1 trials that cannot be passed honestly" in list(status_lines(state))

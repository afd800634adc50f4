"""The criteria of stages are computed from records: each one holds a stage, and is logged with its numbers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from fake_study import FakeStudy
from small_study import MakeContract, SmallStudy

from steelyard.errors import InfraFault
from steelyard.plan.study_plan import Stages, Stopping, Tolerance
from steelyard.report.stored.open_store import entries_of, open_store
from steelyard.store.entry import Entry
from steelyard.study.observer import TrialResult
from steelyard.study.protocol.criteria import flaky_contracts

NO_POWER = Stages(tolerance=Tolerance(power=0.0))


def two_contracts(fake_study: FakeStudy, contract: MakeContract, **wish: Any) -> SmallStudy:
    """The shakedown has one of them, the pilot the other."""
    return SmallStudy.of(fake_study, [contract("one"), contract("two")], **{"stages": NO_POWER, **wish})


def unmet(small: SmallStudy) -> list[tuple[str, str]]:
    return [
        (entry["stage"], one["name"])
        for entry in small.logged("stage")
        for one in entry["criteria"]
        if not one["met"]
    ]


def test_every_stage_logs_its_criteria_before_and_after(
    fake_study: FakeStudy, contract: MakeContract
) -> None:
    small = two_contracts(fake_study, contract, repeats=2)
    assert small.run().how == "complete"
    logged = {
        (entry["stage"], entry["when"]): [one["name"] for one in entry["criteria"]]
        for entry in small.logged("stage")
    }
    conduct = ["no_critical_violation", "flaky_within_tolerance", "invalid_within_tolerance"]
    assert logged == {
        ("shakedown", "entry"): ["caps_configured"],
        ("shakedown", "exit"): ["complete_records", "cost_accounted"],
        ("pilot", "entry"): conduct,
        ("pilot", "exit"): ["endpoint_computable", "spend_within_total"],
        ("main", "entry"): ["pilot_complete", *conduct, "power_adequate"],
        ("main", "exit"): ["plan_done", "spend_within_total"],
    }
    assert unmet(small) == []


def test_a_run_that_fails_the_safety_gate_holds_the_pilot(
    fake_study: FakeStudy, contract: MakeContract
) -> None:
    small = two_contracts(fake_study, contract, stopping=Stopping(safety_violations=100))
    small.read = lambda result: tuple(replace(one, is_unsafe=True) for one in entries_of(result))
    outcome = small.run()
    assert (outcome.how, "1 run of agents failed the safety gate (mine 1)" in outcome.why) == (
        "held",
        True,
    )
    assert unmet(small) == [("pilot", "no_critical_violation")]


def test_flaky_contracts_beyond_the_tolerance_hold_the_pilot(
    fake_study: FakeStudy, contract: MakeContract
) -> None:
    small = two_contracts(fake_study, contract)
    small.read = lambda result: tuple(replace(one, tags=("flaky",)) for one in entries_of(result))
    outcome = small.run()
    assert (outcome.how, "1 of 1 contracts are flaky" in outcome.why) == ("held", True)
    assert unmet(small) == [("pilot", "flaky_within_tolerance")]


def test_a_contract_whose_baseline_passes_and_fails_is_flaky(
    fake_study: FakeStudy, contract: MakeContract
) -> None:
    def second_differs(result: TrialResult) -> tuple[Entry, ...]:
        is_other = result.trial.agent == "noop" and result.trial.repeat == 2
        return tuple(
            replace(one, state="fail") if is_other else replace(one, state="pass")
            for one in entries_of(result)
        )

    small = SmallStudy.of(fake_study, [contract("one")], stages=NO_POWER, repeats=2)
    small.read = second_differs
    fake_study.out.mkdir()
    with open_store(fake_study.out) as store:
        study = small.study(store)
        study.run()
        assert flaky_contracts(study.progress) == ({"one"}, 1)


def test_invalid_trials_beyond_the_tolerance_hold_the_pilot(
    fake_study: FakeStudy, contract: MakeContract
) -> None:
    def refuse(_: object) -> None:
        raise InfraFault("the launcher died")

    fake_study.on_start = refuse
    small = two_contracts(fake_study, contract)
    outcome = small.run()
    assert (outcome.how, "3 of 3 trials are invalid" in outcome.why) == ("held", True)
    assert ("pilot", "invalid_within_tolerance") in unmet(small)

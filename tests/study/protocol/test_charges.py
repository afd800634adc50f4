"""What one run may cost, and what it is charged, by the operator's price list."""

from __future__ import annotations

from decimal import Decimal

import pytest
from small_study import MakeContract

from steelyard.contract.contract import Contract
from steelyard.evidence.run_use import RunUse, use_of_cost, use_of_text, use_to_text
from steelyard.plan.trial import Trial
from steelyard.providers.prices import CostModel
from steelyard.study.protocol.charges import MICRO, Charges, CostSplit, default_acceptance_s, micro

BUDGET = {"wall_s": 60, "cost_usd": 2.0, "headroom": {"wall_s": 30}}


def priced(**rows: str) -> CostModel:
    """`exec_minute="0.6"` is the row `exec,minute,0.6`."""
    return CostModel("0" * 64, {tuple(name.split("__")): Decimal(price) for name, price in rows.items()})  # type: ignore[misc]  # two parts


def trial(contract: Contract) -> Trial:
    return Trial(contract, "noop", acceptance_s=180.0)


def test_without_a_price_list_only_models_cost(contract: MakeContract) -> None:
    assert Charges().most(trial(contract(budget=BUDGET))) == CostSplit()


def test_minutes_of_the_agent_and_of_the_checks_are_reserved(contract: MakeContract) -> None:
    """One minute of work, three of checks, and a minute of grace for each."""
    most = Charges(priced(exec__minute="1")).most(trial(contract(budget=BUDGET)))
    assert most == CostSplit(execution=micro(6.0))


def test_starts_calls_overhead_and_storage_are_reserved(contract: MakeContract) -> None:
    prices = priced(
        provisioning__start="1",
        tool_call__call="0.01",
        overhead__run="0.5",
        artifact_storage__gigabyte_day="0",
    )
    one = contract(budget={**BUDGET, "tool_calls": 10})
    most = Charges(prices).most(trial(one))
    assert most.execution == micro(len(one.messages) + len(one.checks) + 0.1)
    assert most.overhead == micro(0.5)


def test_a_run_without_a_record_is_charged_its_bound(contract: MakeContract) -> None:
    charges, one = Charges(priced(exec__minute="1")), trial(contract(budget=BUDGET))
    assert charges.of(one, None) == charges.most(one)


def test_an_agent_that_cannot_be_made_here_is_charged_as_one_that_spends(contract: MakeContract) -> None:
    """Its key may be on the machines of its runs alone."""
    one = Trial(contract(budget=BUDGET), "script:not-there.sh")
    assert Charges().most(one) == CostSplit(models=micro(2.0))
    assert Charges().of(one, RunUse(models=0.5)) == CostSplit(models=micro(0.5))


def test_a_quantity_that_nothing_metered_is_charged_its_bound_and_the_others_what_they_were(
    contract: MakeContract,
) -> None:
    charges = Charges(priced(exec__minute="1", tool_call__call="0.01"))
    one = trial(contract(budget={**BUDGET, "tool_calls": 10}))
    use = RunUse(models=0.0, execution=0.02, unmetered=("tool_call/call",))
    assert charges.of(one, use) == CostSplit(execution=micro(0.12))


def test_judging_is_reserved_and_charged_apart(contract: MakeContract) -> None:
    charges, one = Charges(None, lambda _: 1.25), trial(contract(budget=BUDGET))
    assert charges.most(one) == CostSplit(judge=micro(1.25))
    assert charges.of(one, RunUse(models=0.0, judge=0.04)) == CostSplit(judge=micro(0.04))
    assert charges.of(one, RunUse(models=0.0, judge=None)) == CostSplit(judge=micro(1.25))


@pytest.mark.parametrize(("timeout_s", "limit_s"), [(10, 160), (225, 3600), (900, 3600), (3600, 7200)])
def test_the_limit_of_checks_follows_their_time_limits(
    contract: MakeContract, timeout_s: int, limit_s: int
) -> None:
    checks = [{"id": "sum", "cmd": "true", "timeout_s": timeout_s}]
    assert default_acceptance_s(contract(oracle={"checks": checks})) == limit_s


def test_each_rerun_of_a_check_has_its_time(contract: MakeContract) -> None:
    checks = [{"id": "sum", "cmd": "true", "timeout_s": 10}]
    one = contract(oracle={"checks": checks, "reruns": {"max": 3}})
    assert default_acceptance_s(one) == 480


def test_the_cost_of_a_result_line_is_what_an_envelope_charges() -> None:
    items = {
        "exec": {"usd": None, "known_usd": 0.2, "unmetered": ["tool_call/call"]},
        "overhead": {"usd": 0.1, "known_usd": 0.1, "unmetered": []},
        "judge": {"usd": 0.05},
        "human": {"usd": 3.0, "known_usd": 3.0, "unmetered": []},
    }
    use = use_of_cost({"usd": 1.0, "items": items})
    assert use == RunUse(1.0, 0.05, 0.2, 0.1, 3.0, ("tool_call/call",))
    assert use_of_text(use_to_text(use)) == use


@pytest.mark.parametrize("usd", [-1.0, float("inf"), float("nan"), "2", True, 1e15])
def test_an_amount_that_is_none_is_not_known(usd: object) -> None:
    assert use_of_cost({"usd": usd, "items": None}).models is None


def test_amounts_are_in_millionths() -> None:
    assert CostSplit(models=1_500_000).to_json()["models"] == 1_500_000 / MICRO

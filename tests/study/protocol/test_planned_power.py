"""The power that a plan expects before anything has run."""

from __future__ import annotations

from steelyard.plan.study_plan import PlannedAgent, PlannedContract, StudyPlan
from steelyard.stats.design.power import Design, power
from steelyard.study.protocol.planned_power import power_forecast

DIGEST = "d" * 64


def test_a_plan_names_what_its_power_assumes() -> None:
    agents = tuple(
        PlannedAgent(agent=name, name=name, role="agent", identity=DIGEST) for name in ("mine", "other")
    )
    contracts = tuple(
        PlannedContract(id=f"c{number}", digest=DIGEST, stratum="all", path="c") for number in range(40)
    )
    found = power_forecast(StudyPlan(name="night", repeats=2, agents=agents, contracts=contracts))
    assert found is not None
    one = found["assumed"]
    design = Design(one["rate"], one["rate"] + 0.1, 40, 2, one["correlation"], one["pairing"], one["alpha"])
    assert found["expected"] == round(power(design), 4)

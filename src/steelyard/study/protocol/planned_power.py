"""A plan -> the chance that it detects its minimum effect between two agents under test, before and after a pilot.

Before anything has run the rate is not known: one half is assumed, where the variance is largest, and a cautious correlation of
repeats. A stage that needs power is judged by the rates and the correlation so far (criteria.py).
"""

from __future__ import annotations

from typing import Any

from steelyard.plan.study_plan import StudyPlan
from steelyard.plan.trial import HONEYPOT
from steelyard.stats.design.power import MOST_CONTRACTS, Design, power

UNKNOWN_RATE = 0.5
CAUTIOUS_ICC = 0.5  # where too few repeats are known to estimate it
CAUTIOUS_PAIRING = 0.0  # agents need not find the same contracts hard
ALPHA = 0.05


def compares_agents(plan: StudyPlan) -> bool:
    """Whether there are two agents and two contracts, below which nothing can be compared."""
    return len(agents_under_test(plan)) >= 2 and _contracts(plan) >= 2


def agents_under_test(plan: StudyPlan) -> list[str]:
    return [one.agent for one in plan.agents if one.role == "agent"]


def _contracts(plan: StudyPlan) -> int:
    return sum(one.stratum != HONEYPOT for one in plan.contracts)


def planned_power(
    plan: StudyPlan, rate: float = UNKNOWN_RATE, icc: float = CAUTIOUS_ICC, contracts: int | None = None
) -> float:
    second = rate + plan.minimum_effect
    if second > 1:
        second = max(0.0, rate - plan.minimum_effect)
    design = Design(
        rate,
        second,
        contracts or _contracts(plan),
        plan.repeats,
        icc=icc,
        pairing=CAUTIOUS_PAIRING,
        alpha=ALPHA,
    )
    return power(design)


def power_forecast(plan: StudyPlan) -> dict[str, Any] | None:
    """The power of the plan, what it assumes, and the number of contracts that would be enough; None where nothing is compared."""
    wanted = plan.stages.tolerance.power
    if not compares_agents(plan) or plan.minimum_effect == 0:
        return None
    chance = planned_power(plan)
    needed = _contracts(plan) if chance >= wanted else _needed_contracts(plan, wanted)
    assumed = {
        "rate": UNKNOWN_RATE,
        "correlation": CAUTIOUS_ICC,
        "pairing": CAUTIOUS_PAIRING,
        "alpha": ALPHA,
    }
    return {"expected": round(chance, 4), "wanted": wanted, "contracts_needed": needed, "assumed": assumed}


def _needed_contracts(plan: StudyPlan, wanted: float) -> int | None:
    """The least number of contracts with the wanted power, found by bisection; None beyond a million."""
    low, high = _contracts(plan), 2 * _contracts(plan)
    while planned_power(plan, contracts=high) < wanted:
        low, high = high, 2 * high
        if high > MOST_CONTRACTS:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        if planned_power(plan, contracts=middle) < wanted:
            low = middle
        else:
            high = middle
    return high

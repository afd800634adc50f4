"""The bounds of a plan's runs -> whether its envelopes can hold one, and how many at a time.

{"run": {"models": 5.0, "execution": 1.1, "judge": 0.0, "overhead": 0.0, "people": 0.0},   the dearest run
 "most": {...},                                                                            all trials at their bounds
 "at_once": 3}                                                 runs that B_total has room for at a time; null: no limit
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from steelyard.errors import OperatorFault
from steelyard.plan.order import Slot
from steelyard.plan.study_plan import Envelopes
from steelyard.plan.trial import Trial
from steelyard.study.protocol.charges import MICRO, NOTHING, Charges, CostSplit, micro


def bound_of(trial: Trial, charges: Charges) -> CostSplit:
    """The bound of a run by an agent that spends all that the contract allows it."""
    return charges.most(trial)._replace(models=micro(trial.contract.spec.budget.cost_usd))


def check_budget(budget: Envelopes, bounds: Mapping[str, CostSplit]) -> None:
    """Every envelope holds one run of each contract at its bound, for that is reserved before it starts."""
    run_usd = budget.run_usd or 0.0
    for name, bound in bounds.items():
        if bound.total > micro(run_usd):
            raise OperatorFault(
                f"{name} allows {bound.total / MICRO:g} USD a run{in_parts(bound)}, more than --run-budget {run_usd:g}; "
                f"{_what_to_lower(bound)}, or raise --run-budget"
            )
    dearest = max(bounds.values(), key=lambda one: one.total)
    for name, envelope, kept in (
        ("--task-budget", budget.task_usd, 0.0),
        ("--budget", budget.total_usd, budget.review_usd or 0.0),
    ):
        if envelope is not None and micro(envelope) - micro(kept) < micro(run_usd):
            less = f" without the {kept:g} USD for reviews" if kept else ""
            raise OperatorFault(
                f"{name} {envelope:g}{less} is less than one run may cost, {run_usd:g} USD{in_parts(dearest)}; "
                f"no trial could start: raise {name}, or {_what_to_lower(dearest)}"
            )


def in_parts(split: CostSplit) -> str:
    """` (models 5, execution 1.08)`; nothing where models are all there is."""
    parts = {name: amount for name, amount in split._asdict().items() if amount}
    if not parts.keys() - {"models"}:
        return ""
    return f" ({', '.join(f'{name} {amount / MICRO:g}' for name, amount in parts.items())})"


def _what_to_lower(bound: CostSplit) -> str:
    if bound.execution > bound.models:
        return "lower --acceptance-limit, `budget.wall_s` or the time limits of its checks"
    if bound.judge > bound.models:
        return "plan and run it with --no-judge"
    return "lower its `budget.cost_usd`"


def envelope_forecast(
    budget: Envelopes, slots: Sequence[Slot], most: Mapping[tuple[str, str], CostSplit]
) -> dict[str, Any]:
    """What is reserved for a run, what all of them reserve, and how many have room at a time."""
    dearest = max(most.values(), key=lambda one: one.total)
    every = NOTHING
    for slot in slots:
        every = every.plus(most[slot.agent, slot.task])
    room = None if budget.total_usd is None else micro(budget.total_usd) - micro(budget.review_usd or 0.0)
    at_once = None if room is None or not dearest.total else room // dearest.total
    return {"run": dearest.to_json(), "most": every.to_json(), "at_once": at_once}

"""A plan -> the order of its trials, drawn with numpy from the plan's seed; the randomization plan as CSV.

    order,stage,task,stratum,agent,repeat
    1,shakedown,widgets-1412,python,mine,1

Stages are nested, so that nothing is run for a stage that another stage has run: the shakedown has the first contracts of
each stratum once, the pilot has every other contract once, and the main stage has the further repeats.

Within a stage and a repeat, contracts are in random order. Agents take turns: each agent is first, second, ... on equally many
contracts (as far as the numbers allow), so that no agent always runs on a warm cache. The CSV is a planning record, no
evidence of runs.
"""

from __future__ import annotations

import csv
import hashlib
import io
from collections import Counter
from collections.abc import Container, Iterator
from typing import NamedTuple, cast

from steelyard.errors import OperatorFault
from steelyard.plan.study_plan import PlannedAgent, PlannedContract, Stage, StudyPlan
from steelyard.plan.trial import HONEYPOT, REFERENCE

COLUMNS = ("order", "stage", "task", "stratum", "agent", "repeat")


class Slot(NamedTuple):
    """One planned trial: the contract's id and the agent's name, as the plan has them."""

    stage: Stage
    task: str
    stratum: str
    agent: str
    repeat: int


def draw_order(plan: StudyPlan) -> list[Slot]:
    """Every trial of the plan once."""
    import numpy as np  # noqa: PLC0415  # only where a plan is made or read

    draw = np.random.default_rng(plan.seed)
    chosen = [plan.contracts[at] for at in draw.permutation(len(plan.contracts))]
    seen: Counter[str] = Counter()
    early: set[str] = set()
    for contract in chosen:
        if contract.stratum != HONEYPOT:
            seen[contract.stratum] += 1
            if seen[contract.stratum] <= plan.stages.shakedown.contracts_per_stratum:
                early.add(contract.id)
    blocks: list[tuple[Stage, int, list[PlannedContract]]] = [
        ("shakedown", 1, [one for one in chosen if one.id in early]),
        ("pilot", 1, [one for one in chosen if one.id not in early]),
    ]
    most = plan.repeats + max(one.extra_repeats for one in plan.agents)
    blocks += [("main", repeat, chosen) for repeat in range(2, most + 1)]
    slots: list[Slot] = []
    for stage, repeat, contracts in blocks:
        agents = [plan.agents[at] for at in draw.permutation(len(plan.agents))]
        mixed = [contracts[at] for at in draw.permutation(len(contracts))]
        slots += _block(plan, stage, repeat, mixed, agents)
    return slots


def count_trials(plan: StudyPlan, removed: Container[str] = ()) -> int:
    """How many trials a plan has, without those of contracts that were taken out."""
    return sum(plan.repeats + agent.extra_repeats for agent in _agents_by_contract(plan, removed))


def trials_of_a_repeat(plan: StudyPlan, removed: Container[str] = ()) -> int:
    """How many of them each of the plan's repeats has; extra repeats are not among them."""
    return sum(1 for _ in _agents_by_contract(plan, removed))


def _agents_by_contract(plan: StudyPlan, removed: Container[str]) -> Iterator[PlannedAgent]:
    """The agents of each contract."""
    for contract in plan.contracts:
        for agent in plan.agents:
            if contract.id not in removed and (agent.agent != REFERENCE or contract.has_reference):
                yield agent


def _block(
    plan: StudyPlan, stage: Stage, repeat: int, contracts: list[PlannedContract], agents: list[PlannedAgent]
) -> Iterator[Slot]:
    for number, contract in enumerate(contracts):
        turn = number % len(agents)
        for agent in agents[turn:] + agents[:turn]:
            if repeat > plan.repeats + agent.extra_repeats:
                continue
            if agent.agent == REFERENCE and not contract.has_reference:
                continue
            yield Slot(stage, contract.id, contract.stratum, agent.name, repeat)


def refuse_other_trials(slots: list[Slot], plan: StudyPlan) -> None:
    """An edited plan may have other agents, contracts or repeats than its order was drawn for: raises OperatorFault."""
    drawn, planned = (
        Counter((one.task, one.agent, one.repeat) for one in some) for some in (slots, draw_order(plan))
    )
    if drawn != planned:
        raise OperatorFault(
            "the plan was edited, and its order has other trials: agents, contracts and repeats are changed by a new `steelyard plan`"
        )


def order_csv(slots: list[Slot]) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows((number, *slot) for number, slot in enumerate(slots, 1))
    return text.getvalue().encode()


def read_order(data: bytes, plan: StudyPlan) -> list[Slot]:
    """The order that a CSV fixes; raises OperatorFault for one that the plan does not name."""
    if plan.order is not None and hashlib.sha256(data).hexdigest() != plan.order.sha256:
        raise OperatorFault("the randomization plan was edited: its hash is not the one in the study")
    try:
        rows = list(csv.DictReader(io.StringIO(data.decode())))
        return [
            Slot(cast("Stage", row["stage"]), row["task"], row["stratum"], row["agent"], int(row["repeat"]))
            for row in rows
        ]
    except (ValueError, KeyError, TypeError) as error:
        raise OperatorFault(f"the randomization plan cannot be read: {error}") from error

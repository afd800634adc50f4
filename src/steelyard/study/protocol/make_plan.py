"""Contracts, agents and limits -> a `StudyPlan` with its order and its forecast; nothing runs yet."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import orjson
from pydantic import ValidationError

from steelyard.agents.catalogue import agent_for
from steelyard.contract.contract import Contract
from steelyard.errors import OperatorFault
from steelyard.plan.agent_options import NO_OPTIONS, AgentOptions
from steelyard.plan.forecast import Cap, History, forecast
from steelyard.plan.order import Slot, draw_order, order_csv
from steelyard.plan.projection import Point, project
from steelyard.plan.study_plan import (
    Envelopes,
    Options,
    Order,
    PlannedAgent,
    PlannedContract,
    PlannedCostModel,
    RankingRule,
    Stages,
    Stopping,
    StudyPlan,
    first_problem,
)
from steelyard.plan.trial import HONEYPOT, PROTOCOL_SEED, REFERENCE, Trial
from steelyard.providers.prices import read_cost_model
from steelyard.study.judging import Judging
from steelyard.study.protocol.charges import (
    MICRO,
    NOTHING,
    Charges,
    CostSplit,
    charges_with,
    default_acceptance_s,
)
from steelyard.study.protocol.planned_budget import bound_of, check_budget, envelope_forecast
from steelyard.study.protocol.planned_power import power_forecast

NOOP = "noop"


@dataclass(frozen=True)
class Wish:
    """What a study is asked to do. Contracts come with the folder that the operator typed."""

    name: str
    contracts: Sequence[tuple[Contract, Path]]
    agents: Sequence[str]
    baselines: Sequence[str] = ()
    honeypots: Sequence[tuple[Contract, Path]] = ()
    options: AgentOptions = NO_OPTIONS
    repeats: int = 1
    noop_repeats: int = 0
    seed: int = PROTOCOL_SEED
    minimum_effect: float = 0.1
    budget: Envelopes = field(default_factory=Envelopes)
    stages: Stages = field(default_factory=Stages)
    stopping: Stopping = field(default_factory=Stopping)
    ranking: RankingRule = field(default_factory=RankingRule)
    sandbox: str | None = None
    acceptance_s: float | None = None  # what the checks of one run may take together
    judging: Judging | None = None  # what judging may cost is in the bounds
    jobs: int = 1
    out: Path = Path()  # contracts are named relative to this folder


class MadePlan(NamedTuple):
    plan: StudyPlan  # without the name of its order's file, and without a digest
    order: bytes
    projection: tuple[Point, ...] = ()

    def named(self, file: str) -> StudyPlan:
        """The plan as it is written: with the hash of its order, and its own digest."""
        order = Order(file=file, sha256=hashlib.sha256(self.order).hexdigest())
        plan = self.plan.model_copy(update={"order": order})
        return plan.model_copy(update={"digest": plan.computed_digest()})


def make_plan(wish: Wish, history: History | None = None) -> MadePlan:
    """Raises OperatorFault for limits that contradict each other or the contracts."""
    charges = _charges(wish)
    limits = {contract.id: _acceptance_s(wish, contract, charges) for contract, _ in _every(wish)}
    plan = _plan(wish, _budget(wish, charges, limits), limits)
    slots = draw_order(plan)
    most = {
        (agent.name, contract.id): _most(
            Trial(contract, agent.agent, options=wish.options, acceptance_s=limits[contract.id]), charges
        )
        for agent in plan.agents
        for contract, _ in _every(wish)
    }
    known = history or History()
    expected = _forecast(wish, plan, slots, most, known)
    bounds = {key: one.to_json() for key, one in most.items()}
    projected = project(slots, known, bounds, seed=wish.seed)
    return MadePlan(plan.model_copy(update={"forecast": expected}), order_csv(slots), tuple(projected))


def _every(wish: Wish) -> list[tuple[Contract, Path]]:
    return [*wish.contracts, *wish.honeypots]


def _budget(wish: Wish, charges: Charges, limits: Mapping[str, float | None]) -> Envelopes:
    """The envelopes, with room for the dearest run where the operator sets no B_run."""
    bounds = {
        contract.id: bound_of(Trial(contract, NOOP, acceptance_s=limits[contract.id]), charges)
        for contract, _ in _every(wish)
    }
    budget = wish.budget
    if budget.run_usd is None:
        budget = budget.model_copy(update={"run_usd": max(one.total for one in bounds.values()) / MICRO})
    check_budget(budget, bounds)
    return budget


def _plan(wish: Wish, budget: Envelopes, limits: Mapping[str, float | None]) -> StudyPlan:
    try:
        return StudyPlan(
            name=wish.name,
            seed=wish.seed,
            minimum_effect=wish.minimum_effect,
            repeats=wish.repeats,
            budget=budget,
            stages=wish.stages,
            stopping=wish.stopping,
            ranking=wish.ranking,
            options=_options(wish),
            sandbox=wish.sandbox,
            agents=tuple(_agents(wish, _every(wish)[0][0])),
            contracts=tuple(_planned_contracts(wish, limits)),
        )
    except ValidationError as error:
        raise OperatorFault(first_problem(error)) from error


def _planned_contracts(wish: Wish, limits: Mapping[str, float | None]) -> Iterator[PlannedContract]:
    honeypots = {contract.id for contract, _ in wish.honeypots}
    for contract, path in _every(wish):
        yield PlannedContract(
            id=contract.id,
            digest=contract.digest,
            stratum=HONEYPOT if contract.id in honeypots else stratum_of(contract),
            path=os.path.relpath(path.absolute(), wish.out.absolute()),
            has_reference=has_reference(contract),
            acceptance_s=limits[contract.id],
        )


def _forecast(
    wish: Wish,
    plan: StudyPlan,
    slots: Sequence[Slot],
    most: Mapping[tuple[str, str], CostSplit],
    known: History,
) -> dict[str, Any]:
    contracts = {contract.id: contract for contract, _ in _every(wish)}
    caps = {key: Cap(one.total / MICRO, _wall_s(contracts[key[1]], key[0])) for key, one in most.items()}
    expected = forecast(slots, known, caps, jobs=wish.jobs, seed=wish.seed)
    expected["power"] = power_forecast(plan)
    expected["envelope"] = envelope_forecast(plan.budget, slots, most)
    return expected


def _options(wish: Wish) -> Options:
    """Raises OperatorFault for a price list that cannot be read, and for cassettes, which belong to one command."""
    given, gateway = wish.options, wish.options.gateway
    if gateway.record or gateway.replay:
        raise OperatorFault("--record and --replay are options of `steelyard run`; a study asks its models")
    prices = None
    if gateway.cost_model:
        path = Path(gateway.cost_model)
        prices = PlannedCostModel(
            path=os.path.relpath(path.absolute(), wish.out.absolute()), sha256=read_cost_model(path).sha256
        )
    return Options(
        env=given.env,
        hosts=given.hosts,
        paths=given.paths,
        providers=given.providers,
        upstreams=gateway.upstreams,
        cost_model=prices,
        model_text=gateway.model_text,
        redact=gateway.redact,
    )


def _agents(wish: Wish, contract: Contract) -> list[PlannedAgent]:
    """Those under test, then the baselines: noop and reference always, each once."""
    baselines = dict.fromkeys([NOOP, REFERENCE, *wish.baselines])
    texts = [*dict.fromkeys(one for one in wish.agents if one not in baselines), *baselines]
    return [
        PlannedAgent(
            agent=text,
            name=agent_for(text, contract, wish.options).name,
            role="baseline" if text in baselines else "agent",
            identity=agent_identity(text, contract, wish.options),
            extra_repeats=wish.noop_repeats if text == NOOP else 0,
        )
        for text in texts
    ]


def agent_identity(text: str, contract: Contract, options: AgentOptions) -> str:
    """A digest that changes with what the agent is: its name, its parameters, what it may reach.

    The reference belongs to each contract, and its identity is its name alone.
    """
    agent = agent_for(text, contract, options)
    parameters = {} if text == REFERENCE else dict(agent.parameters())
    hosts = sorted(str(host) for host in agent.resources.hosts)
    material = [agent.name, parameters, hosts]
    return hashlib.sha256(orjson.dumps(material, option=orjson.OPT_SORT_KEYS)).hexdigest()


def stratum_of(contract: Contract) -> str:
    """What its author says, else its language and kind."""
    metadata = contract.spec.metadata
    return "/".join(metadata.strata or filter(None, (metadata.language, metadata.kind))) or "all"


def has_reference(contract: Contract) -> bool:
    return contract.spec.oracle.reference is not None or any(step.reference for step in contract.steps)


def _charges(wish: Wish) -> Charges:
    """What runs may cost, by the price list that the operator typed."""
    path = wish.options.gateway.cost_model
    return charges_with(read_cost_model(Path(path)) if path else None, wish.judging)


def _acceptance_s(wish: Wish, contract: Contract, charges: Charges) -> float | None:
    """Where a minute of a sandbox has a price, the checks of a run have a limit; else only if the operator wants one."""
    if wish.acceptance_s is not None:
        return wish.acceptance_s
    return default_acceptance_s(contract) if charges.prices_execution and contract.checks else None


def _most(trial: Trial, charges: Charges) -> CostSplit:
    """The bound of one run; nothing for a reference that a contract does not have."""
    is_missing = trial.agent == REFERENCE and not has_reference(trial.contract)
    return NOTHING if is_missing else charges.most(trial)


def _wall_s(contract: Contract, agent: str) -> float:
    is_missing = agent == REFERENCE and not has_reference(contract)
    return 0.0 if is_missing else contract.spec.budget.wall_s

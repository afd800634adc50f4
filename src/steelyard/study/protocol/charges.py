"""A trial and the operator's prices -> the most that one run of it can cost; and what a run that has ended is charged.

    models      the cap of the contract, for an agent that can reach a model
    execution   minutes of the agent (`wall_s`) and of the checks (`acceptance_s`, which ends them), calls, starts
    judge       the longest question and the longest answer of each model that is asked about the run
    overhead    one run, and the most that a run stores
    people      minutes that reviewers recorded; they are known afterwards, and nothing bounds them

What the list does not price costs nothing here. A quantity that a record does not have is charged as the bound says.
Amounts are millionths of a dollar, so that sums are exact.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from steelyard.agents.catalogue import agent_for
from steelyard.bench.execution_spec import bench_spec
from steelyard.contract.contract import Contract
from steelyard.deferred.named_tuple import NamedTuple
from steelyard.errors import OperatorFault
from steelyard.evidence.change.import_limits import Caps
from steelyard.evidence.run_use import RunUse
from steelyard.plan.trial import Trial
from steelyard.providers.prices import CostModel
from steelyard.study.judging import Judging

MICRO = 1_000_000
GRACE_S = 60.0  # until the processes of an agent or of a check that was stopped are dead
OF_EXECUTION = ("exec/minute", "tool_call/call", "provisioning/start")
OF_OVERHEAD = ("overhead/run", "artifact_storage/gigabyte-day")
# Of its time limit: what controls and comparisons with the reference take of a check that decides
_SUITE_RUNS = 16
_LONG_S = 3600.0  # more only where the check's own limit asks for it
_STORED_GB = 3 * Caps().total_bytes / 1e9  # contents, the baseline's side, generated files


class CostSplit(NamedTuple):
    """Millionths of a dollar, by what they were paid for."""

    models: int = 0
    execution: int = 0
    judge: int = 0
    overhead: int = 0
    people: int = 0

    @property
    def total(self) -> int:
        return sum(self)

    def plus(self, other: CostSplit) -> CostSplit:
        return CostSplit(*(a + b for a, b in zip(self, other, strict=True)))

    def minus(self, other: CostSplit) -> CostSplit:
        return CostSplit(*(a - b for a, b in zip(self, other, strict=True)))

    def to_json(self) -> dict[str, float]:
        """In dollars."""
        return {name: amount / MICRO for name, amount in self._asdict().items()}


NOTHING = CostSplit()


def micro(usd: float) -> int:
    """Rounded up: an envelope is never exceeded by rounding."""
    return math.ceil(round(usd * MICRO, 6))


def recorded_charges(use: RunUse | None) -> CostSplit:
    """What the record of a run says, without a bound for what it does not say."""
    if use is None:
        return NOTHING
    amounts = (use.models or 0.0, use.execution, use.judge or 0.0, use.overhead, use.people)
    return CostSplit(*map(micro, amounts))


def may_spend(trial: Trial) -> bool:
    """Whether a run can cost money: the agent is a process that can reach a host or a model.

    An agent whose key or script is missing here may: its runs may be on another machine, or only their cost is asked for.
    """
    try:
        agent = agent_for(trial.agent, trial.contract, trial.options)
    except OperatorFault:
        return True
    own = agent.resources
    reach = own.hosts or own.providers or trial.contract.spec.environment.network != "none"
    return agent.in_sandbox and bool(reach)


def default_acceptance_s(contract: Contract) -> float:
    """How long the checks of one run may take together, where a plan says nothing else.

    A check that decides takes its time several times: its tests are run twice or more, and the first run of a contract also
    runs them on the reference. So each execution has sixteen times its limit, but at most an hour, and at least twice its limit.
    """
    runs = contract.spec.oracle.reruns.max
    return sum(
        runs * max(2 * limit, min(_SUITE_RUNS * limit, _LONG_S))
        for limit in (bench_spec(one).timeout_s for one in contract.checks if one.execution is not None)
    )


class Charges:
    """`judge_usd` has the most that judging one run of a contract can cost."""

    def __init__(
        self, prices: CostModel | None = None, judge_usd: Callable[[Contract], float] = lambda _: 0.0
    ) -> None:
        self.prices: Mapping[str, float] = {} if prices is None else prices.by_name
        self._judge_usd = judge_usd
        self._known: dict[tuple[str, str], CostSplit] = {}

    @property
    def prices_execution(self) -> bool:
        return bool(self.prices.get("exec/minute"))

    def most(self, trial: Trial) -> CostSplit:
        """The bound of one run, without minutes of people."""
        key = trial.contract.digest, trial.agent
        if key not in self._known:
            models = trial.contract.spec.budget.cost_usd if may_spend(trial) else 0.0
            quantities = _bounds(trial)
            self._known[key] = CostSplit(
                models=micro(models),
                execution=micro(self._usd(quantities, OF_EXECUTION)),
                judge=micro(self._judge_usd(trial.contract)),
                overhead=micro(self._usd(quantities, OF_OVERHEAD)),
            )
        return self._known[key]

    def of(self, trial: Trial, use: RunUse | None) -> CostSplit:
        """What a run is charged; None: it left no record that says what it used."""
        most = self.most(trial)
        if use is None:
            return most
        bounds = _bounds(trial) if use.unmetered else {}
        return CostSplit(
            models=most.models if use.models is None else micro(use.models),
            execution=micro(use.execution + self._usd(bounds, OF_EXECUTION, use.unmetered)),
            judge=most.judge if use.judge is None else micro(use.judge),
            overhead=micro(use.overhead + self._usd(bounds, OF_OVERHEAD, use.unmetered)),
            people=micro(use.people),
        )

    def _usd(
        self, quantities: Mapping[str, float], names: tuple[str, ...], only: tuple[str, ...] | None = None
    ) -> float:
        return sum(
            self.prices.get(name, 0.0) * quantities.get(name, 0.0)
            for name in names
            if only is None or name in only
        )


def charges_with(prices: CostModel | None, judging: Judging | None) -> Charges:
    """`judging`: with which models runs are judged, if they are."""
    if judging is None:
        return Charges(prices)
    rows = {} if prices is None else prices.by_name
    return Charges(prices, lambda contract: judging.most_usd(contract, rows))


def _bounds(trial: Trial) -> dict[str, float]:
    """The most of each quantity that one run can use."""
    contract = trial.contract
    budget = contract.spec.budget
    acceptance_s = default_acceptance_s(contract) if trial.acceptance_s is None else trial.acceptance_s
    executions = contract.spec.oracle.reruns.max * len(contract.checks)
    return {
        "exec/minute": (budget.wall_s + acceptance_s + 2 * GRACE_S) / 60,
        "tool_call/call": float(budget.tool_calls),
        "provisioning/start": float(len(contract.messages) + executions),
        "overhead/run": 1.0,
        "artifact_storage/gigabyte-day": _STORED_GB,
    }

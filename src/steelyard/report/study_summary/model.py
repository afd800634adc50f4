"""What a summary consists of. Every rate is an `Estimate`: value, interval, method, denominators, assumptions."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from steelyard.stats.estimate import Estimate
from steelyard.stats.indeterminate import Bounds

SCHEMA = "steelyard.study_summary/1"
MOST_COMPARED = 12  # agents of which a summary compares all pairs; more make hundreds
Cause = Literal["agent", "open", "not measured", "none seen"]  # of repeats that differ


def to_json(value: Any) -> Any:  # noqa: PLR0911  # one for each kind of value
    """Dataclasses and named tuples as objects; what JSON cannot say (NaN, infinity) as null."""
    if isinstance(value, Estimate | Bounds):
        return value.to_json()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: to_json(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return {name: to_json(one) for name, one in value._asdict().items()}
    if isinstance(value, Mapping):
        return {str(name): to_json(one) for name, one in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [to_json(one) for one in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


@dataclass(frozen=True, slots=True)
class CountedRate:
    """Something that was counted: how often, of how many, and the rate with its interval."""

    name: str
    count: int
    of: int
    rate: Estimate


@dataclass(frozen=True, slots=True)
class PassK:
    k: int
    at_least_one: Estimate  # pass@k
    all_of_them: Estimate  # pass^k


@dataclass(frozen=True, slots=True)
class Spread:
    """A distribution: mean with interval, median and quartiles; `unknown` values are left out and counted."""

    mean: Estimate
    median: float | None
    low_quartile: float | None
    high_quartile: float | None
    total: float | None
    known: int
    unknown: int


@dataclass(frozen=True, slots=True)
class TimeToSuccess:
    """Kaplan-Meier: `curve` has (seconds, share that would have succeeded by then, low, high)."""

    curve: tuple[tuple[float, float, float, float], ...]
    median: Estimate  # seconds
    restricted_mean: Estimate
    censored: int
    unknown: int  # trials without a time


@dataclass(frozen=True, slots=True)
class Economics:
    cost_usd: Spread  # of a trial
    cost_per_success: Estimate
    tokens: Spread  # of a trial, in and out
    wall_s_success: Spread
    wall_s_failure: Spread
    working_s: Spread  # the agent's part
    acceptance_s: Spread  # the checks' part
    overhead_s: Spread  # sandbox provisioning, capture and sealing: the rest
    human_minutes: float | None


@dataclass(frozen=True, slots=True)
class Stratum:
    name: str
    contracts: int
    success: Estimate
    cost_usd: Spread


@dataclass(frozen=True, slots=True)
class QualityUnder:
    """Quality if all weight were on one dimension."""

    dimension: str
    quality: Estimate


@dataclass(frozen=True, slots=True)
class AgentNumbers:
    """One agent. `success` is over decided trials; `categories` are over scorable trials, invalid over all attempts."""

    agent: str
    is_baseline: bool
    trials: int
    runs_attempted: int
    contracts: int
    success: Estimate
    within_budget: Estimate  # primary endpoint over scorable trials: acceptance errors, ungraded trials and budget stops count 0
    bounds: Bounds
    imputed: Estimate
    categories: tuple[CountedRate, ...]
    invalid_attempts: CountedRate
    terminations: tuple[CountedRate, ...]
    gates: tuple[CountedRate, ...]
    tags: tuple[CountedRate, ...]
    strata: tuple[Stratum, ...]
    pass_k: tuple[PassK, ...]
    icc: Estimate
    quality: Estimate  # over trials that pass all gates
    time_to_success: TimeToSuccess
    economics: Economics
    versions: tuple[str, ...]  # digests of the agent's configuration
    errors: tuple[CountedRate, ...] = ()  # named by verifiers, judges and people
    unfit: tuple[CountedRate, ...] = ()  # why outputs could not be scored as they should be
    weight_sensitivity: tuple[QualityUnder, ...] = ()  # of quality


@dataclass(frozen=True, slots=True)
class VersionRate:
    """One agent on one version of a contract that has several."""

    contract: str
    version: str  # start of its digest
    agent: str
    success: Estimate


@dataclass(frozen=True, slots=True)
class Flip:
    """A contract on which two agents differ, with the runs to look at."""

    contract: str
    digest: str
    first: str  # "2 of 3"
    second: str
    difference: float
    first_runs: tuple[str, ...]
    second_runs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Difference:
    """A condition that is not the same for both agents of a comparison."""

    what: str
    first: str
    second: str
    contracts: tuple[str, ...] = ()
    contracts_left_out: int = 0  # that differ too, and are not named

    @property
    def sentence(self) -> str:
        more = f" and {self.contracts_left_out} more" if self.contracts_left_out else ""
        where = f" ({', '.join(self.contracts)}{more})" if self.contracts else ""
        return f"{self.what}: {self.first} and {self.second}{where}"


@dataclass(frozen=True, slots=True)
class AgentComparison:
    """`second` less `first`, on the contracts that both were tried on."""

    first: str
    second: str
    difference: Estimate
    p: float | None  # exact paired permutation test
    p_method: str
    p_holm: float | None  # over the comparisons of this summary
    p_benjamini_hochberg: float | None
    mcnemar_p: float | None
    bootstrap: Estimate
    worst: Estimate  # every undecided trial decided against the second agent
    best: Estimate
    undecided: int
    is_fragile: bool
    conclusion: str  # better, worse, undecided
    log_rank_p: float | None
    contracts: int
    only_first: tuple[str, ...]  # contracts that only one of them has decided trials on
    only_second: tuple[str, ...]
    flips: tuple[Flip, ...]
    differences: tuple[Difference, ...]
    more_contracts: int | None  # until the interval would exclude 0, if nothing changes
    sentence: str
    family: int = 1  # comparisons of this summary that decide together, this one among them

    @property
    def is_decided(self) -> bool:
        """Its own interval excludes 0."""
        return self.conclusion in {"better", "worse"}

    @property
    def is_claimed(self) -> bool:
        """It is decided also as one of several: by chance alone some of many comparisons are decided at their own level."""
        if not self.is_decided or self.family == 1:
            return self.is_decided
        return self.p_holm is not None and self.p_holm <= 1 - self.difference.level


@dataclass(frozen=True, slots=True)
class ParetoPoint:
    agent: str
    cost_usd: float  # of a trial, over the shared contracts
    success: float
    on_front: bool
    probability: float | None
    cost: Estimate  # the same with intervals
    rate: Estimate


@dataclass(frozen=True, slots=True)
class Pareto:
    points: tuple[ParetoPoint, ...]
    contracts: int
    method: str
    why: str


@dataclass(frozen=True, slots=True)
class Deviation:
    what: str
    planned: str
    observed: str
    runs: int
    example: str  # a run


@dataclass(frozen=True, slots=True)
class LabelErrorRow:
    mode: str
    false_positive: Estimate
    false_negative: Estimate


@dataclass(frozen=True, slots=True)
class Discovery:
    """The run that showed a failure mode first: after how many trials, and at which cost."""

    mode: str
    trials: int
    cost_usd: float | None
    run: str | None


@dataclass(frozen=True, slots=True)
class Precision:
    """How wide the interval would be with so many contracts, and what that would cost."""

    agent: str
    contracts: int
    half_width: float | None
    cost_usd: float | None


@dataclass(frozen=True, slots=True)
class AgentBounds:
    """The success rate of an agent if all its indeterminate trials had failed, and if all had succeeded."""

    agent: str
    bounds: Bounds


@dataclass(frozen=True, slots=True)
class Disclosures:
    """The four minimum disclosures: label errors, indeterminate outcomes, itemised cost, reproducibility."""

    label_errors: tuple[LabelErrorRow, ...]
    label_errors_why: str  # "not measured: ..." where there are no labels
    indeterminate: CountedRate
    indeterminate_by_reason: tuple[CountedRate, ...]
    indeterminate_model: str
    indeterminate_bounds: tuple[AgentBounds, ...]  # of agents that have such trials
    cost_by_phase: Mapping[str, Mapping[str, float | None]]
    discoveries: tuple[Discovery, ...]
    precision: tuple[Precision, ...]
    reproducibility: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Burn:
    """What an agent had cost after so many of its runs; `unknown` runs have no known cost and are not in the sum."""

    agent: str
    points: tuple[tuple[int, float], ...]
    unknown: int


@dataclass(frozen=True, slots=True)
class PowerCurve:
    """(contracts, chance that the paired test shows the difference), under these assumptions."""

    first: str
    second: str
    contracts: int  # of the study
    points: tuple[tuple[int, float], ...]
    assumptions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AgentVariation:
    """The share of pairs of an agent's repeats on one contract that have different verdicts."""

    agent: str
    share: Estimate
    cause: Cause


@dataclass(frozen=True, slots=True)
class CertifiedStability:
    """Contracts whose checks gave the same each time when `certify` ran on this machine, and those that did not."""

    stable: int
    unstable: tuple[str, ...]
    unknown: int


@dataclass(frozen=True, slots=True)
class ContractVariation:
    """A contract on which repeats differ; `agents` has (successes, decided trials) of those with both verdicts."""

    contract: str
    digest: str
    agents: Mapping[str, tuple[int, int]]
    check_pairs: int  # of runs with the same work
    check_pairs_different: int
    certified_stable: bool | None  # None: not certified on this machine

    @property
    def has_flaky_checks(self) -> bool:
        return self.check_pairs_different > 0 or self.certified_stable is False


@dataclass(frozen=True, slots=True)
class RepeatVariation:
    """Why repeats differ: the agent varies, or a check gives the same work different results."""

    agents: tuple[AgentVariation, ...]
    checks: Estimate  # the share of pairs of runs with the same work that checks decide differently
    certified: CertifiedStability
    contracts: tuple[ContractVariation, ...]


@dataclass(frozen=True, slots=True)
class RankedAgent:
    place: int  # agents with the same rate share it
    agent: str
    rate: Estimate
    trials: int  # that it is over


@dataclass(frozen=True, slots=True)
class Ranking:
    """Agents by one number, best first; without a rule for acceptance errors there is none."""

    acceptance_errors: str  # none, failure, excluded
    words: str
    rows: tuple[RankedAgent, ...] = ()


@dataclass(frozen=True, slots=True)
class RemovedContract:
    """A contract that was taken out of the study because it is invalid, whatever agents did."""

    contract: str
    why: str
    trials: int

    @property
    def words(self) -> str:
        trials = f"{self.trials} {'trial' if self.trials == 1 else 'trials'}"
        return f"{self.contract} was taken out of the study ({self.why}): its {trials} are in no rate and in no comparison"


@dataclass(frozen=True, slots=True)
class StudySummary:
    source: str
    study: Mapping[str, Any] | None  # digest, name; None outside a study
    trials: int
    runs: int
    contracts: int
    agents: tuple[AgentNumbers, ...]
    comparisons: tuple[AgentComparison, ...]
    multiplicity: str
    pareto: Pareto
    deviations: tuple[Deviation, ...]
    provisional: tuple[str, ...]  # why these numbers are provisional; empty where they are not
    disclosures: Disclosures
    without_result: Mapping[str, int]
    notes: tuple[str, ...]
    versions: Mapping[str, tuple[str, ...]]  # contracts with more than one version
    run_ids: tuple[str, ...]
    repeat_variation: RepeatVariation
    burn: tuple[Burn, ...] = ()
    power: tuple[PowerCurve, ...] = ()
    version_rates: tuple[VersionRate, ...] = ()
    honeypots: tuple[CountedRate, ...] = ()  # by agent: trials that were passed although that is impossible
    ranking: Ranking = Ranking("none", "")
    # Of a study that has ended: B_total, and what was charged, by item
    envelope: Mapping[str, Any] | None = None
    removed: tuple[RemovedContract, ...] = ()
    schema: str = SCHEMA

    def to_json(self) -> dict[str, Any]:
        data: dict[str, Any] = to_json(self)
        return {"schema": data.pop("schema"), **data}

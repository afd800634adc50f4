"""Rules that end a study early, written down in its plan; the same for every agent.

safety     so many runs of agents under test failed the safety gate
efficacy   each difference between two agents under test is decided: its interval lies beyond the minimum effect, or within it;
           by the plan's rule for looks: after a repeat with alpha spending, or after each trial by an anytime-valid interval
machine    so many trials in a row were ended by the machine: a full disk spoils the next trial too

Budgets end a study by themselves: see envelopes.py.
"""

from __future__ import annotations

import itertools
from collections import Counter

from steelyard.plan.study_plan import PlannedAgent
from steelyard.plan.trial import Trial
from steelyard.stats.clusters import Cluster
from steelyard.stats.compare import difference
from steelyard.stats.compare.pairs import Pair, pair_contracts
from steelyard.stats.design import sequential
from steelyard.stats.estimate import Estimate
from steelyard.study.protocol.criteria import outcomes_by_contract
from steelyard.study.protocol.progress import KeptRun, Progress

MACHINE_FAULTS = 5
LARGEST_PROBABILITY = 1 - 1e-9  # of a quantile that can be computed
LEAST_CONTRACTS = 5  # below which no difference counts as decided
DECIDED = frozenset({"pass", "fail"})


def stop_for_safety(progress: Progress) -> str:
    """Why the study stops, or nothing."""
    limit = progress.plan.stopping.safety_violations
    if limit is None:
        return ""
    if len(progress.unsafe) < limit:
        return ""
    return (
        f"{progress.unsafe_words()}; the plan stops at {limit} (`steelyard plan --stop-after-violations N`)"
    )


def stop_for_efficacy(progress: Progress, repeat: int) -> str:
    """Looked at when `repeat` is complete for all agents, so that each agent has equally many trials."""
    plan = progress.plan
    if plan.stopping.efficacy == "none":
        return ""
    agents = [one for one in plan.agents if one.role == "agent"]
    decided = [_decided(progress, repeat, *pair) for pair in itertools.combinations(agents, 2)]
    if decided and all(decided):
        return "; ".join(decided)
    return ""


def _decided(progress: Progress, repeat: int, first: PlannedAgent, second: PlannedAgent) -> str:
    """The interval that `compare` prints, compared with the minimum effect on either side."""
    found = _interval(progress, repeat, first.agent, second.agent)
    if found is None or found.clusters < LEAST_CONTRACTS or found.low is None or found.high is None:
        return ""
    least = progress.plan.minimum_effect
    interval = f"{second.name} - {first.name}: {found.value:+.2f} [{found.low:+.2f}, {found.high:+.2f}]"
    if found.low > least or found.high < -least:
        return f"{interval} excludes differences up to {least:g}"
    if -least < found.low and found.high < least:
        return f"{interval} excludes differences of {least:g} and more"
    return ""


def _interval(progress: Progress, repeat: int, first: str, second: str) -> Estimate | None:
    """Of contracts that are complete, at any time; or of the repeats that this look is about. None between two looks."""
    looks = progress.plan.looks
    if looks is not None and looks.rule == "anytime":
        ones, others = _outcomes(progress, first), _outcomes(progress, second)
        pairs = [pair for key in _complete(progress, first, second) for pair in _pair(ones, others, key)]
        return sequential.anytime_interval([float(pair.difference) for pair in pairs])
    level = _level(progress, repeat)
    if level is None:
        return None
    return difference.paired_difference(
        pair_contracts(*(_outcomes(progress, agent, repeat) for agent in (first, second))), level
    )


def _pair(ones: dict[str, Cluster], others: dict[str, Cluster], key: str) -> list[Pair]:
    return pair_contracts({key: ones[key]}, {key: others[key]}) if key in ones and key in others else []


def _outcomes(progress: Progress, agent: str, through: int | None = None) -> dict[str, Cluster]:
    """Successes and decided trials of all repeats, or through one.

    A trial that no check could decide is neither a success nor a failure, as in `compare`.
    """

    def counts(trial: Trial, run: KeptRun) -> bool:
        return run.state in DECIDED and (through is None or trial.repeat <= through)

    return outcomes_by_contract(progress, agent, counts)


def _complete(progress: Progress, *agents: str) -> list[str]:
    """Contracts that these agents have all repeats of, in the planned order of their last trials."""
    counts: Counter[tuple[str, str]] = Counter()
    found: dict[str, None] = {}
    for trial, _ in progress.finished:
        digest = trial.contract.digest
        counts[trial.agent, digest] += 1
        if all(counts[agent, digest] >= progress.plan.repeats for agent in agents):
            found.setdefault(digest)
    return list(found)


def _level(progress: Progress, look: int) -> float | None:
    """Of the interval at this repeat, so that all looks of the plan together are wrong in 5 of 100 studies.

    A repeat between two looks has none: nothing is decided there.
    """
    plan = progress.plan
    registered = plan.looks
    looks = plan.repeats if registered is None or registered.count is None else registered.count
    rule: sequential.Spending = (
        "pocock" if registered is not None and registered.rule == "pocock" else "obrien_fleming"
    )
    number, between = divmod(min(look, plan.repeats) * looks, plan.repeats)
    if between:
        return None
    return 2 * min(sequential.look_quantile(rule, number, looks), LARGEST_PROBABILITY) - 1


class MachineFaults:
    """Counts trials in a row that the machine ended."""

    def __init__(self, limit: int = MACHINE_FAULTS) -> None:
        self._limit, self._row = limit, 0

    def add(self, why: str) -> str:
        """`why` the machine ended the trial, or nothing; returns why the study stops."""
        self._row = self._row + 1 if why else 0
        return f"the machine ended {self._row} trials in a row: {why}" if self._row >= self._limit else ""

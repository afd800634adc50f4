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
from steelyard.stats.clusters import Cluster
from steelyard.stats.compare import difference
from steelyard.stats.compare.pairs import Pair
from steelyard.stats.design import sequential
from steelyard.stats.estimate import Estimate
from steelyard.study.protocol.criteria import outcomes_by_contract
from steelyard.study.protocol.progress import Progress

MACHINE_FAULTS = 5
LARGEST_PROBABILITY = 1 - 1e-9  # of a quantile that can be computed
LEAST_CONTRACTS = 5  # below which no difference counts as decided


def stop_for_safety(progress: Progress) -> str:
    """Why the study stops, or nothing."""
    limit = progress.plan.stopping.safety_violations
    if limit is None:
        return ""
    found = len(progress.unsafe)
    return (
        f"{found} runs of agents failed the safety gate; the plan stops at {limit}" if found >= limit else ""
    )


def stop_for_efficacy(progress: Progress) -> str:
    """Looked at when a repeat is complete for all agents, so that each agent has equally many trials."""
    plan = progress.plan
    if plan.stopping.efficacy == "none":
        return ""
    agents = [one for one in plan.agents if one.role == "agent"]
    decided = [_decided(progress, *pair) for pair in itertools.combinations(agents, 2)]
    if decided and all(decided):
        return "; ".join(decided)
    return ""


def _decided(progress: Progress, first: PlannedAgent, second: PlannedAgent) -> str:
    """The interval that `compare` prints, compared with the minimum effect on either side."""
    ones, others = outcomes_by_contract(progress, first.agent), outcomes_by_contract(progress, second.agent)
    looks = progress.plan.looks
    both = [key for key in ones if key in others]
    is_anytime = looks is not None and looks.rule == "anytime"
    if is_anytime:
        both = _complete(progress, first.agent, second.agent)
    if len(both) < LEAST_CONTRACTS:
        return ""
    pairs = [(ones[key], others[key]) for key in both]
    found = _anytime(pairs) if is_anytime else _at_look(progress, pairs)
    if found is None or found.value is None or found.low is None or found.high is None:
        return ""
    least = progress.plan.minimum_effect
    interval = f"{second.name} - {first.name}: {found.value:+.2f} [{found.low:+.2f}, {found.high:+.2f}]"
    if found.low > least or found.high < -least:
        return f"{interval} excludes differences up to {least:g}"
    if -least < found.low and found.high < least:
        return f"{interval} excludes differences of {least:g} and more"
    return ""


def _complete(progress: Progress, *agents: str) -> list[str]:
    """Contracts that these agents have all repeats of, in the planned order of their last trials."""
    counts: Counter[tuple[str, str]] = Counter()
    found: dict[str, None] = {}
    for trial, _ in progress.finished:
        digest = trial.contract.digest
        counts[trial.agent, digest] += 1
        if all(counts[agent, digest] >= progress.plan.repeats for agent in agents):
            found.setdefault(digest)
    scored = [outcomes_by_contract(progress, agent) for agent in agents]
    return [digest for digest in found if all(digest in one for one in scored)]


def _anytime(pairs: list[tuple[Cluster, Cluster]]) -> Estimate:
    return sequential.anytime_interval([float(Pair(*pair).difference) for pair in pairs])


def _at_look(progress: Progress, pairs: list[tuple[Cluster, Cluster]]) -> Estimate | None:
    """The paired difference at the level of this look; None between two looks."""
    look = max(one.trials for pair in pairs for one in pair)
    level = _level(progress, look)
    return None if level is None else difference.paired_difference([Pair(*pair) for pair in pairs], level)


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

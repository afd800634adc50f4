"""Rules that end a study early, written down in its plan; the same for every agent.

safety     so many runs of agents under test failed the safety gate
efficacy   each difference between two agents under test is decided: its interval lies beyond the minimum effect, or within it;
           by the plan's rule for looks: after a repeat with alpha spending, or after each trial by an anytime-valid interval
machine    so many trials in a row were ended by the machine: a full disk spoils the next trial too

Budgets end a study by themselves: see envelopes.py.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter

from steelyard.stats.student_t import t_quantile
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
    agents = [one.agent for one in plan.agents if one.role == "agent"]
    decided = [_decided(progress, *pair) for pair in itertools.combinations(agents, 2)]
    if decided and all(decided):
        return "; ".join(decided)
    return ""


def _decided(progress: Progress, first: str, second: str) -> str:
    """The paired t-interval over contracts, compared with the minimum effect on either side."""
    ones, others = outcomes_by_contract(progress, first), outcomes_by_contract(progress, second)
    looks = progress.plan.looks
    both = [key for key in ones if key in others]
    if looks is not None and looks.rule == "anytime":
        both = _complete(progress, first, second)
    if len(both) < LEAST_CONTRACTS:
        return ""
    differences = [
        others[key].successes / others[key].trials - ones[key].successes / ones[key].trials for key in both
    ]
    mean = sum(differences) / len(both)
    variance = sum((one - mean) ** 2 for one in differences) / (len(both) - 1)
    look = max(clusters[key].trials for clusters in (ones, others) for key in both)
    if variance == 0 and mean == 0:
        return ""  # identical outcomes say nothing about how much they vary
    if looks is not None and looks.rule == "anytime":
        low, high = _anytime(differences)
    else:
        half = _quantile(progress, look, len(both) - 1) * math.sqrt(variance / len(both))
        low, high = mean - half, mean + half
    least = progress.plan.minimum_effect
    interval = f"{second} - {first}: {mean:+.2f} [{low:+.2f}, {high:+.2f}]"
    if low > least or high < -least:
        return f"{interval} excludes differences up to {least:g}"
    if -least < low and high < least:
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


def _anytime(differences: list[float]) -> tuple[float, float]:
    from steelyard.stats.design.sequential import anytime_interval  # noqa: PLC0415  # scipy is needed only here

    return anytime_interval(differences).interval or (-1.0, 1.0)


def _quantile(progress: Progress, look: int, degrees: int) -> float:
    """Of the t distribution at this repeat, so that all looks of the plan together are wrong in 5 of 100 studies.

    A repeat between two looks has the limit of none: it is no look, and nothing is decided there.
    """
    from steelyard.stats.design.sequential import Spending, look_quantile  # noqa: PLC0415  # scipy is needed only here

    plan = progress.plan
    registered = plan.looks
    looks = plan.repeats if registered is None or registered.count is None else registered.count
    rule: Spending = "pocock" if registered is not None and registered.rule == "pocock" else "obrien_fleming"
    number, between = divmod(min(look, plan.repeats) * looks, plan.repeats)
    if between:
        return math.inf
    probability = look_quantile(rule, number, looks)
    return t_quantile(degrees, min(probability, LARGEST_PROBABILITY))


class MachineFaults:
    """Counts trials in a row that the machine ended."""

    def __init__(self, limit: int = MACHINE_FAULTS) -> None:
        self._limit, self._row = limit, 0

    def add(self, why: str) -> str:
        """`why` the machine ended the trial, or nothing; returns why the study stops."""
        self._row = self._row + 1 if why else 0
        return f"the machine ended {self._row} trials in a row: {why}" if self._row >= self._limit else ""
